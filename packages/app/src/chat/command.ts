import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { pathToFileURL } from 'node:url'
import type { ModelFacts, ServerConfig } from '@jackfield/host'
import type { HostClient, OpenOptions } from '@jackfield/host/client'
import { McpError } from '@jackfield/sdk'
import { CliError, ExitCode, usageError } from '../cli/exit.ts'
import { failureOf } from '../cli/failure.ts'
import { type OpenHost, openHost } from '../cli/host.ts'
import { createOutput, type Io, isInteractive, type Output } from '../cli/io.ts'
import { conversationModels, modelNamed, modelsInUse } from '../cli/models.ts'
import { surfaceFor } from '../cli/session.ts'
import { type ConfigChoice, readConfig } from '../cli/target.ts'
import type { ServiceOptions } from '../daemon/service.ts'
import { errorText } from '../output/fixes.ts'
import { wrapText } from '../output/flow.ts'
import { oneLine, shellWord } from '../output/sanitize.ts'
import { answerQuestions } from '../surface/answer-questions.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { type TerminalSurface, terminalSurface } from '../surface/terminal.ts'
import { ConversationDisplay, createChatNews, runConversationLoop, type SingleMessage } from './chat.ts'
import { ConversationView } from './conversation-view.ts'
import { latestConversationId, showTranscript } from './conversations.ts'
import { writeDeferred, writeGreeting, writeServers } from './greet.ts'
import { jsonSurface, pipedSurface } from './piped-surface.ts'
import type { ChatState } from './state.ts'
import type { ChatSurface } from './surface.ts'
import { TerminalLock } from './terminal-lock.ts'
import { type TerminalChatOptions, TerminalChatSurface } from './terminal-surface.ts'

/** Maximum bytes read from stdin for one message. */
const maxInputBytes = 4 * 1_048_576
/** Milliseconds after which a dialogue begins although servers are still connecting. */
const slowStartMs = 5_000

/** @throws a usage error if there is no such folder: a message behind the option is read as another one */
async function openedRoot(folder: string, { cwd }: Io): Promise<{ uri: string }> {
  const path = resolve(cwd, folder)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() === true) return { uri: pathToFileURL(path).href }
  throw usageError(
    `--root ${shellWord(oneLine(folder))}: there is no folder ${oneLine(path)}. --root takes all words up to the next option, so a message is written before it.`,
  )
}

export interface ChatOptions extends ConfigChoice {
  model?: string
  root?: string[]
  answers?: string
  /** The store, if not the default one: deferred questions are answered there. */
  store?: string
  /** Lets the model write programs that call the tools. */
  code?: boolean
  /** Resumes a stored conversation: by id, or the most recent one with `true`. */
  resume?: string | true
  /** Prints events as JSON lines. */
  json?: boolean
  /** Answers one message, with stdin added when it is not a terminal, and exits. */
  print?: boolean
  maxCalls?: number
  /** Includes resources that servers mark as important for a model. Default true. */
  context?: boolean
}

/** `jackfield chat [message …]`: with a message, answers it and exits. */
export async function chat(
  words: readonly string[],
  options: ChatOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const only = await singleMessageOf(words, options, io)
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  // A model that is unavailable is reported before anything starts.
  if (options.model !== undefined) modelsInUse(io.env, options.model, [])
  const roots = await Promise.all((options.root ?? []).map((folder) => openedRoot(folder, io)))
  return await runConversation(
    async (canAsk, note) => {
      // Options of this command alone do not apply to a shared host; and in a run without a user, nothing may wait for an answer.
      const isLocal = !canAsk || answers !== undefined || roots.length > 0
      const localOptions = async (): Promise<ServiceOptions> => {
        const models = await conversationModels(io.env, options.model, config.models)
        return {
          config,
          models: [...models],
          findModel: (id) => (id === options.model ? models[0] : modelNamed(io.env, id)[0]),
          roots: [...config.roots, ...roots],
          ...(answers !== undefined && { surface: answersSurface(answers, note) }),
          ...(answers === undefined && !canAsk && { surface: { name: 'nobody', show: {} } }),
        }
      }
      return await openHost(options, 'jackfield chat', io, { isLocal, localOptions })
    },
    io,
    {
      ...options,
      servers: config.servers,
      facts: config.sampling.models ?? [],
      asksPerson: answers === undefined,
      open: {
        context: false,
        ...(options.model !== undefined && { model: options.model }),
        ...(options.code === true && { code: true }),
        ...(options.maxCalls !== undefined && { maxCalls: options.maxCalls }),
      },
      ...(only !== undefined && { only }),
    },
  )
}

/** The message from the command line and stdin; undefined for an interactive conversation. */
async function singleMessageOf(
  words: readonly string[],
  { print }: ChatOptions,
  io: Io,
): Promise<ConversationOptions['only']> {
  const message = words.join(' ')
  if (print !== true) return words.length === 0 ? undefined : { message }
  const input = io.stdin.isTTY === true ? '' : await readStdin(io)
  if (message.trim() === '' && input.trim() === '')
    throw usageError('There is no message. Give it as in: jackfield chat --print "say hi", or on stdin.')
  return { message, ...(input.trim() !== '' && { input }) }
}

/** Reads stdin, up to more than any model accepts. */
async function readStdin({ stdin, signal }: Io): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of addAbortSignal(signal, stdin)) {
    const bytes = Buffer.from(piece)
    size += bytes.length
    if (size > maxInputBytes)
      throw usageError(
        `stdin has more than ${maxInputBytes / 1_048_576} MiB, which is too large for a message.`,
      )
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString()
}

/** Options of `runConversation`. */
export interface ConversationOptions extends Pick<ChatOptions, 'resume' | 'json' | 'store' | 'context'> {
  /** The configured servers, by name. */
  servers: Readonly<Record<string, ServerConfig>>
  facts?: readonly ModelFacts[]
  /** How conversations are opened. A model given here also answers in conversations that used another one. */
  open?: Omit<OpenOptions, 'id'>
  /** Asks the user at this terminal; false when the host already has something that answers. Default true. */
  asksPerson?: boolean
  /** Answers this one message and exits: the line as typed, and text sent to the model with it. */
  only?: SingleMessage & { readonly message: string }
}

/** Prints a message outside the conversation: above the input line. */
type Note = (text: string) => void

/**
 * Runs a chat on a host until the user leaves. `host` opens the host; `canAsk`: whether this terminal answers questions.
 * Returns exit code 1 when the last turn of a non-interactive conversation reached a limit. Rejects when `io.signal` aborts; on a
 * shared host, running work continues.
 */
export async function runConversation(
  host: (canAsk: boolean, note: Note) => Promise<OpenHost>,
  io: Io,
  options: ConversationOptions,
): Promise<ExitCode> {
  const { servers, facts = [], open: openOptions = {}, resume, store, context = true, only } = options
  const interactive = isInteractive(io) && options.json !== true && only === undefined
  const interrupted = Promise.withResolvers<never>()
  interrupted.promise.catch(() => {})
  const exit = (): void => interrupted.reject(new CliError(ExitCode.interrupted, 'Interrupted.'))
  if (io.signal.aborted) exit()
  else io.signal.addEventListener('abort', exit, { once: true })
  let earlier: readonly string[] = []
  const { surface, person } = interactive
    ? await terminalSurfaces(io, options, { exit, earlier: () => earlier })
    : pipeSurfaces(io, options)
  const answers = options.asksPerson === false ? undefined : person
  const notes = surface.notes ?? surface
  const note: Note = interactive
    ? (text) => surface.write(`${surface.palette.dim(wrapText(text, surface.columns(), 0, 2))}\n`)
    : (text) => createOutput(io, false).note(text)
  await using opened = await host(answers !== undefined, note)
  const { client, isShared } = opened
  const id = resume === undefined ? undefined : await storedConversationId(resume, client)
  const openView = (opening: OpenOptions): Promise<ConversationView> =>
    ConversationView.open(client, opening, (event) => display.show(event))
  const conversation = await openView({ ...openOptions, ...(id !== undefined && { id }) })
  const state: ChatState = {
    ...{ client, conversation, facts, servers, store, isShared, person: answers },
    ...{ context: { on: context }, leaving: io.signal, cwd: io.cwd, env: io.env },
    async open({ id } = {}) {
      const { model: _model, ...others } = openOptions
      const isChosen = openOptions.model !== undefined || id === undefined
      const model = isChosen ? { model: state.conversation.info.model } : {}
      const next = await openView({ ...others, ...model, ...(id !== undefined && { id }) })
      state.conversation.close()
      state.conversation = next
      answering?.refresh()
    },
  }
  const deferred = Promise.withResolvers<void>()
  const answering =
    answers === undefined
      ? undefined
      : await answerQuestions(client, answers, {
          // Questions of a conversation appear only where it is shown.
          isMine: ({ question: { cause } }) =>
            cause.conversation === undefined || cause.conversation === state.conversation.id,
          onDeferred: deferred.resolve,
          note,
        })
  if (only === undefined)
    writeGreeting(
      conversation,
      Object.values(servers).filter(({ disabled }) => disabled !== true).length,
      notes,
    )
  const started = startServers(client, io, deferred.promise, only === undefined, note)
  await Promise.race([started.then(() => answering?.settled()), interrupted.promise])
  await writeServers(state, notes, only === undefined)
  const news = createChatNews(state, notes)
  const display = new ConversationDisplay(state, surface, news)
  if (id === undefined) conversation.show()
  else await showTranscript(state, notes)
  if (interactive) earlier = await client.call('conversations.inputs', {})
  const off = client.onState(reattachOnReplacement(state, note))
  try {
    const { isCut, failed } = await Promise.race([
      runConversationLoop(state, surface, display, news, only),
      interrupted.promise,
    ])
    await writeDeferred(state, notes)
    // On a terminal the user has seen the limit and could continue.
    if (interactive) return ExitCode.done
    if (failed !== undefined) return failureOf(failed).exitCode
    return isCut ? ExitCode.toolError : ExitCode.done
  } finally {
    off()
    answering?.stop()
    state.conversation.close()
  }
}

/** Where a conversation is shown, and the user who can answer questions about it. */
interface Surfaces {
  readonly surface: ChatSurface
  readonly person: TerminalSurface | undefined
}

async function terminalSurfaces(
  io: Io,
  { store }: ConversationOptions,
  options: Pick<TerminalChatOptions, 'exit' | 'earlier'>,
): Promise<Surfaces> {
  const lock = new TerminalLock()
  const person = terminalSurface({
    ...{ input: io.stdin, output: io.stdout, env: io.env, message: lock },
    onInterrupt: () => io.interrupt(),
    onAsking: (begins) => lock.setAsking(begins),
    ...(store !== undefined && { store }),
  })
  // Loaded on demand: only this command renders Markdown, and the parser is slow to load.
  const flow = io.stdout.isTTY === true ? await import('../output/markdown-flow.ts') : undefined
  const surface = new TerminalChatSurface(io, lock, {
    ...{ ...options, screen: person.screen },
    ...(flow !== undefined && { markdown: flow.MarkdownFlow }),
  })
  return { surface, person }
}

function pipeSurfaces(io: Io, { json = false, only, store }: ConversationOptions): Surfaces {
  if (json) return { surface: jsonSurface(io, only?.message), person: undefined }
  const person = only === undefined ? undefined : surfaceFor(io, store === undefined ? {} : { store })
  return { surface: pipedSurface(io, only?.message), person }
}

/** Starts the servers. Those whose start the user deferred are not awaited, and in a dialogue slow ones only for a while. */
async function startServers(
  client: HostClient,
  { signal }: Io,
  deferred: Promise<void>,
  isDialogue: boolean,
  note: Note,
): Promise<void> {
  const started = client
    .call('servers.start', {}, { signal })
    .catch((error: unknown) => note(`! ${errorText(error)}`))
  const slow = Promise.withResolvers<void>()
  const timer = isDialogue ? setTimeout(slow.resolve, slowStartMs) : undefined
  await Promise.race([started, deferred, slow.promise])
  clearTimeout(timer)
}

/** Reports that the host process ended, and continues on its replacement. */
function reattachOnReplacement(state: ChatState, note: Note): Parameters<HostClient['onState']>[0] {
  let isLost = false
  return (now) => {
    if (now.state === 'connecting') {
      if (!isLost) note('! The host process ended. Another one is started; the conversation continues there.')
      isLost = true
    }
    if (now.state !== 'connected') return
    isLost = false
    if (now.isKnown) return
    const { conversation } = state
    conversation
      .reopen()
      .catch(async (error: unknown) => {
        // An empty conversation was never stored.
        if (!conversation.isEmpty) throw error
        await state.open()
        state.conversation.show()
      })
      .then(
        () => note('The host process runs again.'),
        (error: unknown) => note(`! ${errorText(error)}`),
      )
  }
}

/** The conversation named by `--resume`. @throws CliError if there is none */
async function storedConversationId(resume: string | true, client: HostClient): Promise<string> {
  try {
    return resume === true
      ? await latestConversationId(client)
      : (await client.call('conversations.find', { id: resume })).id
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw usageError(`${error.message} /resume in jackfield chat lists the saved conversations.`)
  }
}
