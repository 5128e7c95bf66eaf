import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../cli/version.ts'

const folder = dirname(fileURLToPath(import.meta.resolve('jackfield/package.json')))

/** The file that starts this program, whatever program uses it now. */
export const programFile: string = join(folder, 'bin', 'jackfield.js')

/** Distinguishes builds, so that a command never talks to a host of other code: the version and the time of the program file. */
export function buildId(): string {
  const built = statSync(join(folder, 'dist', 'main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return `${version}+${Math.round(built)}`
}
