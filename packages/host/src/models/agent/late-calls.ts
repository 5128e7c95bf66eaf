import type { CallToolResult, ContentBlock, SamplingContent, SamplingMessage } from '@jackfield/sdk'
import type { Host, InboxItem } from '../../types/index.ts'
import { blocksOf } from './blocks.ts'
import { promptMessages } from './prompt-messages.ts'
import { type CallOrigin, type OfferedTools, type Performed, performCall } from './tool-calls.ts'

/** A call that goes on while the person has left its question for later. */
export interface LateCall {
  readonly later: InboxItem
  /** The activity row of the call. */
  readonly activity: number
  readonly outcome: Promise<Performed>
}

/**
 * Runs one call, until it is over or the person leaves a question of it for later. From then on the signal no longer
 * ends it: its question outlives the turn.
 */
export async function performUntilLater(
  host: Host,
  use: Parameters<typeof performCall>[1],
  { signal, ...origin }: Omit<CallOrigin, 'onRow'>,
  offer: OfferedTools,
): Promise<Performed | LateCall> {
  const stop = new AbortController()
  const end = (): void => stop.abort(signal?.reason)
  const left = Promise.withResolvers<Omit<LateCall, 'outcome'>>()
  let own: number | undefined
  const off = host.on((event) => {
    if (event.type === 'later' && own !== undefined && event.rows.includes(own))
      left.resolve({ later: event.item, activity: own })
  })
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted === true) end()
  try {
    const onRow = (row: number): void => {
      own = row
    }
    const outcome = performCall(host, use, { ...origin, signal: stop.signal, onRow }, offer)
    return await Promise.race([outcome, left.promise.then((later) => ({ ...later, outcome }))])
  } finally {
    off()
    signal?.removeEventListener('abort', end)
  }
}

/** What the model gets in place of a result while the person has not answered. */
export function waiting({ id }: InboxItem): CallToolResult {
  const text = `This call waits for the person, who left its question for later (question ${id.slice(0, 8)} of their inbox). It has neither failed nor finished, and you are told its result once it is there. Do not make the same call again meanwhile: go on with what does not need it, or end your turn.`
  return { content: [{ type: 'text', text }] }
}

/** How the model is told of a result that came after the turn had gone on. */
export function cameLate(
  name: string,
  { isError }: CallToolResult,
  content: ContentBlock[],
): SamplingMessage {
  const how = isError === true ? 'has failed' : 'is over'
  const head = `[From Jackfield, not from the person] The call of ${name} that waited for the person ${how}. What it gave:`
  const blocks = promptMessages({ messages: content.map((block) => ({ role: 'user', content: block })) })
  const said: SamplingContent[] = blocks.flatMap((message) => blocksOf(message.content))
  return { role: 'user', content: [{ type: 'text', text: head }, ...said] }
}
