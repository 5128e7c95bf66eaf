import type { Decision } from '@jackfield/host'
import type { JsonObject, Tool } from '@jackfield/sdk'
import {
  argumentsFrom,
  jsonArguments,
  missingArguments,
  requireAll,
  unnamedArguments,
} from '../cli/arguments.ts'
import { namedWords, splitCall } from '../cli/call-words.ts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { progressLine } from '../cli/progress.ts'
import { errorOf, type Session } from '../cli/session.ts'
import { toolResult } from '../output/content.ts'
import { type ContentOptions, markdownResult, printRaw, rawResult } from '../output/formats.ts'
import { mediaOf, saveMedia } from '../output/media.ts'
import { oneLine } from '../output/sanitize.ts'
import { parkedSurface } from '../surface/parked.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { found } from './list.ts'
import { refuseHeldBack } from './trust.ts'

export interface CallOptions extends ServerOptions, ContentOptions {
  args?: string
  park?: boolean
}

/** `jackfield call <target> <tool> [--args JSON | value … | key=value …]`, or `jackfield call '<tool>(key: value, …)'`. */
export async function call(context: CommandContext<CallOptions>): Promise<ExitCode> {
  const { options, io, output } = context
  if (options.park === true && options.answers !== undefined) {
    throw usageError('--answers answers questions, --park leaves them to be answered. Give one of them.')
  }
  const park = options.park === true ? parkedSurface(output, options) : undefined
  const { session, rest } = await connectTo(context, ['tools'], park)
  await using _ = session
  const { host } = session
  const [word, ...words] = rest
  if (word === undefined)
    throw usageError('Which tool? Usage: jackfield call <target> <tool> [value or key=value …]')
  const offers = (tool: string): boolean => host.tools().some((entry) => entry.tool.name === tool)
  const { name, inside } = (offers(word) ? undefined : splitCall(word)) ?? { name: word, inside: '' }
  if (!offers(name)) refuseHeldBack(session, { what: 'tool', name })
  const entry = found(host.tools(), ({ tool }) => tool.name, name, 'tool')
  const named = namedWords(words, entry.tool.inputSchema, inside)
  const args = await completed(argumentsOf(entry.tool, named, options), entry.tool, session, context)
  if (options.args === undefined) {
    for (const key of unnamedArguments(args, entry.tool.inputSchema))
      output.note(`! ${oneLine(name)} names no argument "${oneLine(key)}". It is sent all the same.`)
  }
  const line = progressLine(io.stderr)
  let asked = false
  host.on((event) => {
    if (event.type === 'progress') line.report(event)
    else if (event.type === 'question') {
      asked = true
      line.clear()
    }
  })
  // A parked call that is interrupted leaves its question in the inbox; aborting the call would withdraw it.
  const leave = (): void => void host.close()
  if (park !== undefined) io.signal.addEventListener('abort', leave, { once: true })
  if (park !== undefined && io.signal.aborted) leave()
  const { result, denied, decision, error, parked } = await host
    .call(entry.name, args, { caller: 'cli', typed: true, ...(park === undefined && { signal: io.signal }) })
    .finally(() => line.clear())
    .finally(() => io.signal.removeEventListener('abort', leave))
  if (parked === true)
    throw new CliError(ExitCode.interrupted, 'Interrupted. The question stays in the inbox.')
  if (io.signal.aborted && park !== undefined && error !== undefined)
    throw new CliError(
      ExitCode.interrupted,
      asked
        ? 'Interrupted. The question is withdrawn: a call in a session ends with the program that made it.'
        : 'Interrupted.',
    )
  if (denied) throw new CliError(ExitCode.toolError, `${oneLine(name)} was not called: ${because(decision)}.`)
  if (error !== undefined) throw errorOf(error)
  if (options.output === 'raw') printRaw(rawResult(result), io, output)
  else
    output.result(result, () =>
      options.output === 'markdown' ? markdownResult(result) : toolResult(result, output.palette),
    )
  if (options.saveMedia !== undefined)
    await saveMedia(mediaOf(result.content, name), options.saveMedia, io.cwd, output)
  return result.isError === true ? ExitCode.toolError : ExitCode.done
}

function because({ rule, author }: Decision): string {
  return rule === 'default'
    ? 'your config denies whatever no rule of it names'
    : `rule "${oneLine(rule)}" forbids it (${oneLine(author ?? 'your config')})`
}

/** Asks for required arguments that are missing, in a form. Throws a usage error that names them where no person can be asked. */
async function completed(
  args: JsonObject,
  tool: Tool,
  { person }: Session,
  { options, io }: CommandContext<CallOptions>,
): Promise<JsonObject> {
  if (options.args !== undefined || missingArguments(args, tool.inputSchema).length === 0) return args
  if (person === undefined) requireAll(args, tool.inputSchema)
  const given = await person?.askArguments(tool, args, io.signal)
  if (given === undefined)
    throw new CliError(ExitCode.toolError, `${oneLine(tool.name)} was not called: cancelled.`)
  return given
}

/** With `--args` the arguments go out as they are, so that a server's own checks can be seen. */
function argumentsOf(tool: Tool, words: string[], options: CallOptions): JsonObject {
  const given = options.args === undefined ? undefined : jsonArguments(options.args)
  const typed = argumentsFrom(
    words,
    given === undefined ? tool.inputSchema : { ...tool.inputSchema, additionalProperties: true },
  )
  return { ...given, ...typed }
}
