import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type {
  CatalogPrompt,
  CatalogResource,
  CatalogTemplate,
  CatalogTool,
  ConnectionState,
  Fix,
  Host,
  HostConnectOptions,
  Model,
  ServerTrust,
  Surface,
} from '@jackfield/host'
import type { HostClient, InboxRow, Notice, RunRequest, RunResults, RunRow } from '@jackfield/host/client'
import { McpError } from '@jackfield/sdk'
import { errorOf, errorOfFault } from '../daemon/error-of-fault.ts'
import { changeLines } from '../output/definitions.ts'
import { noteWithFixes } from '../output/fixes.ts'
import { paletteFor } from '../output/palette.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { createWarnings, type Warnings } from '../output/warnings.ts'
import { answerQuestions, type QuestionSession } from '../surface/answer-questions.ts'
import type { Answers } from '../surface/answers-file.ts'
import { type TerminalSurface, terminalSurface } from '../surface/terminal.ts'
import { CliError, ExitCode, inSeconds, isMissingKey } from './exit.ts'
import { createLocalHost, type OpenHost, onNotice, openHost, usesDaemon } from './host.ts'
import { type Io, isInteractive, type Output } from './io.ts'
import { revisionsFor } from './revisions.ts'
import { type ConfigChoice, fixesFor, type Target } from './target.ts'

/** For a server that was typed, whose program may be slow to start. */
const connectTimeoutMs = 30_000
const maxStderrChunks = 50

export interface SessionOptions extends ConfigChoice {
  era?: string
  revision?: string
  verbose?: boolean
  store?: string
  /** Seconds without a response or progress. */
  timeout?: number
  answers: Answers | undefined
  /** Answers questions instead of the user at the terminal. */
  surface?: Surface
  /** Called before a question is drawn at the terminal, and after it is answered. */
  onAsking?: (begins: boolean) => void
  /** Uses a host in this process; see `localHost`. */
  isLocal?: true
}

/** The server lists requested by the command. */
export interface Catalog {
  readonly tools: readonly CatalogTool[]
  readonly prompts: readonly CatalogPrompt[]
  readonly resources: readonly CatalogResource[]
  readonly templates: readonly CatalogTemplate[]
}

/** The connected server of a command, with its host. */
export interface Session extends AsyncDisposable {
  readonly client: HostClient
  /** The host's name for the server. */
  readonly server: string
  /** It is a program that this command or the host process started, not a URL. */
  readonly isProgram: boolean
  readonly catalog: Catalog
  readonly trust: ServerTrust
  /** The last lines that it wrote to stderr, unless they were shown. */
  stderr(): string
  /** The user at the terminal, if questions are asked there. */
  readonly person: TerminalSurface | undefined
  /** The host itself, if it is in this process; see `localHost`. */
  readonly host: Host | undefined
}

/**
 * Connects and fetches `lists`. A configured server runs in the host process of this folder, unless the options apply to this
 * command alone. The capabilities for input requests are those of this terminal or the answers file. Throws if the connection or
 * a list fails.
 */
export async function openSession(
  target: Target,
  lists: NonNullable<HostConnectOptions['lists']>,
  options: SessionOptions,
  io: Io,
  output: Output,
): Promise<Session> {
  io.signal.throwIfAborted()
  if (!isShared(target, options, io)) return await openLocalSession(target, lists, options, io, output)
  const open = await openHost(options, 'jackfield', io)
  return await connectTarget(
    target,
    { ...open, host: undefined },
    surfaceFor(io, options, options.onAsking),
    lists,
    options,
    io,
    output,
  )
}

/** The host of a session opened with `isLocal`. */
export function localHost({ host }: Pick<Session, 'host'>): Host {
  if (host === undefined) throw new Error('The host is shared.')
  return host
}

/** Whether the host process of this folder has the server as this command needs it. */
function isShared({ server, config }: Target, options: SessionOptions, io: Io): boolean {
  const { answers, surface, era, revision, verbose, timeout, isLocal } = options
  const isOwn = [answers, surface, era, revision, verbose, timeout, isLocal].some(
    (option) => option !== undefined,
  )
  return (
    config !== undefined &&
    !isOwn &&
    server.disabled !== true &&
    server.lazy !== true &&
    usesDaemon(options, io)
  )
}

/** Opens a session on a host in this process that has no other server. */
async function openLocalSession(
  target: Target,
  lists: NonNullable<HostConnectOptions['lists']>,
  options: SessionOptions,
  io: Io,
  output: Output,
): Promise<Session> {
  const revisions = revisionsFor(options)
  const person = surfaceFor(io, options, options.onAsking)
  const answersSurface =
    options.answers === undefined
      ? options.surface
      : (await import('../surface/answers-file.ts')).answersSurface(options.answers, (message) =>
          output.note(message),
        )
  const asked = answersSurface === undefined ? person : undefined
  const hasNoSurface = answersSurface === undefined && asked === undefined
  const timeoutMs = options.timeout === undefined ? undefined : options.timeout * 1000
  const { createService } = await import('../daemon/service.ts')
  const created = await createService(options, io, {
    config: target.config ?? null,
    follow: false,
    // Naming a server starts it even if it is disabled for conversations.
    servers: {
      [target.name]: {
        ...target.server,
        disabled: false,
        lazy: false,
        ...(timeoutMs !== undefined && { connectTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs }),
      },
    },
    models:
      hasNoSurface && !allowsSampling(target)
        ? []
        : [...(await modelsFor(options.answers, target.config, io))],
    ...(target.isTyped === true && { unpinned: [target.name] }),
    connectTimeoutMs: timeoutMs ?? target.config?.limits.connectTimeoutMs ?? connectTimeoutMs,
    ...(timeoutMs !== undefined && { callTimeoutMs: timeoutMs }),
    ...(answersSurface !== undefined && { surface: answersSurface }),
    ...(hasNoSurface && { surface: { name: 'nobody', show: {} } }),
    connect: {
      lists,
      follow: false,
      ...(revisions !== undefined && { revisions }),
      ...(options.verbose === true && {
        onMessage: (_server, direction, message) =>
          output.note(`${direction === 'sent' ? '→' : '←'} ${plain(JSON.stringify(message))}`),
      }),
    },
  })
  const open = await createLocalHost(created.service, 'jackfield', () => created[Symbol.asyncDispose]())
  return await connectTarget(target, open, asked, lists, options, io, output)
}

/** Connects the server and reads its lists; closes the host on failure. */
async function connectTarget(
  target: Target,
  open: OpenHost & { host: Host | undefined },
  person: TerminalSurface | undefined,
  lists: NonNullable<HostConnectOptions['lists']>,
  options: SessionOptions,
  io: Io,
  output: Output,
): Promise<Session> {
  const { client } = open
  const { name } = target
  const stderr: string[] = []
  const warnings = createWarnings((line, fixes) => noteWithFixes(output, line, fixes))
  const ends: (() => void)[] = [
    printNotices(client, target, options.verbose === true, stderr, warnings, io, output),
  ]
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0)) end()
    await open[Symbol.asyncDispose]()
    warnings.end()
  }
  const stop = (): void => void close()
  io.signal.addEventListener('abort', stop, { once: true })
  try {
    const isMine = open.host === undefined ? { isMine: isQuestionOf(client, name) } : {}
    const answering =
      person === undefined
        ? undefined
        : await answerQuestions(client, person, { ...isMine, note: output.note })
    if (answering !== undefined) ends.push(() => answering.stop())
    await startServers(client, [name], answering, io, output)
    const rows = await client.call('servers.list', {})
    const state = rows.find((row) => row.name === name)?.connection
    if (state !== undefined && 'fixes' in state)
      throw await connectFailure(target, state, options, stderr, io)
    if (state?.state === 'degraded') {
      throw state.error === undefined ? new McpError('PROTOCOL', state.reason) : errorOf(state.error)
    }
    const stale = state?.state === 'ready' ? await fileChangedSince(target, state.sinceMs, io) : undefined
    if (stale !== undefined && open.host === undefined)
      output.note(
        `! ${oneLine(stale)} changed since ${oneLine(name)} was started, which still runs the previous version. To start it again: jackfield daemon stop`,
      )
    const [catalog, trust] = await Promise.all([
      catalogOf(client, name, lists),
      client.call('trust.get', { server: name }),
    ])
    return {
      client,
      server: name,
      isProgram: 'command' in target.server,
      stderr: () => stderr.join(''),
      catalog,
      trust,
      person,
      host: open.host,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  } finally {
    io.signal.removeEventListener('abort', stop)
  }
}

/** The file in the command line of a server that changed after its start; undefined if none did, as far as known. */
async function fileChangedSince(
  { server }: Target,
  sinceMs: number,
  { cwd }: Io,
): Promise<string | undefined> {
  if ('url' in server) return undefined
  const folder = resolve(cwd, server.cwd ?? '.')
  for (const word of [server.command, ...(server.args ?? [])]) {
    const file = /[./\\]/.test(word) ? await stat(resolve(folder, word)).catch(() => undefined) : undefined
    if (file?.isFile() === true && file.mtimeMs > sinceMs) return word
  }
  return undefined
}

/** Fetches the requested lists of a server; the others are empty. */
export async function catalogOf(
  client: HostClient,
  server: string,
  lists: NonNullable<HostConnectOptions['lists']>,
): Promise<Catalog> {
  const of = { server }
  const [tools, prompts, resources, templates] = await Promise.all([
    lists.includes('tools') ? client.call('catalog.tools', of) : [],
    lists.includes('prompts') ? client.call('catalog.prompts', of) : [],
    lists.includes('resources') ? client.call('catalog.resources', of) : [],
    lists.includes('resources') ? client.call('catalog.templates', of) : [],
  ])
  return { tools, prompts, resources, templates }
}

/** Questions of one server: from this client's runs, or about the server itself. */
function isQuestionOf(client: HostClient, server: string): (row: InboxRow) => boolean {
  const ownActivities = new Set<number>()
  client.subscribe('runs', {
    rows(view) {
      for (const { activity } of view.values()) if (activity !== undefined) ownActivities.add(activity)
    },
  })
  return ({ question, rows }) =>
    question.cause.server === server &&
    (question.cause.conversation === undefined || rows.some((row) => ownActivities.has(row)))
}

/**
 * Runs an operation at the server and returns its result; `signal` stops it. `onRow` receives the run's row after each change.
 * @throws the error of the run
 */
export async function runOperation<K extends RunRequest['kind']>(
  { client, person }: Pick<Session, 'client' | 'person'>,
  request: Extract<RunRequest, { kind: K }>,
  signal: AbortSignal,
  { onRow, asks = person !== undefined }: { onRow?: (row: RunRow) => void; asks?: boolean } = {},
): Promise<RunResults[K]> {
  const id = await client.call('runs.start', { request, attached: true, asks })
  const off = client.subscribe('runs', {
    rows(view) {
      const row = view.get(id)
      if (row !== undefined) onRow?.(row)
    },
  })
  const stop = (): void => void client.call('runs.stop', { id }).catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const run = await client.call('runs.wait', { id })
    const kind: K = request.kind
    const result = run.result?.[kind]
    if (result !== undefined) return result
    throw run.fault === undefined ? new Error('The run has no result.') : errorOfFault(run.fault)
  } finally {
    off()
    signal.removeEventListener('abort', stop)
  }
}

/** Prints the server's messages until the returned function is called, and collects the end of its stderr in `stderr`. */
function printNotices(
  client: HostClient,
  target: Target,
  verbose: boolean,
  stderr: string[],
  warnings: Warnings,
  io: Io,
  output: Output,
): () => void {
  return onNotice(client, (notice) => {
    if ('server' in notice && notice.server === target.name)
      printNotice(notice, verbose, stderr, warnings, io, output)
  })
}

function printNotice(
  event: Notice,
  verbose: boolean,
  stderr: string[],
  warnings: Warnings,
  io: Io,
  output: Output,
): void {
  if (event.type === 'log') {
    const { level, logger, data } = event
    const from = logger === undefined ? '' : ` ${oneLine(logger)}:`
    const line = `[${level}]${from} ${plain(typeof data === 'string' ? data : JSON.stringify(data))}`
    if (level === 'warning') warnings.show(event.server, line)
    else output.note(line)
  }
  if (event.type === 'trust' && event.accepted !== undefined) {
    const head = `! ${oneLine(event.server)} changed its definitions since it was last started like this:`
    output.note([head, ...changeLines(event.accepted, paletteFor(io.stderr, io.env))].join('\n'))
  }
  if (event.type === 'warning') warnings.show(event.server, `! ${oneLine(event.message)}`, event.fixes)
  if (event.type === 'sampling') {
    const { server, model } = event
    output.note(
      `${oneLine(server)} requested a model response: the built-in planner (${oneLine(model)}) gave it, without network access or cost.`,
    )
  }
  if (event.type === 'login') output.note(`Sign in at the page that opens, or here:\n  ${plain(event.url)}`)
  if (event.type === 'stderr') {
    if (verbose) output.note(`${oneLine(event.server)}: ${plain(event.text).trimEnd()}`)
    else stderr.push(event.text)
    if (stderr.length > maxStderrChunks) stderr.shift()
  }
}

/**
 * The user at the terminal, if any. `store`: if not the default one. `onAsking` is called before a question is drawn and after it
 * is answered.
 */
export function surfaceFor(
  io: Io,
  { store }: { store?: string } = {},
  onAsking?: (begins: boolean) => void,
): TerminalSurface | undefined {
  if (!isInteractive(io)) return undefined
  return terminalSurface({
    input: io.stdin,
    output: io.stderr,
    env: io.env,
    onInterrupt: () => io.interrupt(),
    ...(onAsking !== undefined && { onAsking }),
    ...(store !== undefined && { store }),
  })
}

/** The user at the terminal for read-only commands: confirms server starts, and answers no input requests. */
export function observerSurfaceFor(io: Io): TerminalSurface | undefined {
  const person = surfaceFor(io)
  if (person === undefined) return undefined
  const { start, drift, login } = person.show
  const show = { ...(start && { start }), ...(drift && { drift }), ...(login && { login }) }
  return { ...person, urlElicitation: false, show }
}

/** Milliseconds after which a terminal shows which servers are awaited. */
const slowStartMs = 2_000

/** Starts servers, and waits until each is connected or failed, no question is open here, and no accepted login is in progress. */
export async function startServers(
  client: HostClient,
  servers: readonly string[] | undefined,
  asked: Pick<QuestionSession, 'isAsking' | 'settled'> | undefined,
  { signal, stderr }: Io,
  output: Pick<Output, 'note'>,
): Promise<void> {
  const noteSlow = async (): Promise<void> => {
    const rows = await client.call('servers.list', {})
    const slow = rows.filter(
      ({ name, connection }) => connection.state === 'connecting' && servers?.includes(name) !== false,
    )
    if (slow.length > 0 && asked?.isAsking !== true)
      output.note(
        `Waiting for ${slow.map(({ name }) => oneLine(name)).join(', ')} to start. Ctrl+C ends this.`,
      )
  }
  const timer =
    stderr.isTTY === true ? setTimeout(() => void noteSlow().catch(() => {}), slowStartMs) : undefined
  try {
    await client.call('servers.start', servers === undefined ? {} : { servers: [...servers] }, { signal })
  } finally {
    clearTimeout(timer)
  }
  await waitForAnswers(client, asked, signal)
  signal.throwIfAborted()
}

async function waitForAnswers(
  client: HostClient,
  asked: Pick<QuestionSession, 'settled'> | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // The host's response comes after the questions it asked before.
    const waited = await client.call('logins.wait', {}, { signal })
    await new Promise(setImmediate)
    const hadQuestions = (await asked?.settled()) === true
    if (!waited && !hadQuestions) return
  }
}

/** Only an answers file decides which model may answer, so that a run does not depend on the available keys. */
export async function modelsFor(
  answers: Answers | undefined,
  config: Target['config'],
  io: Io,
): Promise<readonly Model[]> {
  const [{ modelsInUse }, { modelsNamed }] = await Promise.all([
    import('./models.ts'),
    import('../surface/answers-file.ts'),
  ])
  if (answers === undefined) return modelsInUse(io.env, undefined, config?.models ?? [])
  return modelsInUse(io.env, modelsNamed(answers)[0] ?? 'offline', []).slice(0, 1)
}

/** Whether the configuration allows sampling requests of the server without a user. */
function allowsSampling({ name, config }: Target): boolean {
  const servers = config?.sampling.servers ?? {}
  return Object.hasOwn(servers, name) && (servers[name]?.approve ?? []).length > 0
}

async function connectFailure(
  target: Target,
  { reason, fixes, error }: Extract<ConnectionState, { fixes: readonly Fix[] }>,
  { era, revision, timeout }: SessionOptions,
  stderrLines: readonly string[],
  io: Io,
): Promise<CliError> {
  const asked = revision === undefined ? era : revision
  const option = revision === undefined ? '--era' : '--revision'
  // The limit is that of the option, so a setting of the configuration would not change it.
  const isOwnLimit = error?.code === 'TIMEOUT' && timeout !== undefined
  const isAsked = error?.code === 'VERSION_MISMATCH' && asked !== undefined && asked !== 'auto'
  const message = isAsked
    ? `it does not support ${option} ${asked}. Omit ${option} to negotiate a revision.`
    : error?.code === 'TIMEOUT'
      ? timeout === undefined
        ? `${inSeconds(plain(error.message))}. --timeout <seconds> changes this limit.${silentHint(target)}`
        : `it did not answer within ${timeout} s. Give a larger --timeout <seconds> if it is only slow.${silentHint(target)}`
      : plain(error?.message ?? reason)
  const last = plain(stderrLines.join('')).trim().split('\n').slice(-8)
  // For a server that exited, the excerpt is already part of the error; a server that hangs has none.
  const stderr =
    last[0] === '' || message.includes('It wrote to stderr: ')
      ? ''
      : `\nIt wrote to stderr:\n  ${last.join('\n  ')}`
  const code = error?.code
  const noKey = isMissingKey(error?.data)
  const hint = noKey
    ? ''
    : code === 'UNAUTHORIZED' && isUnconfiguredUrl(target) && !isForbidden(error?.data)
      ? sendsAuthorization(target)
        ? "\nIt did not accept the one of --header. A token is sent as: --header 'Authorization: Bearer <token>'"
        : "\nIf you have a token, add: --header 'Authorization: Bearer <token>'"
      : await missingVariablesHint(target, `${message}\n${stderrLines.join('')}`, io)
  // No connection was attempted: access to the secret has to be configured first.
  const exitCode = noKey ? ExitCode.usage : ExitCode.cannotConnect
  return new CliError(exitCode, `Cannot connect to ${target.name}: ${message}${stderr}${hint}`, {
    ...(code !== undefined && { code }),
    fixes: isAsked ? [] : fixesFor(target, isOwnLimit ? fixes.filter(isNotTimeoutFix) : fixes),
  })
}

/** Whether the server refused a request without naming credentials that it would accept, so that a token may not help. */
function isForbidden(data: unknown): boolean {
  const { status, challenge } = Object(data)
  return status === 403 && challenge === undefined
}

/** What a program that runs and does not respond may be. */
function silentHint({ server }: Target): string {
  if ('url' in server) return ''
  return ' Its program runs, but sends no MCP message on stdout. If it serves HTTP, name its URL instead of the command.'
}

function isNotTimeoutFix(fix: Fix): boolean {
  return !(fix.action === 'configure' && fix.setting === 'connectTimeoutMs')
}

/** Whether the user typed a URL, which has no entry in a configuration that could be corrected. */
function isUnconfiguredUrl({ config, server }: Target): boolean {
  return config === undefined && 'url' in server
}

function sendsAuthorization({ server }: Target): boolean {
  const names = 'url' in server ? Object.keys(server.headers ?? {}) : []
  return names.some((name) => name.toLowerCase() === 'authorization')
}

/**
 * Advice when a server that failed to start named variables that are set here but were not passed to it. Only whole words in its
 * output count; nothing is guessed.
 */
async function missingVariablesHint({ server, config }: Target, text: string, { env }: Io): Promise<string> {
  if ('url' in server) return ''
  const [{ machineVariables }, { defaultEnvironment }] = await Promise.all([
    import('@jackfield/host'),
    import('@jackfield/sdk/client/stdio'),
  ])
  const passed = machineVariables(env).flatMap(({ name, isCredential }) => (isCredential ? [] : [name]))
  const passedNames = new Set([
    ...Object.keys(defaultEnvironment()),
    ...passed,
    ...Object.keys(server.env ?? {}),
  ])
  const words = new Set(text.match(/\b[A-Za-z_]\w{2,}\b/g) ?? [])
  const missing = Object.keys(env).filter((name) => words.has(name) && !passedNames.has(name))
  if (missing.length === 0) return ''
  const head = `\nIts output names ${missing.join(', ')}, set in your environment but not passed to it.`
  if (config === undefined) {
    return `${head} Pass with: ${missing.map((name) => `--env ${name}`).join(' ')}`
  }
  const entries = missing.map((name) => `"${name}": "\${${name}}"`).join(', ')
  return `${head} Pass in the config with: "env": { ${entries} }`
}
