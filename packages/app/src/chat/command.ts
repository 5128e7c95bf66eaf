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
import { modelNamed, modelsInUse, modelsToTalkTo } from '../cli/models.ts'
import { surfaceFor } from '../cli/session.ts'
import { type ConfigChoice, readConfig } from '../cli/target.ts'
import type { ServiceOptions } from '../daemon/service.ts'
import { errorText } from '../output/fixes.ts'
import { flowed } from '../output/flow.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { answerQuestions } from '../surface/remote.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { converse, newsOf, type OneMessage, Screen } from './chat.ts'
import { ConversationView } from './conversation-view.ts'
import { latest, showTranscript } from './conversations.ts'
import { greet, writeDeferred, writeServers } from './greet.ts'
import { jsonSurface, pipedSurface } from './piped-surface.ts'
import type { ChatState } from './state.ts'
import { createTerminalLock } from './terminal-lock.ts'
import { terminalChatSurface } from './terminal-surface.ts'

/** Bytes of stdin that one message takes. */
const maxInput = 4 * 1_048_576

export interface ChatOptions extends ConfigChoice {
  model?: string
  root?: string[]
  answers?: string
  store?: string
  /** The model may write programs over the tools. */
  code?: boolean
  /** Goes on with a kept conversation: its id, or true for the one that was last spoken in. */
  resume?: string | true
  /** Events as lines of JSON, for programs. */
  json?: boolean
  /** Answers one message, with what stdin has where it is no terminal, and leaves. */
  print?: boolean
  maxCalls?: number
  /** Resources that servers mean for a model go along without being chosen. Default true. */
  context?: boolean
}

/** `jackfield chat [message …]`: with a message, answers it and leaves. */
export async function chat(
  words: readonly string[],
  options: ChatOptions,
  io: Io,
  output: Output,
): Promise<ExitCode> {
  const only = await onlyMessage(words, options, io)
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  // A model that cannot be had is an error before anything is started.
  if (options.model !== undefined) modelsInUse(io.env, options.model, [])
  const roots = (options.root ?? []).map((folder) => ({ uri: pathToFileURL(resolve(io.cwd, folder)).href }))
  const { store } = options
  return await runConversation(
    async (asks, note) => {
      // What holds for this command alone, a host that others use cannot have; without a person, nothing of it may wait for one.
      const isOwn = !asks || answers !== undefined || roots.length > 0
      const here = async (): Promise<ServiceOptions> => {
        const models = await modelsToTalkTo(io.env, options.model, config.models)
        return {
          config,
          models: [...models],
          findModel: (id) => (id === options.model ? models[0] : modelNamed(io.env, id)[0]),
          roots: [...config.roots, ...roots],
          ...(answers !== undefined && { surface: answersSurface(answers, note) }),
          ...(answers === undefined && !asks && { surface: { name: 'nobody', show: {} } }),
        }
      }
      return await openHost(options, 'jackfield chat', io, { isOwn, here })
    },
    io,
    {
      servers: config.servers,
      facts: config.sampling.models ?? [],
      json: options.json === true,
      asksPerson: answers === undefined,
      open: {
        context: false,
        ...(options.model !== undefined && { model: options.model }),
        ...(options.code === true && { code: true }),
        ...(options.maxCalls !== undefined && { maxCalls: options.maxCalls }),
      },
      ...(only !== undefined && { only }),
      ...(options.resume !== undefined && { resume: options.resume }),
      ...(store !== undefined && { store }),
      ...(options.context !== undefined && { context: options.context }),
    },
  )
}

/** The message on the command line and what stdin adds to it; undefined where a conversation is held. */
async function onlyMessage(
  words: readonly string[],
  { print }: ChatOptions,
  io: Io,
): Promise<ConversationOptions['only']> {
  const message = words.join(' ')
  if (print !== true) return words.length === 0 ? undefined : { message }
  const input = io.stdin.isTTY === true ? '' : await wholeInput(io)
  if (message.trim() === '' && input.trim() === '')
    throw usageError('There is no message. Give it as in: jackfield chat --print "say hi", or on stdin.')
  return { message, ...(input.trim() !== '' && { input }) }
}

/** Everything on stdin, up to a size that is beyond what a model takes. */
async function wholeInput({ stdin, signal }: Io): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of addAbortSignal(signal, stdin)) {
    const bytes = Buffer.from(piece)
    size += bytes.length
    if (size > maxInput)
      throw usageError(`stdin has more than ${maxInput / 1_048_576} MiB, which is too large for a message.`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString()
}

/** How a conversation is held. */
export interface ConversationOptions {
  /** The configured servers, by name. */
  servers: Readonly<Record<string, ServerConfig>>
  facts?: readonly ModelFacts[]
  /** How conversations are opened. Where it names a model, that answers also where another one did before. */
  open?: Omit<OpenOptions, 'id'>
  resume?: string | true
  json?: boolean
  /** The person at the terminal is asked; otherwise the host was given who answers. Default true. */
  asksPerson?: boolean
  /** The store, where it is not the usual one: questions that are left for later are answered there. */
  store?: string
  /** Resources that servers mark as important for a model are included without being chosen. Default true. */
  context?: boolean
  /** Answers this one message and leaves: the line as it would be typed, and text that goes with it to the model. */
  only?: OneMessage & { readonly message: string }
}

/** Writes a message beside the conversation: above a line that is being typed. */
type Note = (text: string) => void

/**
 * Holds a conversation on a host until the person leaves. `host`: opens it; `asks` says whether a person at this terminal
 * answers questions. Where no person can continue it, a conversation whose last turn was cut short at a limit gives the exit
 * code 1. Rejects when `io.signal` aborts; on a shared host, what is under way continues.
 */
export async function runConversation(
  host: (asks: boolean, note: Note) => Promise<OpenHost>,
  io: Io,
  {
    servers,
    facts = [],
    open: openOptions = {},
    resume,
    json = false,
    asksPerson = true,
    store,
    context = true,
    only,
  }: ConversationOptions,
): Promise<ExitCode> {
  const interactive = isInteractive(io) && !json && only === undefined
  const floor = createTerminalLock()
  const person = interactive
    ? terminalSurface({
        input: io.stdin,
        output: io.stdout,
        env: io.env,
        onInterrupt: () => io.interrupt(),
        onAsking: (begins) => floor.asking(begins),
        message: floor,
        ...(store !== undefined && { store }),
      })
    : only === undefined || json
      ? undefined
      : surfaceFor(io, store === undefined ? {} : { store })
  const answers = asksPerson ? person : undefined
  const interrupted = Promise.withResolvers<never>()
  interrupted.promise.catch(() => {})
  const exit = (): void => interrupted.reject(new CliError(ExitCode.interrupted, 'Interrupted.'))
  if (io.signal.aborted) exit()
  else io.signal.addEventListener('abort', exit, { once: true })
  let earlier: readonly string[] = []
  // Nothing else renders Markdown, and its parser takes time to load.
  const flow =
    interactive && io.stdout.isTTY === true ? await import('../output/markdown-flow.ts') : undefined
  const surface = interactive
    ? terminalChatSurface(io, floor, {
        ...{ exit, earlier: () => earlier },
        ...(flow !== undefined && { markdown: flow.MarkdownFlow }),
        ...(person !== undefined && { screen: person.screen }),
      })
    : json
      ? jsonSurface(io, only?.message)
      : pipedSurface(io, only?.message)
  const { palette } = surface
  const notes = surface.notes ?? surface
  const note: Note = interactive
    ? (text) => surface.write(`${palette.dim(flowed(text, surface.columns(), 0, 2))}\n`)
    : (text) => createOutput(io, false).note(text)
  await using opened = await host(answers !== undefined, note)
  const { client, isShared } = opened
  const id = resume === undefined ? undefined : await storedId(resume, client)
  const conversation = await ConversationView.open(
    client,
    { ...openOptions, ...(id !== undefined && { id }) },
    (event) => screen.show(event),
  )
  const state: ChatState = {
    ...{ client, conversation, facts, servers, store, isShared, person: answers },
    ...{ context: { on: context }, leaving: io.signal, cwd: io.cwd, env: io.env },
    async open({ id } = {}) {
      const { model: _model, ...options } = openOptions
      const isChosen = openOptions.model !== undefined || id === undefined
      const model = isChosen ? { model: state.conversation.info.model } : {}
      const next = await ConversationView.open(
        client,
        { ...options, ...model, ...(id !== undefined && { id }) },
        (event) => screen.show(event),
      )
      state.conversation.close()
      state.conversation = next
      answering?.refresh()
    },
  }
  const later = Promise.withResolvers<void>()
  const answering =
    answers === undefined
      ? undefined
      : await answerQuestions(client, answers, {
          // Questions of other conversations are put where these are shown.
          isMine: ({ question: { cause } }) =>
            cause.conversation === undefined || cause.conversation === state.conversation.id,
          onDeferred: later.resolve,
          note,
        })
  if (only === undefined)
    greet(conversation, Object.values(servers).filter(({ disabled }) => disabled !== true).length, notes)
  const started = client
    .call('servers.start', {}, { signal: io.signal })
    .catch((error: unknown) => note(`! ${errorText(error)}`))
  await Promise.race([
    // No start is waited for that the person put off.
    Promise.race([started, later.promise]).then(() => answering?.settled()),
    interrupted.promise,
  ])
  await writeServers(state, notes, only === undefined)
  const news = newsOf(state, notes)
  const screen = new Screen(state, surface, news)
  if (id === undefined) conversation.show()
  else await showTranscript(state, notes)
  if (interactive) earlier = await client.call('conversations.inputs', {})
  const off = client.onState(reattaching(state, note))
  try {
    const { isCut, failed } = await Promise.race([
      converse(state, surface, screen, news, only),
      interrupted.promise,
    ])
    await writeDeferred(state, notes)
    // At a terminal, the person saw it and could go on.
    if (interactive) return ExitCode.done
    if (failed !== undefined) return failureOf(failed).exitCode
    return isCut ? ExitCode.toolError : ExitCode.done
  } finally {
    off()
    answering?.stop()
    state.conversation.close()
  }
}

/** Says where the host process ended, and continues at the one that takes its place. */
function reattaching(state: ChatState, note: Note): Parameters<HostClient['onState']>[0] {
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
        // Where nothing was said, nothing was stored.
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

/** The conversation that `--resume` names. @throws CliError where there is none */
async function storedId(resume: string | true, client: HostClient): Promise<string> {
  try {
    return resume === true
      ? await latest(client)
      : (await client.call('conversations.find', { id: resume })).id
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    throw usageError(`${error.message} /resume in jackfield chat lists the saved conversations.`)
  }
}
