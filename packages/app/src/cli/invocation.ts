import type { CommandContext, ServerOptions } from '../commands/context.ts'
import type { ContentOptions } from '../output/formats.ts'
import { ExitCode, usageError } from './exit.ts'
import { createOutput, type Io, type Output } from './io.ts'

/** One invocation of the program: what its command gets, and how it ended. */
export class Invocation {
  readonly io: Io
  /** The words after `--`: the command of a server to start. */
  readonly command: string[] | undefined
  exitCode: ExitCode = ExitCode.done
  /** Whether the command has `--timeout`. */
  hasTimeout = false

  constructor(io: Io, command: string[] | undefined) {
    this.io = io
    this.command = command
  }

  /** Runs a command. With `json`, its result is JSON. Its module is imported on use, so that help and usage errors stay fast. */
  async run(
    { json }: { json?: boolean },
    work: (io: Io, output: Output) => Promise<ExitCode>,
  ): Promise<void> {
    this.exitCode = await work(this.io, createOutput(this.io, json === true))
  }

  /** The action of a command that has the options of `withServerOptions`. */
  serverAction<O extends ServerOptions>(
    load: () => Promise<(context: CommandContext<O>) => Promise<ExitCode>>,
  ): (words: string[], given: O & ContentOptions) => Promise<void> {
    return async (words, given) => {
      if (given.json === true && given.output !== undefined && given.output !== 'json')
        throw usageError(`--json is the same as --output json. Give only --output ${given.output}.`)
      this.hasTimeout = true
      const json = given.json === true || given.output === 'json'
      const options = { ...given, ...(json && { json }) }
      await this.run(options, async (io, output) =>
        (await load())({ words, command: this.command, options, io, output }),
      )
    }
  }
}
