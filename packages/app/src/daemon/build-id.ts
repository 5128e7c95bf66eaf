import { statSync } from 'node:fs'
import { version } from '../cli/version.ts'

/** Distinguishes builds, so that a command never talks to a host of other code: the version and the time of the program file. */
export function buildId(): string {
  const [, program = ''] = process.argv
  const changed = statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return `${version}+${Math.round(changed)}`
}
