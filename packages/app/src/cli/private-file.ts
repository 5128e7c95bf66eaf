import { closeSync, constants, fchmodSync, fstatSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { usageError } from './exit.ts'
import { writeErrorReason } from './file-errors.ts'

/**
 * Writes a file that only its owner may read, also when it replaces one that others could read; devices and pipes are written to
 * as they are. Throws a CliError on failure.
 */
export function writePrivateFile(file: string, text: string): void {
  try {
    const opened = openPrivateFile(file)
    try {
      writeFileSync(opened, text)
    } finally {
      closeSync(opened)
    }
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

/** Like `writePrivateFile`, for a stream of chunks. */
export async function writePrivateChunks(file: string, pieces: AsyncIterable<string>): Promise<void> {
  let opened: number | undefined
  try {
    for await (const piece of pieces) {
      opened ??= openPrivateFile(file)
      writeFileSync(opened, piece)
    }
    opened ??= openPrivateFile(file)
  } catch (error) {
    throw opened === undefined && !isSystemError(error) ? error : cannotWrite(file, error)
  } finally {
    if (opened !== undefined) closeSync(opened)
  }
}

function openPrivateFile(file: string): number {
  const opened = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600)
  if (fstatSync(opened).isFile()) {
    fchmodSync(opened, 0o600)
    ftruncateSync(opened)
  }
  return opened
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}

function cannotWrite(file: string, error: unknown): Error {
  return usageError(`${file} cannot be written: ${writeErrorReason(error)}`)
}
