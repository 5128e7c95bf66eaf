import { randomUUID } from 'node:crypto'
import type { AttachedResource, Turn } from '@jackfield/host'
import type { HostClient, ServerRow, UserMessage } from '@jackfield/host/client'
import { McpError, RpcError, type SamplingMessage } from '@jackfield/sdk'
import { CliError, ExitCode } from '../cli/exit.ts'
import { fixesIn, withFixLines } from '../output/fixes.ts'
import { wrapText } from '../output/flow.ts'
import { allowAdvice } from '../output/rules.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { attach, attachedCopies, attachedLine } from './attachments.ts'
import { callLine } from './calls.ts'
import { commandNames, runCommand } from './commands.ts'
import { completions } from './complete.ts'
import { includeContext } from './context.ts'
import type { ConversationEvent } from './conversation-view.ts'
import { idLength, messageText } from './conversations.ts'
import { suggestMessage } from './greet.ts'
import { createNews, followNews, type News } from './news.ts'
import { parseLine } from './slash.ts'
import type { ChatState } from './state.ts'
import { contextAdvice, statusLine } from './status.ts'
import { type ChatSurface, writeModelText } from './surface.ts'
import { mentionsIn } from './typeahead.ts'
import { createTurnView, type TurnView, writeLateResult } from './view.ts'

/** End states of a turn with unfinished work. */
const cutStopReasons: readonly Turn['stopReason'][] = ['maxCalls', 'maxTurns', 'maxTokens']
/** Characters shown of the content sent with a message from another client. */
const maxMessageCharacters = 1_000

/** How a conversation ended, for the exit code of a non-interactive run. */
export interface ConversationEnd {
  /** The last turn reached a limit. */
  readonly isCut: boolean
  /** The first failure of a model; with a single message, any failure. */
  readonly failed: Error | undefined
}

/** The single message of a non-interactive conversation: the line read by the surface, with this text added. */
export interface SingleMessage {
  /** Sent to the model unchanged: commands and mentions in it are ignored. */
  readonly input?: string | undefined
}

/** A turn started in this terminal. */
interface LocalTurn {
  readonly message: string
  readonly signal: AbortSignal
  /** Model text since the last call, when answers and notes go to different streams. */
  text: string
  isDenied: boolean
}

/** Shows the conversations of one chat: turns started here, and turns started by other clients. */
export class ConversationDisplay {
  readonly #state: ChatState
  readonly #surface: ChatSurface
  readonly #notes: ChatSurface
  readonly #news: News
  #localTurn: LocalTurn | undefined
  #turnView: TurnView | undefined
  /** Messages sent from this terminal. */
  readonly #sent = new Set<string>()

  constructor(state: ChatState, surface: ChatSurface, news: News) {
    this.#state = state
    this.#surface = surface
    this.#notes = surface.notes ?? surface
    this.#news = news
  }

  /** Registers a turn of this terminal, so that its events are drawn as such. */
  registerTurn(own: LocalTurn): void {
    this.#sent.add(own.message)
    this.#localTurn = own
  }

  /** Marks the turn of this terminal as finished, also when its host ended before the final event. */
  finishTurn(): void {
    if (this.#runningLocalTurn !== undefined) {
      this.#turnView?.end(undefined)
      this.#turnView = undefined
    }
    this.#localTurn = undefined
  }

  show(event: ConversationEvent): void {
    const notes = this.#notes
    const { palette } = notes
    switch (event.type) {
      case 'turn': {
        const signal = this.#localTurnOf(event.message)?.signal ?? new AbortController().signal
        this.#turnView = createTurnView(
          notes,
          this.#state.conversation.info.model,
          () => performance.now(),
          signal,
        )
        return
      }
      case 'user-message':
        if (event.message === undefined || !this.#sent.has(event.message))
          this.#writeUserMessage(event.content)
        return
      case 'attachment':
        if (event.message === undefined || !this.#sent.has(event.message)) this.#writeAttached(event.attached)
        return
      case 'text':
        this.#writeText(event.text)
        return
      case 'call': {
        const own = this.#runningLocalTurn
        this.#writeNote(own)
        const { call } = event
        if (call.type === 'end' && call.denied && call.decision?.verdict === 'ask' && own !== undefined)
          own.isDenied = true
        if (this.#turnView !== undefined) this.#turnView.call(call)
        else if (call.type === 'start') notes.write(`${callLine(call, palette)}\n`)
        return
      }
      case 'progress':
        this.#showProgress(event)
        return
      case 'wait':
        this.#turnView?.wait(event.wait)
        return
      case 'late-result':
        writeLateResult(event.call, notes)
        return
      case 'summary':
        this.#surface.write(
          'The model continues with the summary. The full conversation stays stored: /save writes it.\n',
        )
        return
      case 'attached':
        this.#news.attachedChanged().catch(() => {})
        return
      case 'end': {
        const { stopReason, callsNotRun, fault } = event.info
        const own = this.#localTurnOf(event.message)
        if (own !== undefined && own.text !== '') {
          writeModelText(own.text, this.#surface)
          own.text = ''
        }
        this.#turnView?.end({
          ...(stopReason !== undefined && { stopReason }),
          ...(callsNotRun !== undefined && { callsNotRun }),
        })
        this.#turnView = undefined
        // A failure of a turn of this terminal is shown by the code that awaits the turn.
        if (own === undefined && fault !== undefined && !this.#sent.has(event.message ?? ''))
          notes.write(
            `${palette.red(wrapText(withFixLines(plain(fault.message), fault.fixes ?? []), notes.columns(), 0, 2))}\n`,
          )
      }
    }
  }

  /** The turn of this terminal while it runs. */
  get #runningLocalTurn(): LocalTurn | undefined {
    return this.#localTurnOf(this.#state.conversation.info.message)
  }

  #localTurnOf(message: string | undefined): LocalTurn | undefined {
    return this.#localTurn?.message === message ? this.#localTurn : undefined
  }

  /** Messages sent from another terminal or program. */
  #writeUserMessage(message: SamplingMessage): void {
    const words = messageText(message)
    if (words === '' || this.#surface.live === undefined) return
    const { palette } = this.#notes
    const shown = words.length > maxMessageCharacters ? `${words.slice(0, maxMessageCharacters)}…` : words
    this.#notes.write(`${palette.green('you')} › ${plain(shown).replaceAll('\n', '\n      ')}\n`)
  }

  /** A resource sent with such a message. */
  #writeAttached(attached: AttachedResource): void {
    if (this.#surface.live === undefined) return
    const line = wrapText(attachedLine(attached), this.#notes.columns(), 0, 2)
    this.#notes.write(`${this.#notes.palette.dim(line)}\n`)
  }

  #writeText(text: string): void {
    const own = this.#runningLocalTurn
    if (own !== undefined && this.#surface.notes !== undefined) own.text += text
    else if (this.#turnView !== undefined) this.#turnView.text(text)
    // Another program runs a turn in the same conversation.
    else if (this.#surface.live !== undefined) writeModelText(text, this.#surface)
  }

  /** When answers go to another stream than notes, model text before a call is a note. */
  #writeNote(own: LocalTurn | undefined): void {
    if (own === undefined || own.text === '') return
    this.#turnView?.text(own.text)
    own.text = ''
  }

  #showProgress({ name, progress }: Extract<ConversationEvent, { type: 'progress' }>): void {
    if (progress === undefined) {
      this.#turnView?.showProgress('running')
      return
    }
    const { total, message } = progress
    const of = total === undefined ? '' : ` of ${total}`
    const state = `${progress.progress}${of}${message === undefined ? '' : ` ${oneLine(message)}`}`
    if (this.#turnView?.showProgress(state) !== true)
      this.#news.add({ type: 'progress', name, ...progress }).catch(() => {})
  }
}

/** Shows events outside the conversation. */
export function createChatNews(state: ChatState, notes: ChatSurface): News {
  const print = (text: string): void =>
    notes.write(`${notes.palette.dim(wrapText(text, notes.columns(), 0, 2))}\n`)
  const source = {
    tools: () => state.client.call('catalog.tools', {}),
    connecting: async () => {
      const rows = await state.client.call('servers.list', {})
      const isComing = ({ connection: { state: now } }: ServerRow): boolean =>
        now === 'connecting' || now === 'reconnecting'
      return new Set(rows.filter(isComing).map(({ name }) => name))
    },
    attached: () => attachedCopies(state),
  }
  return createNews(source, print)
}

/** Runs a conversation until the user leaves. */
export async function runConversationLoop(
  state: ChatState,
  surface: ChatSurface,
  screen: ConversationDisplay,
  news: News,
  only?: SingleMessage,
): Promise<ConversationEnd> {
  const { client } = state
  const { palette } = surface
  const notes = surface.notes ?? surface
  let isCut = false
  let failed: Error | undefined
  const off = followNews(client, news)
  const complete = async (line: string): Promise<[string[], string]> =>
    await completions(line, await commandNames(client), state)
  try {
    for (;;) {
      try {
        const suggestion = state.conversation.isEmpty ? await suggestMessage(state) : undefined
        if (surface.live !== undefined)
          surface.write(`${await statusLine(state, palette, surface.columns())}\n`)
        const line = await surface.readLine(`${palette.green('you')} › `, {
          ...{ complete, isMessage: true },
          ...(suggestion !== undefined && { suggestion }),
        })
        if (line === undefined) return { isCut, failed }
        const outcome = await handleLine(line, only?.input, state, surface, screen)
        if (outcome === 'leave') return { isCut, failed }
        if (outcome !== undefined) isCut = cutStopReasons.includes(outcome.stopReason)
      } catch (error) {
        if (!isExpected(error)) throw error
        if (only !== undefined || isModelFailure(error)) failed ??= error
        showError(error, notes, only !== undefined)
        if (client.state.state === 'closed') return { isCut, failed }
      }
    }
  } finally {
    off()
  }
}

async function handleLine(
  line: string,
  input: string | undefined,
  state: ChatState,
  surface: ChatSurface,
  screen: ConversationDisplay,
): Promise<'leave' | Turn | undefined> {
  const typed = parseLine(line)
  const more = input === undefined ? [] : [userText(input)]
  if (typed.kind === 'empty')
    return more.length === 0 ? undefined : await sendMessage({ messages: more }, '', state, surface, screen)
  if (typed.kind === 'words') {
    const servers = (await state.client.call('servers.list', {})).map(({ name }) => name)
    const refs = mentionsIn(typed.text, servers)
    if (refs.length > 0) await attach(refs, state, surface.notes ?? surface)
    return await sendMessage(
      { messages: [userText(typed.text), ...more] },
      typed.text,
      state,
      surface,
      screen,
    )
  }
  const { signal, done } = surface.startTurn()
  let outcome: Awaited<ReturnType<typeof runCommand>>
  try {
    outcome = await runCommand(typed.name, typed.words, state, surface, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    surface.write(`${surface.palette.yellow('Stopped.')}\n`)
    return undefined
  } finally {
    done()
  }
  if (outcome.kind === 'leave') return 'leave'
  return outcome.kind === 'say'
    ? await sendMessage({ messages: [...outcome.messages, ...more] }, line, state, surface, screen)
    : undefined
}

function userText(text: string): SamplingMessage {
  return { role: 'user', content: { type: 'text', text } }
}

/**
 * Runs one turn: sends the attachments with the message and streams the answer. When answers go to another stream than notes,
 * model text before a call is a note. If a turn of another client is running, this one is queued; Ctrl+C then cancels it and puts
 * `typed` back into the line.
 */
async function sendMessage(
  message: UserMessage,
  typed: string,
  state: ChatState,
  surface: ChatSurface,
  screen: ConversationDisplay,
): Promise<Turn | undefined> {
  const { client, conversation } = state
  const { id } = conversation
  const { signal, done } = surface.startTurn()
  const notes = surface.notes ?? surface
  try {
    await includeContext(state, notes, signal)
  } catch (error) {
    done()
    if (!signal.aborted) throw error
    notes.write(`${notes.palette.yellow('Stopped.')}\n`)
    return undefined
  }
  const localTurn: LocalTurn = { message: randomUUID(), signal, text: '', isDenied: false }
  let isCancelled = false
  const stop = (): void => {
    // On a shared host, a turn continues after this program ends.
    if (state.leaving.aborted) return
    cancelMessage(client, id, localTurn.message).catch(() => {})
  }
  signal.addEventListener('abort', stop, { once: true })
  if (conversation.isBusy)
    notes.write(
      `${notes.palette.dim(wrapText('Another message is being answered; this one is sent afterwards. Ctrl+C cancels it.', notes.columns(), 0, 2))}\n`,
    )
  screen.registerTurn(localTurn)
  let turn: Turn | null
  try {
    turn = await client.call('conversations.say', { id, input: message, message: localTurn.message })
    isCancelled = turn === null
    if (isCancelled) notes.write(`${notes.palette.yellow('It was not sent.')}\n`)
  } finally {
    signal.removeEventListener('abort', stop)
    screen.finishTurn()
    done(isCancelled ? typed : undefined)
  }
  if (turn === null) return undefined
  surface.emit?.({ type: 'turn', ...turn })
  if (localTurn.isDenied && state.person === undefined) notes.write(`${notes.palette.yellow(allowAdvice)}\n`)
  const advice = contextAdvice(state)
  if (advice !== undefined) notes.write(`${notes.palette.yellow(wrapText(advice, notes.columns()))}\n`)
  return turn
}

/** Cancels a message that is still queued; otherwise stops the turn that answers it. */
async function cancelMessage(client: HostClient, id: string, message: string): Promise<void> {
  if (!(await client.call('conversations.unqueue', { id, message })))
    await client.call('conversations.stop', { id })
}

function showError(error: Error, surface: ChatSurface, isSingleMessage: boolean): void {
  const explained = conflictMessage(error, isSingleMessage) ?? hostEndedMessage(error)
  const message = explained ?? plain(error.message)
  const fixes = explained === undefined ? fixesIn(error) : []
  if (surface.emit !== undefined) surface.emit({ type: 'error', message, ...(fixes.length > 0 && { fixes }) })
  else
    surface.write(`${surface.palette.red(wrapText(withFixLines(message, fixes), surface.columns(), 0, 2))}\n`)
}

/** What to do when another window has continued the conversation; undefined for every other error. */
function conflictMessage(error: Error, isOneMessage: boolean): string | undefined {
  const id = error instanceof McpError ? error.details['conversation'] : undefined
  if (typeof id !== 'string') return undefined
  const short = id.slice(0, idLength)
  const head = 'This conversation was continued in another window, so your message was not added.'
  return isOneMessage
    ? `${head} To send it after the messages added there: jackfield chat --resume ${short} "…"`
    : `${head} /resume ${short} shows the messages added there and continues here. /fork continues in a copy; the other window keeps ${short}.`
}

/** The partial answer of a host process that ended. */
function hostEndedMessage(error: Error): string | undefined {
  if (!(error instanceof McpError) || error.code !== 'OUTCOME_UNKNOWN' || 'server' in error.details)
    return undefined
  return 'The host process ended before this was done. Everything up to then is stored; say "go on" to continue.'
}

/** Whether the error is a failure of a model. */
function isModelFailure(error: Error): boolean {
  return error instanceof CliError && error.exitCode === ExitCode.toolError && error.code !== undefined
}

/** Failures the user can act on. Any other error is a defect and ends the chat. */
function isExpected(error: unknown): error is Error {
  return (
    error instanceof CliError ||
    error instanceof McpError ||
    error instanceof RpcError ||
    (error instanceof Error && error.name === 'AbortError')
  )
}
