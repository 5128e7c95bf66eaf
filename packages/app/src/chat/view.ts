import type { ModelWait, Turn } from '@jackfield/host'
import { truncate, wrapText } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import {
  callEndLine,
  callLine,
  deferredCallLine,
  duration,
  finishedCallLine,
  runningCallLine,
} from './calls.ts'
import type { CallEnd, CallEvent } from './conversation-view.ts'
import { type ChatEvent, type ChatSurface, modelText } from './surface.ts'

/** The view of one running turn. */
export interface TurnView {
  text(delta: string): void
  call(event: CallEvent): void
  /** The state of the running call in a few words. Returns false if the call is not shown as part of the turn. */
  showProgress(state: string): boolean
  wait(wait: ModelWait): void
  end(ending: TurnEnding | undefined): void
}

/** How a turn ended. */
export type TurnEnding = Partial<Pick<Turn, 'stopReason' | 'callsNotRun'>>

type CallStart = Extract<CallEvent, { type: 'start' }>
type DeferredEvent = Extract<CallEvent, { type: 'later' | 'task' }>

/** The notice for a turn that did not complete. */
const stopNotices: Readonly<Record<string, string>> = {
  cancelled: 'Stopped.',
  maxTokens: 'The answer was cut off at its token limit.',
  maxTurns: 'Stopped after too many rounds of tool calls. Say "go on" to continue.',
  contentFilter: 'The provider withheld a part of the answer.',
}

function stopNotice({ stopReason = '', callsNotRun }: TurnEnding): string | undefined {
  if (stopReason !== 'maxCalls') return stopNotices[stopReason]
  const calls = callsNotRun === 1 ? '1 tool call was' : `${callsNotRun} tool calls were`
  return `Stopped: the model wanted more tool calls than one message allows; ${calls} not run. Say "go on" to continue.`
}

/** Creates the view of one turn. `model`: the id of the model that answers. */
export function createTurnView(
  surface: ChatSurface,
  model: string,
  now: () => number,
  signal: AbortSignal,
): TurnView {
  return surface.emit === undefined ? drawnTurnView(surface, model, signal, now) : eventTurnView(surface.emit)
}

function drawnTurnView(
  surface: ChatSurface,
  model: string,
  signal: AbortSignal,
  now: () => number,
): TurnView {
  const { palette } = surface
  const flow = modelText(surface)
  let running: CallStart | undefined
  let open = false
  const endLine = (): void => {
    if (flow.end()) flow.push('\n')
    open = false
  }
  const columns = (): number | undefined => lineWidth(surface)
  const waiting = new WaitingLine(surface, model, now)
  const underWay = (state: string): void => {
    if (running !== undefined) surface.live?.(runningCallLine(running, state, palette, columns()), false)
  }

  function end(event: CallEnd): void {
    const ms = event.durationMs
    if (running === undefined || surface.live === undefined) {
      surface.write(`${callEndLine(event, ms, palette)}\n`)
    } else surface.live(finishedCallLine(running, event, ms, palette, columns(), signal.aborted), true)
    running = undefined
    waiting.start()
  }

  function later(event: DeferredEvent): void {
    if (running === undefined) return
    const line = deferredCallLine(running, event, palette, columns())
    if (surface.live === undefined) surface.write(`${line}\n`)
    else surface.live(line, true)
    running = undefined
    waiting.start()
  }

  waiting.start()
  return {
    text(delta) {
      waiting.stop()
      open = true
      flow.push(delta)
    },
    call(event) {
      waiting.stop()
      if (open) endLine()
      if (event.type === 'end') return end(event)
      if (event.type === 'later' || event.type === 'task') return later(event)
      running = event
      if (surface.live === undefined) surface.write(`${callLine(running, palette)}\n`)
      else underWay('')
    },
    wait({ forMs, reason, attempt, attempts }) {
      if (open) endLine()
      const again = `Retrying in ${duration(forMs)} (${attempt + 1} of ${attempts}; Ctrl+C stops)`
      surface.write(`${palette.yellow(wrapText(`${oneLine(reason)} ${again}`, surface.columns(), 0, 2))}\n`)
    },
    showProgress(state) {
      if (running === undefined || surface.live === undefined) return false
      underWay(state)
      return true
    },
    end(ending) {
      waiting.stop()
      // A call that never ended, such as one of a host process that stopped, keeps its line.
      if (running !== undefined)
        surface.live?.(runningCallLine(running, 'not finished', palette, columns()), true)
      running = undefined
      endLine()
      const words = ending === undefined ? undefined : stopNotice(ending)
      if (words !== undefined) surface.write(`${palette.yellow(words)}\n`)
    },
  }
}

/** Columns of one line that is redrawn. */
function lineWidth(surface: ChatSurface): number | undefined {
  const columns = surface.columns()
  return columns === undefined ? undefined : columns - 1
}

/** Shows, after a second, that the model has not answered yet, and for how long. */
class WaitingLine {
  readonly #surface: ChatSurface
  readonly #model: string
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #isShown = false

  constructor(surface: ChatSurface, model: string, now: () => number) {
    this.#surface = surface
    this.#model = oneLine(model, 40)
    this.#now = now
  }

  start(): void {
    if (this.#surface.live === undefined) return
    const since = this.#now()
    clearInterval(this.#timer)
    this.#timer = setInterval(() => {
      const waited = Math.round((this.#now() - since) / 1_000)
      const line = `… waiting for ${this.#model}  ${waited} s · Ctrl+C stops`
      this.#surface.live?.(this.#surface.palette.dim(truncate(line, lineWidth(this.#surface))), false)
      this.#isShown = true
    }, 1_000).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    if (this.#isShown) this.#surface.live?.('', false)
    this.#isShown = false
  }
}

function eventTurnView(emit: NonNullable<ChatSurface['emit']>): TurnView {
  return {
    text: (text) => emit({ type: 'text', text }),
    call(event) {
      const { id, name } = event
      if (event.type === 'start') return emit({ type: 'call', id, name, arguments: event.arguments })
      if (event.type === 'later') return emit({ type: 'later', id, name, question: event.item.id })
      if (event.type === 'task') return emit({ type: 'task', id, name, task: event.task })
      emit(resultEvent(event))
    },
    wait: ({ reason, forMs }) =>
      emit({ type: 'notice', text: `${plain(reason)} Retrying in ${duration(forMs)}.` }),
    showProgress: (state) => state === 'running',
    end() {},
  }
}

/** How a call ended, as an event for programs. */
function resultEvent({
  id,
  name,
  activity,
  denied,
  result,
  durationMs,
}: CallEnd): Extract<ChatEvent, { type: 'result' }> {
  return {
    type: 'result',
    id,
    name,
    outcome: denied ? 'denied' : result.isError === true ? 'failed' : 'ok',
    content: result.content,
    ...(activity !== undefined && { activity }),
    ...(durationMs !== undefined && { durationMs }),
  }
}

/** Shows the end of a call whose question was deferred. */
export function writeLateResult(event: CallEnd, surface: ChatSurface): void {
  if (surface.emit !== undefined) {
    surface.emit(resultEvent(event))
    return
  }
  const { palette } = surface
  const { id, name, number } = event
  const start: CallStart = { type: 'start', id, name, arguments: {}, number }
  const line = finishedCallLine(start, event, undefined, palette, lineWidth(surface))
  surface.write(`${line}\n${palette.dim('  The model gets it with your next message.')}\n`)
}
