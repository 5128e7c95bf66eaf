/** What the process's exit code says. */
export const ExitCode = {
  done: 0,
  /** The tool ran and said that it failed, or a question was refused. */
  toolError: 1,
  /** The command line or a file named on it is wrong. */
  usage: 2,
  /** The server could not be reached or started. */
  cannotConnect: 3,
  /** The server answered with a protocol error, or not at all. */
  protocol: 4,
  /** Interrupted with Ctrl+C. */
  interrupted: 130,
} as const

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Ends the command with a message for the person and an exit code. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The person wrote something that cannot be; the message says what and how it should be. */
export function usageError(message: string): CliError {
  return new CliError(ExitCode.usage, message)
}
