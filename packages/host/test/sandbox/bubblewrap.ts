import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { sandboxReady } from '../../src/servers/sandbox/ready.ts'

const found = await sandboxReady()

/** Why tests with a sandbox are left out here, or undefined. */
export const withoutSandbox: string | undefined = found.ready
  ? undefined
  : `needs bubblewrap (bwrap): ${found.reason}`

/** The name of a group of tests that needs bubblewrap, with a note where it is missing. */
export function named(name: string): string {
  return withoutSandbox === undefined ? name : `${name} [left out: it ${withoutSandbox}]`
}

/**
 * An empty home folder, in a folder of its own outside of the system's temporary one, as is its data folder: a sandbox that
 * opens a folder around them mounts everything beside them one by one, and that of the tests can have too many entries.
 */
export function homeFolder(): string {
  const around = realpathSync(mkdtempSync('/var/tmp/jackfield-home-'))
  const made = join(around, 'person')
  mkdirSync(made)
  vi.stubEnv('HOME', made)
  vi.stubEnv('XDG_DATA_HOME', undefined)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(around, { recursive: true, force: true })
  })
  return made
}
