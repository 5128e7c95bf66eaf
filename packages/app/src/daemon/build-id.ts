import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../cli/version.ts'

const folder = dirname(fileURLToPath(import.meta.resolve('jackfield/package.json')))

/** The entry file of this program. */
export const programFile: string = join(folder, 'bin', 'jackfield.js')

/**
 * Identifies a build by version and modification time of the program file, so that a command never talks to a host of another
 * build.
 */
export function buildId(): string {
  const built = statSync(join(folder, 'dist', 'main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return `${version}+${Math.round(built)}`
}
