import type { CallToolResult, ContentBlock, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import { textResult } from '../../core/call-results.ts'
import type { Host, HostTask, InboxItem } from '../../types/index.ts'
import { blocksOf } from '../messages.ts'
import { promptMessages } from './blocks.ts'
import { type CallOrigin, type OfferedTools, performCall, type ToolOutcome } from './tool-calls.ts'

/** Milliseconds a turn waits for a task. */
const defaultTaskPatienceMs = 10_000

/** Why a turn continues without the result of a call. */
export type DeferredCall = { readonly question: InboxItem } | { readonly task: HostTask }

/** A call that continues after its turn: the user deferred its question, or it is a long task. */
export interface LateCall {
  readonly later: DeferredCall
  /** The activity row of the call. */
  readonly activity: number
  readonly outcome: Promise<ToolOutcome>
}

/**
 * Runs one call, until it ends, the user defers a question of it, or its task takes longer than `taskPatienceMs`. From then on
 * the signal no longer ends it: it outlives the turn.
 */
export async function performUntilDeferred(
  host: Host,
  use: Parameters<typeof performCall>[1],
  { signal, ...origin }: Omit<CallOrigin, 'onRow'>,
  offer: OfferedTools,
  taskPatienceMs: number = defaultTaskPatienceMs,
): Promise<ToolOutcome | LateCall> {
  const stop = new AbortController()
  const abort = (): void => stop.abort(signal?.reason)
  const deferred = Promise.withResolvers<Omit<LateCall, 'outcome'>>()
  let callRow: number | undefined
  let timer: NodeJS.Timeout | undefined
  const unsubscribe = host.on((event) => {
    if (callRow === undefined) return
    if (event.type === 'later' && event.rows.includes(callRow))
      deferred.resolve({ later: { question: event.item }, activity: callRow })
    else if (event.type === 'task' && event.task.activity === callRow && event.task.followed) {
      const later = { later: event, activity: callRow }
      timer ??= setTimeout(() => deferred.resolve(later), taskPatienceMs)
    }
  })
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  try {
    const onRow = (row: number): void => {
      callRow = row
    }
    const outcome = performCall(host, use, { ...origin, signal: stop.signal, onRow }, offer)
    return await Promise.race([outcome, deferred.promise.then((later) => ({ ...later, outcome }))])
  } finally {
    unsubscribe()
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** The model's placeholder for a result. */
export function deferredResult(later: DeferredCall): CallToolResult {
  if ('task' in later) {
    const { task } = later
    const text = `The server runs this call as a task in the background (task ${task.id}${task.message === undefined ? '' : `: ${task.message}`}). It has neither failed nor finished, and you get its result when it is available. Do not make the same call again meanwhile: continue with what does not need it, or end your turn.`
    return textResult(text)
  }
  const { id } = later.question
  const text = `This call waits for the person, who deferred its question (question ${id.slice(0, 8)} of their inbox). It has neither failed nor finished, and you get its result when it is available. Do not make the same call again meanwhile: continue with what does not need it, or end your turn.`
  return textResult(text)
}

/** The message to the model with a result that arrived after its turn. */
export function lateResultMessage(
  name: string,
  { isError }: CallToolResult,
  content: ContentBlock[],
): SamplingMessage {
  const outcome = isError === true ? 'has failed' : 'is over'
  const heading = `[From Jackfield, not from the person] The call of ${name} whose result was not there yet ${outcome}. Its result:`
  const blocks = promptMessages({ messages: content.map((block) => ({ role: 'user', content: block })) })
  const parts: SamplingContent[] = blocks.flatMap((message) => blocksOf(message.content))
  return { role: 'user', content: [{ type: 'text', text: heading }, ...parts] }
}
