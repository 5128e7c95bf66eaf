import { type HostEvent, ModelError, type Turn } from '@jackfield/host'
import { McpError, RpcError, type SamplingMessage } from '@jackfield/sdk'
import { CliError } from '../cli/exit.ts'
import { flowed } from '../output/flow.ts'
import { plain } from '../output/sanitize.ts'
import { mentionsIn } from './attach.ts'
import { attach } from './attached.ts'
import { commandNames, runCommand } from './commands.ts'
import { completions } from './complete.ts'
import { includeContext } from './context.ts'
import { type ChatFace, writeModelText } from './face.ts'
import { firstWords } from './greet.ts'
import { idLength } from './keep.ts'
import { createNews, type News } from './news.ts'
import { readLine } from './slash.ts'
import type { ChatState } from './state.ts'
import { fullness, statusLine } from './status.ts'
import { type TurnView, turnView } from './view.ts'

const howToAllow =
  'A call was refused because it needs approval, and no person can be asked here. To allow it, add a rule with the verdict "allow" to the config (jackfield.rules), give --answers <file> with "approvals" (jackfield options), or use a terminal.'

/** Ends of a turn that leave work undone. */
const cutShort: readonly Turn['stopReason'][] = ['maxCalls', 'maxTurns', 'maxTokens']

/** How a conversation ended, for the exit code of a run without a person. */
export interface ConversationEnd {
  /** The last turn was cut short at a limit. */
  readonly isCut: boolean
  /** The first failure of a model; where there is only one message, any failure of it. */
  readonly failed: Error | undefined
}

/** The only message of a conversation: what the face reads, and this text with it. */
export interface OneMessage {
  /** Sent to the model as it is: neither a command nor a mention is read in it. */
  readonly input?: string | undefined
}

/** Holds a conversation until the person leaves. */
export async function converse(
  state: ChatState,
  face: ChatFace,
  only?: OneMessage,
): Promise<ConversationEnd> {
  const { host } = state
  const { palette } = face
  const notes = face.notes ?? face
  let isCut = false
  let view: TurnView | undefined
  let failed: Error | undefined
  const news = createNews(state, (text) => {
    notes.write(`${notes.palette.dim(flowed(text, notes.columns(), 0, 2))}\n`)
  })
  const off = host.on((event) => hear(event, view, news))
  const complete = (line: string): Promise<[string[], string]> => completions(line, commandNames(host), state)
  try {
    for (;;) {
      if (face.live !== undefined) face.write(`${statusLine(state, palette, face.columns())}\n`)
      const suggestion = state.talk.messages.length === 0 ? firstWords(state) : undefined
      const line = await face.readLine(`${palette.green('you')} › `, {
        ...{ complete, isMessage: true },
        ...(suggestion !== undefined && { suggestion }),
      })
      if (line === undefined) return { isCut, failed }
      try {
        const outcome = await handle(line, only?.input, state, face, (shown) => {
          view = shown
        })
        if (outcome === 'leave') return { isCut, failed }
        if (outcome !== undefined) isCut = cutShort.includes(outcome.stopReason)
      } catch (error) {
        if (!isExpected(error)) throw error
        if (only !== undefined || error instanceof ModelError) failed ??= error
        tellError(error, notes, only !== undefined)
      } finally {
        view = undefined
      }
    }
  } finally {
    off()
    news.end()
    host.leave(state.talk.id)
  }
}

async function handle(
  line: string,
  input: string | undefined,
  state: ChatState,
  face: ChatFace,
  showing: (view: TurnView) => void,
): Promise<'leave' | Turn | undefined> {
  const typed = readLine(line)
  const more = input === undefined ? [] : [userText(input)]
  if (typed.kind === 'empty') return more.length === 0 ? undefined : say(more, state, face, showing)
  if (typed.kind === 'words') {
    const refs = mentionsIn(typed.text, [...state.host.connections.keys()])
    if (refs.length > 0) await attach(refs, state, face.notes ?? face)
    return say([userText(typed.text), ...more], state, face, showing)
  }
  const { signal, done } = face.turn()
  let outcome: Awaited<ReturnType<typeof runCommand>>
  try {
    outcome = await runCommand(typed.name, typed.words, state, face, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    face.write(`${face.palette.yellow('Stopped.')}\n`)
    return undefined
  } finally {
    done()
  }
  if (outcome.kind === 'leave') return 'leave'
  return outcome.kind === 'say' ? say([...outcome.messages, ...more], state, face, showing) : undefined
}

function userText(text: string): SamplingMessage {
  return { role: 'user', content: { type: 'text', text } }
}

/**
 * One turn: what was attached goes along, the answer is written as it comes. Where the answer goes elsewhere than the notes,
 * what the model says before a call is a note.
 */
async function say(
  messages: SamplingMessage[],
  state: ChatState,
  face: ChatFace,
  showing: (view: TurnView) => void,
): Promise<Turn | undefined> {
  const { signal, done } = face.turn()
  const notes = face.notes ?? face
  try {
    await includeContext(state, notes, signal)
  } catch (error) {
    done()
    if (!signal.aborted) throw error
    notes.write(`${notes.palette.yellow('Stopped.')}\n`)
    return undefined
  }
  const attached = state.attached.splice(0).flatMap(({ messages }) => messages)
  const view = turnView(notes, state.talk, () => performance.now(), signal)
  showing(view)
  let turn: Turn | undefined
  let text = ''
  let isRefused = false
  try {
    turn = await state.talk.say([...attached, ...messages], {
      signal,
      onText(delta) {
        if (face.notes === undefined) view.text(delta)
        else text += delta
      },
      onToolCall(event) {
        if (text !== '') view.text(text)
        text = ''
        if (event.type === 'end' && event.denied && event.decision?.verdict === 'ask') isRefused = true
        view.call(event)
      },
      onWait: view.wait,
    })
  } finally {
    if (text !== '') writeModelText(text, face)
    view.end(turn)
    done()
  }
  if (isRefused && state.person === undefined) notes.write(`${notes.palette.yellow(howToAllow)}\n`)
  const full = fullness(state)
  if (full !== undefined) notes.write(`${notes.palette.yellow(flowed(full, notes.columns()))}\n`)
  return turn
}

function hear(event: HostEvent, view: TurnView | undefined, news: News): void {
  if (view?.happened(event) !== true) news.hear(event)
}

function tellError(error: Error, face: ChatFace, isOneMessage: boolean): void {
  const message = continuedElsewhere(error, isOneMessage) ?? plain(error.message)
  if (face.tell !== undefined) face.tell({ type: 'error', message })
  else face.write(`${face.palette.red(flowed(message, face.columns(), 0, 2))}\n`)
}

/** What to do where another window continued the conversation; undefined for every other error. */
function continuedElsewhere(error: Error, isOneMessage: boolean): string | undefined {
  const id = error instanceof McpError ? error.details['conversation'] : undefined
  if (typeof id !== 'string') return undefined
  const short = id.slice(0, idLength)
  const head = 'This conversation continued in another window, so this was not added to it.'
  return isOneMessage
    ? `${head} To send it again, after what was said there: jackfield chat --resume ${short} "…"`
    : `${head} /resume ${short} shows what was said there and continues here. /fork continues in a copy of it, and the other window keeps ${short}.`
}

/** Failures a person can do something about; anything else is a defect and ends the chat. */
function isExpected(error: unknown): error is Error {
  return (
    error instanceof CliError ||
    error instanceof ModelError ||
    error instanceof McpError ||
    error instanceof RpcError ||
    (error instanceof Error && error.name === 'AbortError')
  )
}
