import { randomUUID } from 'node:crypto'
import type { AttachedResource, Turn } from '@jackfield/host'
import type { HostClient, Saying, ServerRow } from '@jackfield/host/client'
import { McpError, RpcError, type SamplingMessage } from '@jackfield/sdk'
import { CliError, ExitCode } from '../cli/exit.ts'
import { fixesIn, withFixLines } from '../output/fixes.ts'
import { flowed } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { mentionsIn } from './attach.ts'
import { attach, attachedLine, copiesOf } from './attached.ts'
import { describeCall } from './calls.ts'
import { commandNames, runCommand } from './commands.ts'
import { completions } from './complete.ts'
import { includeContext } from './context.ts'
import type { TalkEvent } from './conversation-view.ts'
import { idLength, wordsOf } from './conversations.ts'
import { introduction } from './greet.ts'
import { createNews, followNews, type News } from './news.ts'
import { readLine } from './slash.ts'
import type { ChatState } from './state.ts'
import { fullness, statusLine } from './status.ts'
import { type ChatSurface, writeModelText } from './surface.ts'
import { type TurnView, turnView, writeLateResult } from './view.ts'

const howToAllow =
  'A call was refused because it needs approval, and no person can be asked here. To allow it, add a rule with the verdict "allow" to the config (jackfield.rules), give --answers <file> with "approvals" (jackfield options), or use a terminal.'

/** End states of a turn with unfinished work. */
const cutShort: readonly Turn['stopReason'][] = ['maxCalls', 'maxTurns', 'maxTokens']
/** Characters shown of the content sent with a message from another client. */
const maxShown = 1_000

/** How a conversation ended, for the exit code of a non-interactive run. */
export interface ConversationEnd {
  /** The last turn reached a limit. */
  readonly isCut: boolean
  /** The first failure of a model; with a single message, any failure. */
  readonly failed: Error | undefined
}

/** The single message of a non-interactive conversation: the line read by the surface, with this text added. */
export interface OneMessage {
  /** Sent to the model unchanged: commands and mentions in it are ignored. */
  readonly input?: string | undefined
}

/** A turn started in this terminal. */
interface OwnTurn {
  readonly message: string
  readonly signal: AbortSignal
  /** Model text since the last call, when answers and notes go to different streams. */
  text: string
  isRefused: boolean
}

/** Shows the conversations of one chat: turns started here, and turns started by other clients. */
export class Screen {
  readonly #state: ChatState
  readonly #surface: ChatSurface
  readonly #notes: ChatSurface
  readonly #news: News
  #own: OwnTurn | undefined
  #view: TurnView | undefined
  /** Messages sent from this terminal. */
  readonly #sent = new Set<string>()

  constructor(state: ChatState, surface: ChatSurface, news: News) {
    this.#state = state
    this.#surface = surface
    this.#notes = surface.notes ?? surface
    this.#news = news
  }

  /** Registers a turn of this terminal, so that its events are drawn as such. */
  expect(own: OwnTurn): void {
    this.#sent.add(own.message)
    this.#own = own
  }

  /** Marks the turn of this terminal as finished, also when its host ended before the final event. */
  settle(): void {
    if (this.#running !== undefined) {
      this.#view?.end(undefined)
      this.#view = undefined
    }
    this.#own = undefined
  }

  show(event: TalkEvent): void {
    const notes = this.#notes
    const { palette } = notes
    switch (event.type) {
      case 'turn': {
        const signal = this.#ownTurn(event.message)?.signal ?? new AbortController().signal
        this.#view = turnView(notes, this.#state.conversation.info.model, () => performance.now(), signal)
        return
      }
      case 'said':
        if (event.message === undefined || !this.#sent.has(event.message)) this.#addUserMessage(event.said)
        return
      case 'given':
        if (event.message === undefined || !this.#sent.has(event.message)) this.#addAttached(event.attached)
        return
      case 'text':
        this.#text(event.text)
        return
      case 'call': {
        const own = this.#running
        this.#flush(own)
        const { call } = event
        if (call.type === 'end' && call.denied && call.decision?.verdict === 'ask' && own !== undefined)
          own.isRefused = true
        if (this.#view !== undefined) this.#view.call(call)
        else if (call.type === 'start') notes.write(`${describeCall(call, palette)}\n`)
        return
      }
      case 'under-way':
        this.#underWay(event)
        return
      case 'wait':
        this.#view?.wait(event.wait)
        return
      case 'late':
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
        const own = this.#ownTurn(event.message)
        if (own !== undefined && own.text !== '') {
          writeModelText(own.text, this.#surface)
          own.text = ''
        }
        this.#view?.end({
          ...(stopReason !== undefined && { stopReason }),
          ...(callsNotRun !== undefined && { callsNotRun }),
        })
        this.#view = undefined
        // A failure of a turn of this terminal is shown by the code that awaits the turn.
        if (own === undefined && fault !== undefined && !this.#sent.has(event.message ?? ''))
          notes.write(
            `${palette.red(flowed(withFixLines(plain(fault.message), fault.fixes ?? []), notes.columns(), 0, 2))}\n`,
          )
      }
    }
  }

  /** The turn of this terminal while it runs. */
  get #running(): OwnTurn | undefined {
    return this.#ownTurn(this.#state.conversation.info.message)
  }

  #ownTurn(message: string | undefined): OwnTurn | undefined {
    return this.#own?.message === message ? this.#own : undefined
  }

  /** Messages sent from another terminal or program. */
  #addUserMessage(message: SamplingMessage): void {
    const words = wordsOf(message)
    if (words === '' || this.#surface.live === undefined) return
    const { palette } = this.#notes
    const shown = words.length > maxShown ? `${words.slice(0, maxShown)}…` : words
    this.#notes.write(`${palette.green('you')} › ${plain(shown).replaceAll('\n', '\n      ')}\n`)
  }

  /** A resource sent with such a message. */
  #addAttached(attached: AttachedResource): void {
    if (this.#surface.live === undefined) return
    const line = flowed(attachedLine(attached), this.#notes.columns(), 0, 2)
    this.#notes.write(`${this.#notes.palette.dim(line)}\n`)
  }

  #text(text: string): void {
    const own = this.#running
    if (own !== undefined && this.#surface.notes !== undefined) own.text += text
    else if (this.#view !== undefined) this.#view.text(text)
    // Another program runs a turn in the same conversation.
    else if (this.#surface.live !== undefined) writeModelText(text, this.#surface)
  }

  /** When answers go to another stream than notes, model text before a call is a note. */
  #flush(own: OwnTurn | undefined): void {
    if (own === undefined || own.text === '') return
    this.#view?.text(own.text)
    own.text = ''
  }

  #underWay({ name, progress }: Extract<TalkEvent, { type: 'under-way' }>): void {
    if (progress === undefined) {
      this.#view?.underWay('running')
      return
    }
    const { total, message } = progress
    const of = total === undefined ? '' : ` of ${total}`
    const state = `${progress.progress}${of}${message === undefined ? '' : ` ${oneLine(message)}`}`
    if (this.#view?.underWay(state) !== true)
      this.#news.add({ type: 'progress', name, ...progress }).catch(() => {})
  }
}

/** Shows events outside the conversation. */
export function newsOf(state: ChatState, notes: ChatSurface): News {
  const print = (text: string): void =>
    notes.write(`${notes.palette.dim(flowed(text, notes.columns(), 0, 2))}\n`)
  const source = {
    tools: () => state.client.call('catalog.tools', {}),
    connecting: async () => {
      const rows = await state.client.call('servers.list', {})
      const isComing = ({ connection: { state: now } }: ServerRow): boolean =>
        now === 'connecting' || now === 'reconnecting'
      return new Set(rows.filter(isComing).map(({ name }) => name))
    },
    attached: () => copiesOf(state),
  }
  return createNews(source, print)
}

/** Runs a conversation until the user leaves. */
export async function converse(
  state: ChatState,
  surface: ChatSurface,
  screen: Screen,
  news: News,
  only?: OneMessage,
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
        const suggestion = state.conversation.isEmpty ? await introduction(state) : undefined
        if (surface.live !== undefined)
          surface.write(`${await statusLine(state, palette, surface.columns())}\n`)
        const line = await surface.readLine(`${palette.green('you')} › `, {
          ...{ complete, isMessage: true },
          ...(suggestion !== undefined && { suggestion }),
        })
        if (line === undefined) return { isCut, failed }
        const outcome = await handle(line, only?.input, state, surface, screen)
        if (outcome === 'leave') return { isCut, failed }
        if (outcome !== undefined) isCut = cutShort.includes(outcome.stopReason)
      } catch (error) {
        if (!isExpected(error)) throw error
        if (only !== undefined || isOfModel(error)) failed ??= error
        showError(error, notes, only !== undefined)
        if (client.state.state === 'closed') return { isCut, failed }
      }
    }
  } finally {
    off()
  }
}

async function handle(
  line: string,
  input: string | undefined,
  state: ChatState,
  surface: ChatSurface,
  screen: Screen,
): Promise<'leave' | Turn | undefined> {
  const typed = readLine(line)
  const more = input === undefined ? [] : [userText(input)]
  if (typed.kind === 'empty')
    return more.length === 0 ? undefined : await say({ messages: more }, '', state, surface, screen)
  if (typed.kind === 'words') {
    const servers = (await state.client.call('servers.list', {})).map(({ name }) => name)
    const refs = mentionsIn(typed.text, servers)
    if (refs.length > 0) await attach(refs, state, surface.notes ?? surface)
    return await say({ messages: [userText(typed.text), ...more] }, typed.text, state, surface, screen)
  }
  const { signal, done } = surface.turn()
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
    ? await say({ messages: [...outcome.messages, ...more] }, line, state, surface, screen)
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
async function say(
  message: Saying,
  typed: string,
  state: ChatState,
  surface: ChatSurface,
  screen: Screen,
): Promise<Turn | undefined> {
  const { client, conversation } = state
  const { id } = conversation
  const { signal, done } = surface.turn()
  const notes = surface.notes ?? surface
  try {
    await includeContext(state, notes, signal)
  } catch (error) {
    done()
    if (!signal.aborted) throw error
    notes.write(`${notes.palette.yellow('Stopped.')}\n`)
    return undefined
  }
  const own: OwnTurn = { message: randomUUID(), signal, text: '', isRefused: false }
  let isTakenBack = false
  const stop = (): void => {
    // On a shared host, a turn continues after this program ends.
    if (state.leaving.aborted) return
    endTurn(client, id, own.message).catch(() => {})
  }
  signal.addEventListener('abort', stop, { once: true })
  if (conversation.isBusy)
    notes.write(
      `${notes.palette.dim(flowed('Another message is being answered; this one is sent afterwards. Ctrl+C cancels it.', notes.columns(), 0, 2))}\n`,
    )
  screen.expect(own)
  let turn: Turn | null
  try {
    turn = await client.call('conversations.say', { id, said: message, message: own.message })
    isTakenBack = turn === null
    if (isTakenBack) notes.write(`${notes.palette.yellow('It was not sent.')}\n`)
  } finally {
    signal.removeEventListener('abort', stop)
    screen.settle()
    done(isTakenBack ? typed : undefined)
  }
  if (turn === null) return undefined
  surface.emit?.({ type: 'turn', ...turn })
  if (own.isRefused && state.person === undefined) notes.write(`${notes.palette.yellow(howToAllow)}\n`)
  const full = fullness(state)
  if (full !== undefined) notes.write(`${notes.palette.yellow(flowed(full, notes.columns()))}\n`)
  return turn
}

/** Cancels a message that is still queued; otherwise stops the turn that answers it. */
async function endTurn(client: HostClient, id: string, message: string): Promise<void> {
  if (!(await client.call('conversations.unqueue', { id, message })))
    await client.call('conversations.stop', { id })
}

function showError(error: Error, surface: ChatSurface, isOneMessage: boolean): void {
  const explained = continuedElsewhere(error, isOneMessage) ?? cutOff(error)
  const message = explained ?? plain(error.message)
  const fixes = explained === undefined ? fixesIn(error) : []
  if (surface.emit !== undefined) surface.emit({ type: 'error', message, ...(fixes.length > 0 && { fixes }) })
  else
    surface.write(`${surface.palette.red(flowed(withFixLines(message, fixes), surface.columns(), 0, 2))}\n`)
}

/** What to do when another window has continued the conversation; undefined for every other error. */
function continuedElsewhere(error: Error, isOneMessage: boolean): string | undefined {
  const id = error instanceof McpError ? error.details['conversation'] : undefined
  if (typeof id !== 'string') return undefined
  const short = id.slice(0, idLength)
  const head = 'This conversation was continued in another window, so your message was not added.'
  return isOneMessage
    ? `${head} To send it after the messages added there: jackfield chat --resume ${short} "…"`
    : `${head} /resume ${short} shows the messages added there and continues here. /fork continues in a copy; the other window keeps ${short}.`
}

/** The partial answer of a host process that ended. */
function cutOff(error: Error): string | undefined {
  if (!(error instanceof McpError) || error.code !== 'OUTCOME_UNKNOWN' || 'server' in error.details)
    return undefined
  return 'The host process ended before this was done. Everything up to then is stored; say "go on" to continue.'
}

/** Whether the error is a failure of a model. */
function isOfModel(error: Error): boolean {
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
