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
import type { ChatFace } from './face.ts'
import { firstWords } from './greet.ts'
import { createNews, type News } from './news.ts'
import { readLine } from './slash.ts'
import type { ChatState } from './state.ts'
import { fullness, statusLine } from './status.ts'
import { type TurnView, turnView } from './view.ts'

/** Ends of a turn that leave work undone. */
const cutShort: readonly Turn['stopReason'][] = ['maxCalls', 'maxTurns', 'maxTokens']

/** How a conversation ended, for the exit code of a run without a person. */
export interface ConversationEnd {
  /** The last turn was cut short at a limit. */
  readonly isCut: boolean
  /** The first failure of a model. */
  readonly failed: ModelError | undefined
}

/** Holds a conversation until the person leaves. */
export async function converse(state: ChatState, face: ChatFace): Promise<ConversationEnd> {
  const { host } = state
  const { palette } = face
  let isCut = false
  let view: TurnView | undefined
  let failed: ModelError | undefined
  const news = createNews(state, (text) => {
    face.write(`${face.palette.dim(flowed(text, face.columns(), 0, 2))}\n`)
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
        const outcome = await handle(line, state, face, (shown) => {
          view = shown
        })
        if (outcome === 'leave') return { isCut, failed }
        if (outcome !== undefined) isCut = cutShort.includes(outcome.stopReason)
      } catch (error) {
        if (!isExpected(error)) throw error
        if (error instanceof ModelError) failed ??= error
        tellError(error, face)
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
  state: ChatState,
  face: ChatFace,
  showing: (view: TurnView) => void,
): Promise<'leave' | Turn | undefined> {
  const typed = readLine(line)
  if (typed.kind === 'empty') return undefined
  if (typed.kind === 'words') {
    const refs = mentionsIn(typed.text, [...state.host.connections.keys()])
    if (refs.length > 0) await attach(refs, state, face)
    return say([{ role: 'user', content: { type: 'text', text: typed.text } }], state, face, showing)
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
  return outcome.kind === 'say' ? say(outcome.messages, state, face, showing) : undefined
}

/** One turn: what was attached goes along, the answer is written as it comes. */
async function say(
  messages: SamplingMessage[],
  state: ChatState,
  face: ChatFace,
  showing: (view: TurnView) => void,
): Promise<Turn | undefined> {
  const { signal, done } = face.turn()
  try {
    await includeContext(state, face, signal)
  } catch (error) {
    done()
    if (!signal.aborted) throw error
    face.write(`${face.palette.yellow('Stopped.')}\n`)
    return undefined
  }
  const attached = state.attached.splice(0).flatMap(({ messages }) => messages)
  const view = turnView(face, state.talk, () => performance.now(), signal)
  showing(view)
  let turn: Turn | undefined
  try {
    turn = await state.talk.say([...attached, ...messages], {
      signal,
      onText: view.text,
      onToolCall: view.call,
      onWait: view.wait,
    })
  } finally {
    view.end(turn)
    done()
  }
  const full = fullness(state)
  if (full !== undefined) face.write(`${face.palette.yellow(flowed(full, face.columns()))}\n`)
  return turn
}

function hear(event: HostEvent, view: TurnView | undefined, news: News): void {
  if (view?.happened(event) !== true) news.hear(event)
}

function tellError(error: Error, face: ChatFace): void {
  const message = plain(error.message)
  if (face.tell !== undefined) face.tell({ type: 'error', message })
  else face.write(`${face.palette.red(flowed(message, face.columns(), 0, 2))}\n`)
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
