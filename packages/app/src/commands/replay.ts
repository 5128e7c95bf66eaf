import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Replay, ReplayRequest } from '@jackfield/host'
import { McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { isObject, parseArguments, parseTextArguments } from '../cli/arguments.ts'
import { CliError, ExitCode, isRejection, usageError } from '../cli/exit.ts'
import { readErrorReason } from '../cli/file-errors.ts'
import { type Io, isInteractive } from '../cli/io.ts'
import { writePrivateFile } from '../cli/private-file.ts'
import { runOperation, type Session, surfaceFor } from '../cli/session.ts'
import { storeFile } from '../cli/store.ts'
import { storeHost } from '../daemon/service.ts'
import { cancelled } from '../forms/prompter.ts'
import { changeLines } from '../output/changes.ts'
import { promptResult, readResult, toolResult } from '../output/content.ts'
import { fixesIn } from '../output/fixes.ts'
import { count, oneLine } from '../output/sanitize.ts'
import { editJson } from '../surface/edit.ts'
import { type CommandContext, connectTo, type ServerOptions } from './context.ts'

export interface ReplayOptions extends ServerOptions {
  edit?: boolean
  save?: string
}

type Method = ReplayRequest['method']

const methods: readonly Method[] = ['tools/call', 'resources/read', 'prompts/get']
const lists = { 'tools/call': 'tools', 'resources/read': 'resources', 'prompts/get': 'prompts' } as const

/**
 * `jackfield replay <id|file> [key=value…]`: repeats a request and compares the results. Exit code 1 if the result differs or the
 * request was rejected.
 */
export async function replay(context: CommandContext<ReplayOptions>): Promise<ExitCode> {
  const { words, command, options, io, output } = context
  const [what, ...given] = words
  if (what === undefined)
    throw usageError(
      'Which request? Give the number of an event (jackfield log lists them), or a saved test.',
    )
  const recorded = await readRequest(what, options, io)
  const { session } = await connectTo(
    { ...context, words: command === undefined ? [recorded.server] : [] },
    [lists[recorded.method]],
    // Without a user, no question of the request may wait at another terminal.
    surfaceFor(io) === undefined ? { isLocal: true } : {},
  )
  await using _ = session
  const { server } = session
  const request = await withChangedArguments({ ...recorded, server }, given, session, context)
  const done = await runOperation(session, { kind: 'replay', request }, io.signal)
  if (options.save !== undefined && !done.denied) saveRequest(options.save, done, io)
  const { changes } = done
  const same = changes === undefined || changes.length === 0
  output.result(done, () => replayText(done, output))
  if (options.save !== undefined && !done.denied)
    output.note(`Saved. Run it again with: jackfield replay ${options.save}`)
  if (done.denied) return ExitCode.toolError
  return same || options.save !== undefined ? ExitCode.done : ExitCode.toolError
}

async function readRequest(what: string, options: ReplayOptions, io: Io): Promise<ReplayRequest> {
  if (!/^#?\d+$/.test(what)) return readSavedRequest(what, io)
  await using host = storeHost(storeFile(options.store, io))
  const number = Number(what.replace('#', ''))
  const id = what.startsWith('#') ? (await host.trace.list({ filter: `row:${number}` }))[0]?.id : number
  try {
    return host.trace.request(id ?? number)
  } catch (error) {
    if (error instanceof McpError && isRejection(error)) throw usageError(`${error.message}.`, fixesIn(error))
    throw error
  }
}

/** The request with changed arguments; the recorded result then does not apply. */
async function withChangedArguments(
  request: ReplayRequest,
  words: readonly string[],
  session: Session,
  { options, io }: CommandContext<ReplayOptions>,
): Promise<ReplayRequest> {
  if (words.length === 0 && options.edit !== true) return request
  const typed =
    request.method === 'tools/call'
      ? parseArguments(words, schemaOf(request, session))
      : parseTextArguments(words)
  const args = { ...request.arguments, ...typed }
  if (options.edit !== true) return { ...request, arguments: args }
  if (!isInteractive(io)) throw usageError('--edit needs a terminal. Give what is to change as key=value.')
  const { clackPrompter } = await import('../surface/clack.ts')
  const prompter = clackPrompter({ input: io.stdin, output: io.stderr, signal: io.signal })
  const edited = await editJson<Record<string, unknown>>(args, {
    prompter,
    env: io.env,
    read: (value) => (isObject(value) ? { value } : { problem: 'Arguments must be a JSON object.' }),
  })
  if (edited === cancelled) throw new CliError(ExitCode.interrupted, 'Nothing was sent.')
  return { ...request, arguments: edited }
}

function schemaOf({ target }: ReplayRequest, { catalog }: Session): Parameters<typeof parseArguments>[1] {
  const entry = catalog.tools.find(({ tool }) => tool.name === target)
  return entry?.tool.inputSchema ?? { type: 'object' }
}

function replayText({ request, result, denied, changes }: Replay, output: CommandContext['output']): string {
  const { palette } = output
  const { method, server, target, arguments: args } = request
  const head = `${palette.bold(oneLine(`${method} ${target} of ${server}`))} ${oneLine(JSON.stringify(args), 200)}`
  const text = resultText(result, output)
  if (denied) return [head, text, palette.red('✗ It was not called.')].join('\n')
  if (changes === undefined) return [head, text, palette.dim('The previous result is not known.')].join('\n')
  if (changes.length === 0) return [head, text, palette.green('✓ The same result as before.')].join('\n')
  return [
    head,
    text,
    palette.red(`✗ The result differs from the previous one in ${count(changes.length, 'place')}:`),
    ...changeLines(changes, output),
  ].join('\n')
}

function resultText(result: Replay['result'], { palette }: CommandContext['output']): string {
  if ('messages' in result) return promptResult(result, palette)
  return 'contents' in result ? readResult(result, palette) : toolResult(result, palette)
}

/** Saves a request and its current result as a test. */
function saveRequest(file: string, { request, result }: Replay, io: Io): void {
  const { method, server, target, arguments: args } = request
  const test = { format: 'jackfield-replay', version: 1, method, server, target, arguments: args, result }
  writePrivateFile(resolve(io.cwd, file), `${JSON.stringify(test, null, 2)}\n`)
}

function readSavedRequest(file: string, io: Io): ReplayRequest {
  const path = resolve(io.cwd, file)
  if (!existsSync(path)) throw usageError(`"${file}" is neither the number of an event nor a file.`)
  const refuse = (why: string): never => {
    throw usageError(`${path} is not a saved request: ${why}. Make one with: jackfield replay ID --save FILE`)
  }
  let value: unknown
  try {
    value = readJson(readFileSync(path, 'utf8'))
  } catch (error) {
    return refuse(readErrorReason(error))
  }
  if (!isObject(value) || value['format'] !== 'jackfield-replay') return refuse('"format" has another value')
  const { server, target, arguments: args, result } = value
  const method = methods.find((known) => known === value['method'])
  if (method === undefined || typeof server !== 'string' || typeof target !== 'string' || !isObject(args))
    return refuse('it needs "method", "server", "target" and "arguments"')
  return { method, server, target, arguments: args, ...(result !== undefined && { result }) }
}
