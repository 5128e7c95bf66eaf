import type { Fix } from '@jackfield/host'

/** What the process's exit code says. */
export const ExitCode = {
  done: 0,
  /** The tool ran and said that it failed, a question was refused, or a conversation was cut short at a limit. */
  toolError: 1,
  /** The command line or a file named on it is wrong, or the store cannot be used. */
  usage: 2,
  /** The server could not be reached or started. */
  cannotConnect: 3,
  /** The server answered with a protocol error, or not at all. */
  protocol: 4,
  /** What the server says is not as agreed to, and out of use until the person accepts it. */
  outOfUse: 5,
  /** The server did not answer in time, as with the program `timeout`. Connecting in vain is `cannotConnect`. */
  timedOut: 124,
  /** Ended by SIGHUP: its terminal closed. The codes of signals are 128 and the number of the signal. */
  hungUp: 129,
  /** Ended by SIGINT: Ctrl+C. */
  interrupted: 130,
  /** Ended by SIGTERM. */
  terminated: 143,
} as const

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Ends the command with a message for the person and an exit code. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode
  /** The protocol's or the SDK's own code, where there is one. */
  readonly code: number | string | undefined
  /** Facts for `--json`. */
  readonly data: unknown
  /** What the person can do about it. */
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

/** The reason of `Io.signal` where a signal of the system ends the command. */
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

/** The exit code of a command whose signal aborted; undefined where it did not. */
export function interruptedBy({ aborted, reason }: AbortSignal): ExitCode | undefined {
  if (!aborted) return undefined
  return reason instanceof Interruption ? reason.exitCode : ExitCode.interrupted
}

/** The person wrote something that cannot be; the message says what and how it should be. */
export function usageError(message: string, fixes: readonly Fix[] = []): CliError {
  return new CliError(ExitCode.usage, message, { fixes })
}

/** Whether the facts of a failure say that a secret could not be had for want of its key. */
export function isAboutKey(facts: unknown): boolean {
  return typeof facts === 'object' && facts !== null && ('keychain' in facts || 'sealed' in facts)
}

/** A text whose milliseconds, from one second on, are seconds with at most one decimal. */
export function inSeconds(text: string): string {
  return text.replace(/\b(\d{4,}) ms\b/g, (_, ms: string) => `${Math.round(Number(ms) / 100) / 10} s`)
}
