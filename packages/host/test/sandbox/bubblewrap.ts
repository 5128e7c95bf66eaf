import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { sandboxReady } from '../../src/sandbox/index.ts'

const found = await sandboxReady()

/** Why tests with a sandbox are left out here, or undefined. */
export const withoutSandbox: string | undefined = found.ready
  ? undefined
  : `needs bubblewrap (bwrap): ${found.reason}`

/** The name of a group of tests that needs bubblewrap, which says so where it is missing. */
export function named(name: string): string {
  return withoutSandbox === undefined ? name : `${name} [left out: it ${withoutSandbox}]`
}

/**
 * An empty home folder, in a folder of its own outside of the system's temporary one: a sandbox that opens a folder around it
 * mounts everything beside it one by one, and in that of the tests there can be more than it mounts.
 */
export function homeFolder(): string {
  const around = realpathSync(mkdtempSync('/var/tmp/jackfield-home-'))
  const made = join(around, 'person')
  mkdirSync(made)
  vi.stubEnv('HOME', made)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(around, { recursive: true, force: true })
  })
  return made
}
