import type { CatalogTool, Decision, Failure } from '@jackfield/host'
import type { RunRequest, RunResults, RunRow } from '@jackfield/host/client'
import type { CallToolResult, JsonObject, Tool } from '@jackfield/sdk'
import {
  missingArguments,
  parseArguments,
  parseJsonArguments,
  requireArguments,
  undeclaredArguments,
} from '../cli/arguments.ts'
import { nameArguments, splitCall } from '../cli/call-words.ts'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import type { Output } from '../cli/io.ts'
import { progressLine } from '../cli/progress.ts'
import { runOperation, type Session } from '../cli/session.ts'
import { errorOf } from '../daemon/error-of-fault.ts'
import { printedResult } from '../output/content.ts'
import { type ContentOptions, markdownResult, printRaw, rawResult } from '../output/formats.ts'
import { mediaOf, saveMedia } from '../output/media.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { deferringSurface } from '../surface/deferring.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'
import { requireFound } from './list.ts'
import { refuseQuarantined } from './trust.ts'

export interface CallOptions extends ServerOptions, ContentOptions {
  args?: string
  park?: boolean
}

type CallRequest = Extract<RunRequest, { kind: 'call' }>

/** Lines of stderr that are shown if a tool failed. */
const maxStderrLines = 8

/** `jackfield call <target> <tool> [--args JSON | value … | key=value …]`, or `jackfield call '<tool>(key: value, …)'`. */
export async function call(context: CommandContext<CallOptions>): Promise<ExitCode> {
  const { options, io } = context
  const line = progressLine(io.stderr)
  // Messages replace the progress on its line, and the next report draws it again.
  const output: Output = {
    ...context.output,
    note(text, fixes) {
      line.clear()
      context.output.note(text, fixes)
    },
  }
  if (options.park === true && options.answers !== undefined) {
    throw usageError(
      '--answers answers questions from a file, --park leaves them in the inbox. Give only one of them.',
    )
  }
  let isAsking = false
  const onAsking = (begins: boolean): void => {
    isAsking = begins
    line.clear()
  }
  const park = options.park === true ? deferringSurface(output, options) : undefined
  const { session, rest } = await connectTo({ ...context, output }, ['tools'], {
    item: { kind: 'tool', command: 'call' },
    ...(park === undefined ? { onAsking } : { isLocal: true, surface: park }),
  })
  await using _ = session
  const { entry, args } = await requestedCall(rest, session, { ...context, output })
  const request: CallRequest = { kind: 'call', tool: entry.name, arguments: args, caller: 'cli' }
  const onRow = ({ progress }: RunRow): void => {
    if (progress !== undefined && !isAsking) line.report(progress)
  }
  const asks = session.person !== undefined || options.answers !== undefined
  const running =
    park === undefined
      ? runOperation(session, request, io.signal, { asks, onRow })
      : runParkedCall(session, request, io.signal, onRow)
  const called = await running.finally(() => line.clear())
  checkWasMade(called, entry.tool.name, session, options, output)
  await printCall(called.result, entry.tool.name, session, { ...context, output })
  return called.result.isError === true ? ExitCode.toolError : ExitCode.done
}

/** The tool that the words after the server name, and its arguments; missing ones are asked for. */
async function requestedCall(
  [word, ...words]: readonly string[],
  session: Session,
  context: CommandContext<CallOptions>,
): Promise<{ entry: CatalogTool; args: JsonObject }> {
  const { options, output } = context
  const { tools } = session.catalog
  if (word === undefined)
    throw usageError('Which tool? Usage: jackfield call <target> <tool> [value or key=value …]')
  const offers = (name: string): boolean => tools.some(({ tool }) => tool.name === name)
  const { name, inside } = (offers(word) ? undefined : splitCall(word)) ?? { name: word, inside: '' }
  if (!offers(name)) refuseQuarantined(session, { what: 'tool', name })
  const entry = requireFound(tools, ({ tool }) => tool.name, name, 'tool')
  const named = nameArguments(words, entry.tool.inputSchema, inside)
  const typed = argumentsOf(entry.tool, named, options)
  const args = await askMissingArguments(typed, entry.tool, session, context)
  if (options.args === undefined) {
    for (const key of undeclaredArguments(args, entry.tool.inputSchema))
      output.note(`! ${oneLine(name)} has no argument "${oneLine(key)}" in its schema. It is sent anyway.`)
  }
  return { entry, args }
}

/** Runs a call with `--park`: interrupting it leaves its question in the inbox, where stopping the call would withdraw it. */
async function runParkedCall(
  session: Session,
  request: CallRequest,
  signal: AbortSignal,
  onRow: (row: RunRow) => void,
): Promise<RunResults['call']> {
  let wasAsked = false
  const off = session.client.subscribe('inbox', {
    rows(view) {
      wasAsked ||= [...view.values()].some(({ state }) => state === 'open')
    },
  })
  const closeHost = (): void => void session.host?.close()
  signal.addEventListener('abort', closeHost, { once: true })
  if (signal.aborted) closeHost()
  try {
    const never = new AbortController().signal
    const called = await runOperation(session, request, never, { asks: true, onRow })
    if (signal.aborted && called.error !== undefined && called.suspended !== true)
      throw new CliError(
        ExitCode.interrupted,
        wasAsked
          ? 'Interrupted. The question is withdrawn: a call in a session ends with the program that made it.'
          : 'Interrupted.',
      )
    return called
  } finally {
    off()
    signal.removeEventListener('abort', closeHost)
  }
}

/** @throws CliError if the tool was not called, or no result came back */
function checkWasMade(
  { result, denied, decision, error, suspended }: RunResults['call'],
  name: string,
  session: Session,
  options: CallOptions,
  output: Output,
): void {
  if (suspended === true)
    throw new CliError(
      ExitCode.interrupted,
      `Interrupted. The question stays in the inbox.${endedServerNote(session.server, session.isProgram)}`,
    )
  if (denied)
    throw new CliError(ExitCode.toolError, `${oneLine(name)} was not called: ${withReason(decision)}.`)
  const unasked = session.person === undefined ? unansweredQuestion(error, result) : undefined
  if (unasked !== undefined) {
    const how = answerHints(oneLine(name), unasked, options)
    if (error !== undefined) throw new CliError(ExitCode.toolError, how, { code: error.code })
    output.note(`! ${how}`)
  }
  if (error !== undefined) throw errorOf(error)
}

async function printCall(
  result: CallToolResult,
  name: string,
  session: Session,
  { options, io, output }: CommandContext<CallOptions>,
): Promise<void> {
  if (result.isError === true && session.isProgram && options.verbose !== true)
    noteStderr(JSON.stringify(result.content), session.stderr(), output)
  if (options.output === 'raw') printRaw(rawResult(result), io, output)
  else
    output.result(result, () =>
      options.output === 'markdown' ? markdownResult(result) : printedResult(result, output.palette),
    )
  if (options.saveMedia !== undefined)
    await saveMedia(mediaOf(result.content, name), options.saveMedia, io.cwd, output)
}

/** Notes the end of the stderr of a program whose tool failed, or how to see it. */
function noteStderr(content: string, stderr: string, output: Output): void {
  if (!/the server's own log|The fault is the server's/.test(content)) return
  const lines = plain(stderr)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at .*(?:node_modules[\\/]|node:)/.test(line))
  const isFrame = (line = ''): boolean => /^\s+at \S/.test(line)
  // Of a stack trace, only the first frame is shown.
  const shownLines = lines.filter((line, at) => !isFrame(line) || !isFrame(lines[at - 1]))
  output.note(
    shownLines.length === 0
      ? '! It writes why to its stderr: -v shows it.'
      : `! Its stderr says why, and -v shows all of it:\n  ${shownLines.slice(-maxStderrLines).join('\n  ')}`,
  )
}

/** A stdio server ends with this command, so its call may be impossible to continue. */
function endedServerNote(server: string, isProgram: boolean): string {
  if (!isProgram) return ''
  return ` ${oneLine(server)} ended with this command: unless it keeps the keys of its states ("keys"), it rejects a later answer, and the call has to be made again.`
}

const questionNames: Readonly<Record<string, string>> = {
  elicitation: 'a question',
  sampling: 'a request for a model',
  roots: 'a question about folders',
}

/** What a server asked for, when no user can be asked here. */
interface UnansweredQuestion {
  kind: string
  /** The answers file has answers of this kind, but none that fits. */
  hasNoFittingAnswer: boolean
}

/**
 * What the server asked for when no user can be asked here. A server of 2026-07-28 responds with -32021, and in a session the tool
 * fails with a message about a missing capability. A host process declares the capabilities of all its clients, so there the
 * question is asked and fails: the host's error names what was asked for.
 */
function unansweredQuestion(
  error: Failure | undefined,
  result: CallToolResult,
): UnansweredQuestion | undefined {
  const failed = error === undefined ? undefined : unansweredInError(error)
  if (failed !== undefined) return failed
  const words = error?.message ?? (result.isError === true ? JSON.stringify(result.content) : '')
  const isUnasked =
    error === undefined
      ? /capability that was not declared|does not support (?:form |url )?(?:elicitation|sampling|roots)|no person can be asked here \(elicitation\)/i.test(
          words,
        )
      : error.code === -32021 || error.code === 'CAPABILITY'
  if (!isUnasked) return undefined
  const message = `${words} ${JSON.stringify(error?.data ?? '')}`
  const kind = Object.keys(questionNames).find((one) => message.includes(one))
  return kind === undefined ? undefined : { kind, hasNoFittingAnswer: false }
}

/** The kind of question that the host could not have answered, from the data of its error. */
function unansweredInError({ data }: Failure): UnansweredQuestion | undefined {
  if (typeof data !== 'object' || data === null || !('unanswered' in data)) return undefined
  const kind = String(data.unanswered)
  if (!Object.hasOwn(questionNames, kind)) return undefined
  return { kind, hasNoFittingAnswer: !('why' in data) || data.why !== 'no-surface' }
}

function answerHints(
  tool: string,
  { kind, hasNoFittingAnswer }: UnansweredQuestion,
  { answers, park }: CallOptions,
): string {
  const head = `${tool} needs ${questionNames[kind]} answered (${kind}), and`
  if (answers !== undefined && hasNoFittingAnswer)
    return `${head} the answers file has no answer that fits. Correct "${kind}" in it: jackfield help options`
  if (answers !== undefined)
    return `${head} the answers file has no "${kind}". Add it: jackfield help options`
  if (park === true)
    return `${head} the inbox does not accept it. Run this in a terminal, or give --answers FILE`
  return `${head} no person can be asked here. Give --park to leave it in the inbox, --answers FILE to answer from a file (jackfield help call), or run this in a terminal`
}

function withReason({ rule, author }: Decision): string {
  return rule === 'default'
    ? 'your config denies calls that match no rule'
    : `rule "${oneLine(rule)}" forbids it (${oneLine(author ?? 'your config')})`
}

/** Asks for missing required arguments in a form. Throws a usage error that names them if no user can be asked. */
async function askMissingArguments(
  args: JsonObject,
  tool: Tool,
  { person }: Session,
  { options, io }: CommandContext<CallOptions>,
): Promise<JsonObject> {
  if (options.args !== undefined || missingArguments(args, tool.inputSchema).length === 0) return args
  if (person === undefined) requireArguments(args, tool.inputSchema)
  const filledIn = await person?.askArguments(tool, args, io.signal)
  if (filledIn === undefined)
    throw new CliError(ExitCode.toolError, `${oneLine(tool.name)} was not called: cancelled.`)
  return filledIn
}

/** With `--args` the arguments are sent unchecked, so that the server's own validation can be tested. */
function argumentsOf(tool: Tool, words: string[], options: CallOptions): JsonObject {
  const given = options.args === undefined ? undefined : parseJsonArguments(options.args)
  const typed = parseArguments(
    words,
    given === undefined ? tool.inputSchema : { ...tool.inputSchema, additionalProperties: true },
  )
  return { ...given, ...typed }
}
