import type { Decision } from '@jackfield/host'
import type { JsonObject, Tool } from '@jackfield/sdk'
import { argumentsFrom, jsonArguments, requireAll } from '../cli/arguments.ts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { progressLine } from '../cli/progress.ts'
import { errorOf } from '../cli/session.ts'
import { toolResult } from '../output/content.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { found } from './list.ts'

export interface CallOptions extends ServerOptions {
  args?: string
}

/** `jackfield call <target> <tool> [--args JSON | key=value …]` */
export async function call(context: CommandContext<CallOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  const { session, rest } = await connectTo(context, ['tools'])
  await using _ = session
  const { host } = session
  const [name, ...words] = rest
  if (name === undefined) throw usageError('Which tool? Usage: jackfield call <target> <tool> [key=value …]')
  const entry = found(host.tools(), ({ tool }) => tool.name, name, 'tool')
  const args = argumentsOf(entry.tool, words, options)
  const line = progressLine(io.stderr)
  host.on((event) => {
    if (event.type === 'progress') line.report(event)
  })
  const { result, denied, decision, error } = await host
    .call(entry.name, args, { caller: 'cli', typed: true, signal: io.signal })
    .finally(() => line.clear())
  if (denied) throw new CliError(ExitCode.toolError, `${oneLine(name)} was not called: ${because(decision)}.`)
  if (error !== undefined) throw errorOf(error)
  output.result(result, () => toolResult(result, output.palette))
  return result.isError === true ? ExitCode.toolError : ExitCode.done
}

function because({ rule }: Decision): string {
  return rule === 'default'
    ? 'your config denies whatever no rule of it names'
    : `rule "${oneLine(rule)}" of your config forbids it`
}

/** With `--args` the arguments go out as they are, so that a server's own checks can be seen. */
function argumentsOf(tool: Tool, words: string[], options: CallOptions): JsonObject {
  const given = options.args === undefined ? undefined : jsonArguments(options.args)
  const typed = argumentsFrom(
    words,
    given === undefined ? tool.inputSchema : { ...tool.inputSchema, additionalProperties: true },
  )
  if (given !== undefined) return { ...given, ...typed }
  requireAll(typed, tool.inputSchema)
  return typed
}
