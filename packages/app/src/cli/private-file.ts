import { closeSync, constants, fchmodSync, fstatSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { usageError } from './exit.ts'

/**
 * Writes a file that only its owner may read, whoever could read what was there before; devices and pipes are written to
 * as they are. Throws a CliError where that cannot be done.
 */
export function writePrivateFile(file: string, text: string): void {
  try {
    const opened = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600)
    try {
      if (fstatSync(opened).isFile()) {
        fchmodSync(opened, 0o600)
        ftruncateSync(opened)
      }
      writeFileSync(opened, text)
    } finally {
      closeSync(opened)
    }
  } catch (error) {
    throw usageError(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}
