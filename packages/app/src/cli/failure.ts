import { asStoreError, type Fix, ModelError } from '@jackfield/host'
import { McpError, RpcError } from '@jackfield/sdk'
import { storeFailure } from '../daemon/error-of-fault.ts'
import { fixesIn, withFixLines } from '../output/fixes.ts'
import { plain } from '../output/sanitize.ts'
import { CliError, ExitCode, inSeconds, isMissingKey } from './exit.ts'
import { writeErrorReason } from './file-errors.ts'

/** A failed command: exit code, a message safe to print, and the protocol error code, if any. */
export interface Failure {
  exitCode: ExitCode
  message: string
  code?: number | string
  data?: unknown
  /** What the user can do about it. */
  fixes?: readonly Fix[]
}

/**
 * Converts any error to a failure of the command. `interrupted`: the exit code if a signal ended it. `hasTimeout`: the command
 * has `--timeout`.
 */
export function failureOf(error: unknown, interrupted?: ExitCode, hasTimeout = false): Failure {
  const failure = failureWithoutFixes(error, interrupted, hasTimeout)
  const fixes = interrupted !== undefined ? [] : error instanceof ModelError ? error.fixes : fixesIn(error)
  return fixes.length === 0 ? failure : { ...failure, fixes }
}

/** A failure in words: its message, and a line for each fix. */
export function failureText({ message, fixes = [] }: Failure): string {
  return withFixLines(message, fixes)
}

function failureWithoutFixes(
  error: unknown,
  interrupted: ExitCode | undefined,
  hasTimeout: boolean,
): Failure {
  if (interrupted !== undefined) {
    const isExplained = error instanceof CliError && error.exitCode === ExitCode.interrupted
    return { exitCode: interrupted, message: isExplained ? plain(error.message) : 'Interrupted.' }
  }
  if (error instanceof CliError) {
    const { exitCode, code, data } = error
    return {
      exitCode,
      message: plain(error.message),
      ...(code !== undefined && { code }),
      ...(data !== undefined && { data }),
    }
  }
  if (error instanceof RpcError) {
    return {
      exitCode: ExitCode.protocol,
      message: `The server answered with error ${error.code}: ${plain(error.message)}`,
      code: error.code,
      ...(error.data !== undefined && { data: error.data }),
    }
  }
  if (error instanceof McpError && isMissingKey(error.details))
    return { exitCode: ExitCode.usage, message: plain(error.message), code: error.code }
  if (error instanceof McpError) {
    const text = inSeconds(plain(error.message))
    if (error.code === 'TIMEOUT') {
      const option =
        hasTimeout && typeof error.details['timeoutMs'] === 'number'
          ? '. --timeout <seconds> changes this limit'
          : ''
      return {
        exitCode: ExitCode.timedOut,
        message: `${text.replace(/\.$/, '')}${option}.`,
        code: error.code,
      }
    }
    const connecting =
      error.code === 'CONNECT_FAILED' || error.code === 'VERSION_MISMATCH' || error.code === 'UNAUTHORIZED'
    return {
      exitCode: connecting ? ExitCode.cannotConnect : ExitCode.protocol,
      message: text,
      code: error.code,
    }
  }
  const unusable = asStoreError(error)
  if (unusable !== undefined) {
    const message = storeFailure(unusable.message, unusable.fault === 'damaged')
    return { exitCode: ExitCode.usage, message: plain(message), code: 'STORE' }
  }
  if (error instanceof ModelError)
    return { exitCode: ExitCode.toolError, message: plain(error.message), code: error.kind }
  const unwritten = writeFailureMessage(error)
  if (unwritten !== undefined) return { exitCode: ExitCode.usage, message: plain(unwritten) }
  const message = error instanceof Error ? error.message : String(error)
  return { exitCode: ExitCode.toolError, message: plain(message) }
}

/** The message for a failed file write; undefined for every other error. */
function writeFailureMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('path' in error)) return undefined
  if (!['EROFS', 'ENOSPC', 'EDQUOT', 'EACCES'].includes(String(error.code))) return undefined
  return `Cannot write ${String(error.path)}: ${writeErrorReason(error)}. XDG_DATA_HOME names another data folder.`
}
