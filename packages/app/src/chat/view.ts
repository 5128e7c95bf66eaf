import type { Conversation, HostEvent, LateResult, ModelWait, ToolCallEvent, Turn } from '@jackfield/host'
import { fitting, flowed } from '../output/flow.ts'
import { oneLine, plain } from '../output/sanitize.ts'
import { callDone, callLeft, callUnderWay, describeCall, describeEnd, duration } from './calls.ts'
import { type ChatEvent, type ChatFace, modelText } from './face.ts'

/** How one turn shows while it runs. */
export interface TurnView {
  text(delta: string): void
  call(event: ToolCallEvent): void
  wait(wait: ModelWait): void
  /** What happens in the host meanwhile. True where it was shown as part of the turn. */
  happened(event: HostEvent): boolean
  end(turn: Turn | undefined): void
}

type Start = Extract<ToolCallEvent, { type: 'start' }> & { number?: number | undefined }

/** The conversation that calls are shown of: their numbers are their places in it. */
type Numbering = Pick<Conversation, 'id' | 'calls'>

/** The turn that a view shows. */
interface ShownTurn extends Numbering {
  readonly model: Pick<Conversation['model'], 'id'>
}
type Later = Extract<ToolCallEvent, { type: 'later' }>
type End = Extract<ToolCallEvent, { type: 'end' }>

/** What is told of a turn that did not end by itself. */
const endings: Readonly<Record<string, string>> = {
  cancelled: 'Stopped.',
  maxTokens: 'The answer was cut off at its token limit.',
  maxTurns: 'Stopped after too many rounds of tool calls. Say "go on" to continue.',
  contentFilter: 'The provider withheld a part of the answer.',
}

function endingOf({ stopReason, callsNotRun }: Turn): string | undefined {
  if (stopReason !== 'maxCalls') return endings[stopReason]
  const calls = callsNotRun === 1 ? '1 tool call was' : `${callsNotRun} tool calls were`
  return `Stopped: the model wanted more tool calls than one message allows; ${calls} not run. Say "go on" to continue.`
}

/** Makes the view of one turn of a conversation. */
export function turnView(face: ChatFace, talk: ShownTurn, now: () => number, signal: AbortSignal): TurnView {
  const times = createTimes(talk.id, now)
  return face.tell === undefined ? drawn(face, talk, times, signal, now) : told(face.tell, times)
}

/** What `/show` takes for a call; undefined for one that is not of the conversation. */
function numberOf(id: string, { calls }: Numbering): number | undefined {
  const at = calls.findLastIndex((call) => call.id === id)
  return at === -1 ? undefined : at + 1
}

interface Times {
  happened(event: HostEvent): void
  /** Milliseconds that the call of this row was on its way; undefined where it never was. */
  of(activity: number | undefined): number | undefined
}

function createTimes(conversation: string, now: () => number): Times {
  const begun = new Map<number, number>()
  const taken = new Map<number, number>()
  return {
    happened(event) {
      if (event.type !== 'call' || event.call.conversation !== conversation) return
      const { activity } = event.call
      if (event.state === 'begins') begun.set(activity, now())
      else taken.set(activity, now() - (begun.get(activity) ?? now()))
    },
    of: (activity) => (activity === undefined ? undefined : taken.get(activity)),
  }
}

function drawn(
  face: ChatFace,
  talk: ShownTurn,
  times: Times,
  signal: AbortSignal,
  now: () => number,
): TurnView {
  const { palette } = face
  const flow = modelText(face)
  let running: Start | undefined
  let open = false
  const endLine = (): void => {
    if (flow.end()) flow.push('\n')
    open = false
  }
  const columns = (): number | undefined => {
    const all = face.columns()
    return all === undefined ? undefined : all - 1
  }
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let isWaitShown = false
  /** Shows after a second that the model has not answered yet, and for how long. */
  const startWaiting = (): void => {
    if (face.live === undefined) return
    since = now()
    clearInterval(timer)
    timer = setInterval(() => {
      const waited = Math.round((now() - since) / 1_000)
      const line = `… waiting for ${oneLine(talk.model.id, 40)}  ${waited} s · Ctrl+C stops`
      face.live?.(palette.dim(fitting(line, columns())), false)
      isWaitShown = true
    }, 1_000).unref()
  }
  const stopWaiting = (): void => {
    clearInterval(timer)
    if (isWaitShown) face.live?.('', false)
    isWaitShown = false
  }
  const underWay = (state: string): void => {
    if (running !== undefined) face.live?.(callUnderWay(running, state, palette, columns()), false)
  }

  function end(event: End): void {
    const ms = times.of(event.activity)
    if (running === undefined || face.live === undefined) {
      face.write(`${describeEnd(event, ms, palette)}\n`)
    } else face.live(callDone(running, event, ms, palette, columns(), signal.aborted), true)
    running = undefined
    startWaiting()
  }

  function later(event: Later): void {
    if (running === undefined) return
    const line = callLeft(running, event, palette, columns())
    if (face.live === undefined) face.write(`${line}\n`)
    else face.live(line, true)
    running = undefined
    startWaiting()
  }

  startWaiting()
  return {
    text(delta) {
      stopWaiting()
      open = true
      flow.push(delta)
    },
    call(event) {
      stopWaiting()
      if (open) endLine()
      if (event.type === 'end') return end(event)
      if (event.type === 'later') return later(event)
      if (event.type === 'task') {
        const about = `continues in the background as task ${event.task.id}`
        face.write(`${palette.yellow('◇')} ${palette.bold(oneLine(event.name))}  ${palette.yellow(about)}\n`)
        running = undefined
        return
      }
      running = { ...event, number: numberOf(event.id, talk) }
      if (face.live === undefined) face.write(`${describeCall(running, palette)}\n`)
      else underWay('')
    },
    wait({ forMs, why, attempt, attempts }) {
      if (open) endLine()
      const again = `Asked again in ${duration(forMs)} (${attempt + 1} of ${attempts}; Ctrl+C stops)`
      face.write(`${palette.yellow(flowed(`${oneLine(why)} ${again}`, face.columns(), 0, 2))}\n`)
    },
    happened(event) {
      times.happened(event)
      if (running === undefined || face.live === undefined) return false
      if (event.type === 'call' && event.state === 'begins') underWay('running')
      if (event.type !== 'progress') return event.type === 'call'
      const of = event.total === undefined ? '' : ` of ${event.total}`
      underWay(`${event.progress}${of}${event.message === undefined ? '' : ` ${oneLine(event.message)}`}`)
      return true
    },
    end(turn) {
      stopWaiting()
      endLine()
      const words = turn === undefined ? undefined : endingOf(turn)
      if (words !== undefined) face.write(`${palette.yellow(words)}\n`)
    },
  }
}

function told(tell: NonNullable<ChatFace['tell']>, times: Times): TurnView {
  return {
    text: (text) => tell({ type: 'text', text }),
    call(event) {
      const { id, name } = event
      if (event.type === 'start') return tell({ type: 'call', id, name, arguments: event.arguments })
      if (event.type === 'later') return tell({ type: 'later', id, name, question: event.item.id })
      if (event.type === 'task') return tell({ type: 'task', id, name, task: event.task.id })
      tell(resultEvent(event, times.of(event.activity)))
    },
    wait: ({ why, forMs }) =>
      tell({ type: 'notice', text: `${plain(why)} Asked again in ${duration(forMs)}.` }),
    happened(event) {
      times.happened(event)
      return event.type === 'call'
    },
    end(turn) {
      if (turn === undefined) return
      tell({ type: 'turn', ...turn })
    },
  }
}

/** How a call ended, for programs. */
function resultEvent(event: End, ms: number | undefined): Extract<ChatEvent, { type: 'result' }> {
  const { id, name, activity, denied, result } = event
  return {
    type: 'result',
    id,
    name,
    outcome: denied ? 'denied' : result.isError === true ? 'failed' : 'ok',
    content: result.content,
    ...(activity !== undefined && { activity }),
    ...(ms !== undefined && { durationMs: Math.round(ms) }),
  }
}

/** Tells how a call ended whose question had been left for later. */
export function tellLate(event: LateResult, talk: Numbering, face: ChatFace): void {
  if (face.tell !== undefined) {
    face.tell(resultEvent(event, undefined))
    return
  }
  const { palette } = face
  const { id, name } = event
  const start: Start = { type: 'start', id, name, arguments: {}, number: numberOf(id, talk) }
  const columns = face.columns()
  const line = callDone(start, event, undefined, palette, columns === undefined ? undefined : columns - 1)
  face.write(`${line}\n${palette.dim('  The model is told with what you say next.')}\n`)
}
