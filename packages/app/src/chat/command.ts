import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type Conversation,
  createConversation,
  createHost,
  type Host,
  type HostOptions,
  type Model,
  type ModelFacts,
  type Surface,
} from '@jackfield/host'
import { CliError, ExitCode } from '../cli/exit.ts'
import { failureOf } from '../cli/failure.ts'
import { followConfig } from '../cli/follow.ts'
import { createOutput, type Io, isInteractive, type Output } from '../cli/io.ts'
import { type modelsInUse, modelsToTalkTo } from '../cli/models.ts'
import { hostSettings } from '../cli/settings.ts'
import { storeFile } from '../cli/store.ts'
import { type ConfigChoice, readConfig } from '../cli/target.ts'
import { version } from '../cli/version.ts'
import { flowed } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { answersSurface, readAnswers } from '../surface/answers-file.ts'
import { terminalSurface } from '../surface/terminal.ts'
import { converse } from './chat.ts'
import { createFloor } from './floor.ts'
import { greet, tellLeft, tellServers } from './greet.ts'
import { earlierInputs, latest, takeUp } from './keep.ts'
import { jsonFace, pipedFace } from './piped-face.ts'
import type { ChatState } from './state.ts'
import { terminalFace } from './terminal-face.ts'
import { tellLate } from './view.ts'

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
  maxCalls?: number
  /** Resources that servers mean for a model go along without being chosen. Default true. */
  context?: boolean
}

/** `jackfield chat` */
export async function chat(options: ChatOptions, io: Io, output: Output): Promise<ExitCode> {
  const { config } = await readConfig(options, io, (text) => output.note(text))
  const roots = [
    ...config.roots,
    ...(options.root ?? []).map((folder) => ({ uri: pathToFileURL(resolve(io.cwd, folder)).href })),
  ]
  const models = await modelsToTalkTo(io.env, options.model, config.models)
  const answers = options.answers === undefined ? undefined : readAnswers(options.answers)
  const { store } = options
  return hold(
    {
      ...hostSettings(config, options, io),
      servers: config.servers,
      store: storeFile(options.store, io),
      roots,
    },
    models,
    answers === undefined ? undefined : (note) => answersSurface(answers, note),
    io,
    (host, note) =>
      followConfig(host, options, io, (event) => {
        if ('problem' in event) return note(plain(event.problem))
        for (const [what, names] of Object.entries(event.done))
          if (names.length > 0) note(`${what} by the configuration: ${oneLine(names.join(', '))}`)
        if (event.policy) note(`the configuration has other rules now: ${event.config.rules.length}`)
      }),
    {
      facts: config.sampling.models ?? [],
      codeMode: options.code === true,
      modelChosen: options.model !== undefined,
      json: options.json === true,
      ...(options.resume !== undefined && { resume: options.resume }),
      ...(store !== undefined && { store }),
      ...(options.maxCalls !== undefined && { maxCalls: options.maxCalls }),
      ...(options.context !== undefined && { context: options.context }),
    },
  )
}

/** How a conversation is held. */
export interface HoldOptions {
  facts?: readonly ModelFacts[]
  codeMode?: boolean
  resume?: string | true
  json?: boolean
  /** The person named the first model, so it answers also where another one did before. Default false. */
  modelChosen?: boolean
  /** The store, where it is not the usual one: questions that are left for later are answered there. */
  store?: string
  /** Tool calls that one message of the person may lead to. Default: that of a conversation. */
  maxCalls?: number
  /** Resources that servers mean for a model go along without being chosen. Default true. */
  context?: boolean
}

/** Writes a message beside the conversation: above a line that is being typed. */
type Note = (text: string) => void

/**
 * Starts a host and holds a conversation on it until the person leaves. Questions go to `surface` where one is given,
 * else to the person at the terminal, else to nobody. `begin` is called before the first word, what it gives after the last.
 * Where no person can continue it, a conversation whose last turn was cut short at a limit gives the exit code 1.
 * Rejects when `io.signal` aborts, whatever is still going on then.
 */
export async function hold(
  options: Omit<HostOptions, 'surface' | 'models'>,
  models: ReturnType<typeof modelsInUse>,
  surface: ((note: Note) => Surface) | undefined,
  io: Io,
  begin: (host: Host, note: Note) => () => void = () => () => {},
  {
    facts = [],
    codeMode = false,
    resume,
    json = false,
    modelChosen = false,
    store,
    maxCalls,
    context = true,
  }: HoldOptions = {},
): Promise<ExitCode> {
  const interactive = isInteractive(io) && !json
  const floor = createFloor()
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
    : undefined
  const interrupted = Promise.withResolvers<never>()
  interrupted.promise.catch(() => {})
  const leave = (): void => interrupted.reject(new CliError(ExitCode.interrupted, 'Interrupted.'))
  if (io.signal.aborted) leave()
  else io.signal.addEventListener('abort', leave, { once: true })
  // Nothing else renders Markdown, and its parser takes time to load.
  const flow =
    interactive && io.stdout.isTTY === true ? await import('../output/markdown-flow.ts') : undefined
  const talkFace = interactive
    ? terminalFace(io, floor, {
        ...{ leave, earlier: () => earlierInputs(host) },
        ...(flow !== undefined && { markdown: flow.MarkdownFlow }),
        ...(person !== undefined && { screen: person.screen }),
      })
    : json
      ? jsonFace(io)
      : pipedFace(io)
  const { palette } = talkFace
  const note: Note = interactive
    ? (text) => talkFace.write(`${palette.dim(flowed(text, talkFace.columns(), 0, 2))}\n`)
    : (text) => createOutput(io, false).note(text)
  const face = surface?.(note) ?? person
  await using host = createHost({
    ...options,
    ...(face !== undefined && { surface: face }),
    ...(person !== undefined && { askInput: person.askInput }),
    models: [...models],
    info: { name: 'jackfield', title: 'Jackfield', version },
  })
  const begun = (model: Model, resumed?: string): Conversation => {
    const talk = createConversation({
      ...{ host, model, codeMode },
      ...(maxCalls !== undefined && { maxCalls }),
      ...(resumed !== undefined && { resume: resumed }),
      onLate: (result) => tellLate(result, talk, talkFace),
    })
    return talk
  }
  const state: ChatState = {
    ...{ host, models, facts, attached: [], env: io.env, cwd: io.cwd, servers: options.servers },
    ...{ talk: begun(models[0]), person: face, store, context: { on: context } },
    open(resumed) {
      const before = resumed === undefined || modelChosen ? undefined : host.conversations.find(resumed).model
      return begun(models.find(({ id }) => id === before) ?? state.talk.model, resumed)
    },
  }
  const resumed = resume === true ? latest(state) : resume
  if (resumed !== undefined) host.conversations.find(resumed)
  greet(
    state.talk,
    Object.values(options.servers).filter(({ disabled }) => disabled !== true).length,
    talkFace,
  )
  await Promise.race([started(host, io.signal).then(() => person?.idle()), interrupted.promise])
  tellServers(host, talkFace)
  if (resumed !== undefined) takeUp(resumed, state, talkFace)
  const end = begin(host, note)
  try {
    const { isCut, failed } = await Promise.race([converse(state, talkFace), interrupted.promise])
    tellLeft(state, talkFace, store)
    // At a terminal, the person saw it and could go on.
    if (interactive) return ExitCode.done
    if (failed !== undefined) return failureOf(failed).exitCode
    return isCut ? ExitCode.toolError : ExitCode.done
  } finally {
    end()
  }
}

/** Waits until every server is ready or failed, but for none whose start the person put off. */
async function started(host: Host, signal: AbortSignal): Promise<void> {
  const later = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => later.resolve(), { once: true })
  const off = host.on((event) => {
    if (event.type === 'later') later.resolve()
  })
  try {
    await Promise.race([host.start(), later.promise])
  } finally {
    off()
  }
}
