import type { Fix } from '@jackfield/host'

/** Exit codes. */
export const ExitCode = {
  done: 0,
  /** The tool ran and failed, a question was refused, or a conversation reached a limit. */
  toolError: 1,
  /** The command line or a file named on it is invalid, or the store is unusable. */
  usage: 2,
  /** The server could not be reached or started. */
  cannotConnect: 3,
  /** The server returned a protocol error, or no response. */
  protocol: 4,
  /** A definition of the server has changed since it was accepted, and is disabled until the user accepts it. */
  outOfUse: 5,
  /** The server did not respond in time (the code of the program `timeout`). A failed connection is `cannotConnect`. */
  timedOut: 124,
  /** Ended by SIGHUP: the terminal was closed. Signal codes are 128 plus the signal number. */
  hungUp: 129,
  /** Ended by SIGINT: Ctrl+C. */
  interrupted: 130,
  /** Ended by SIGTERM. */
  terminated: 143,
} as const

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Whether a host rejected a request as invalid, rather than failed to carry it out. */
export function isRejection({ code }: { readonly code: string }): boolean {
  return ['INVALID', 'NOT_FOUND', 'CONFLICT', 'REFUSED'].includes(code)
}

/** Ends the command with a message and an exit code. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode
  /** The protocol or SDK error code, if any. */
  readonly code: number | string | undefined
  /** Data for `--json`. */
  readonly data: unknown
  /** What the user can do about it. */
  readonly fixes: readonly Fix[]

  constructor(
    exitCode: ExitCode,
    message: string,
    options: { cause?: unknown; code?: number | string; data?: unknown; fixes?: readonly Fix[] } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.exitCode = exitCode
    this.code = options.code
    this.data = options.data
    this.fixes = options.fixes ?? []
  }
}

/** The abort reason of `Io.signal` when a system signal ends the command. */
export class Interruption extends Error {
  override readonly name: string = 'Interruption'
  readonly exitCode: ExitCode

  constructor(signal: NodeJS.Signals) {
    super(`Ended by ${signal}`)
    this.exitCode =
      signal === 'SIGTERM'
        ? ExitCode.terminated
        : signal === 'SIGHUP'
          ? ExitCode.hungUp
          : ExitCode.interrupted
  }
}

/** The exit code of a command whose signal was aborted; undefined otherwise. */
export function interruptionCode({ aborted, reason }: AbortSignal): ExitCode | undefined {
  if (!aborted) return undefined
  return reason instanceof Interruption ? reason.exitCode : ExitCode.interrupted
}

/** The input is invalid; the message has the reason and what is expected. */
export function usageError(message: string, fixes: readonly Fix[] = []): CliError {
  return new CliError(ExitCode.usage, message, { fixes })
}

/** Whether, by the data of a failure, a secret could not be read because its key is missing. */
export function isMissingKey(facts: unknown): boolean {
  return typeof facts === 'object' && facts !== null && ('keychain' in facts || 'sealed' in facts)
}

/** Replaces milliseconds in a text by seconds from one second on, with at most one decimal. */
export function inSeconds(text: string): string {
  return text.replace(/\b(\d{4,}) ms\b/g, (_, ms: string) => `${Math.round(Number(ms) / 100) / 10} s`)
}
