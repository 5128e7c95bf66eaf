import type { CallToolResult, JsonObject, Tool } from '@jackfield/sdk'
import { argumentsFrom, jsonArguments, requireAll } from '../cli/arguments.ts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { progressLine } from '../cli/progress.ts'
import { forbidding } from '../cli/rules.ts'
import { toolResult } from '../output/content.ts'
import { oneLine } from '../output/sanitize.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { found, toolsOf } from './list.ts'

export interface CallOptions extends ServerOptions {
  args?: string
}

/** `jackfield call <target> <tool> [--args JSON | key=value …]` */
export async function call(context: CommandContext<CallOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  const { session, rest } = await connectTo(context)
  await using _ = session
  const { client, target } = session
  const [name, ...words] = rest
  if (name === undefined) throw usageError('Which tool? Usage: jackfield call <target> <tool> [key=value …]')
  const tool = found(await toolsOf(client, io.signal), name, 'tool')
  const args = argumentsOf(tool, words, options)
  const rule = forbidding(target.config?.rules ?? [], target.name, tool)
  if (rule !== undefined) {
    throw new CliError(
      ExitCode.toolError,
      `${oneLine(name)} was not called: rule "${oneLine(rule.id)}" of your config forbids it.`,
    )
  }
  const line = progressLine(io.stderr)
  const result: CallToolResult = await client
    .call(name, args, { signal: io.signal, onProgress: (report) => line.report(report) })
    .finally(() => line.clear())
  output.result(result, () => toolResult(result, output.palette))
  return result.isError === true ? ExitCode.toolError : ExitCode.done
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
