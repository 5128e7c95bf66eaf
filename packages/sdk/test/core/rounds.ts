import {
  type ClientCapabilities,
  type Exchange,
  type InputRequests,
  type InputStrategy,
  type JsonObject,
  limits,
  type Outcome,
  type Question,
} from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { revisions } from '../../src/protocol/revisions.ts'
import { localCaller } from '../../src/request/exchange.ts'
import { replay } from '../../src/request/replay.ts'
import { createSealer } from '../../src/request/state.ts'
import { type LazyHandlerRun, runToOutcome } from '../../src/server/handler-context.ts'

const everything: ClientCapabilities = { elicitation: {}, sampling: { tools: {} }, roots: {} }

export const form = (message: string): Extract<Question, { method: 'elicitation/create' }> => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
})

export const yes = { action: 'accept', content: { ok: true } }

export const key = 'k'.repeat(32)

export type Run = (round: LazyHandlerRun) => unknown

export function exchange(
  asking: InputStrategy,
  params: JsonObject,
  overrides?: Partial<Exchange['peer']>,
): Exchange {
  return {
    id: 1,
    method: 'tools/call',
    params: { name: 'refund', arguments: { order: '7' }, ...params },
    peer: {
      revision: revisions['2026-07-28'],
      capabilities: everything,
      info: undefined,
      ...localCaller,
      logLevel: undefined,
      ...overrides,
    },
    signal: new AbortController().signal,
    inputStrategy: asking,
    limits,
    notify: () => {},
  }
}

export const finish = (value: unknown): JsonObject => ({ value })

/** A node of a fleet: its own replay over shared keys, and a shared or private backplane. */
export function node(options?: {
  backplane?: ReturnType<typeof memoryBackplane>
  ttlMs?: number
  acceptUnasked?: boolean
  audience?: string
  keys?: string[]
}) {
  const refusals: string[] = []
  const asking = replay({
    sealer: createSealer(options?.keys ?? [key]),
    backplane: options?.backplane ?? memoryBackplane(),
    audience: options?.audience ?? 'shop',
    ...(options?.ttlMs === undefined ? {} : { ttlMs: options.ttlMs }),
    ...(options?.acceptUnasked === undefined ? {} : { acceptUnasked: options.acceptUnasked }),
    onRefused: (reason) => refusals.push(reason),
  })
  return { asking, refusals }
}

/** Plays the client: answers every round with `answer` until the outcome is complete. */
export async function play(
  asking: InputStrategy | (() => InputStrategy),
  run: Run,
  answer: (question: Question, key: string) => unknown = () => yes,
): Promise<{ rounds: InputRequests[]; outcome: Outcome; states: string[] }> {
  const pick = typeof asking === 'function' ? asking : () => asking
  const rounds: InputRequests[] = []
  const states: string[] = []
  let params: JsonObject = {}
  for (let round = 0; round < 12; round++) {
    const outcome = await runToOutcome(exchange(pick(), params), run, finish)
    if (outcome.type !== 'input_required') return { rounds, outcome, states }
    rounds.push(outcome.requests)
    const inputResponses = Object.fromEntries(
      Object.entries(outcome.requests).map(([name, question]) => [name, answer(question, name)]),
    )
    if (outcome.state !== undefined) states.push(outcome.state)
    params = { inputResponses, ...(outcome.state === undefined ? {} : { requestState: outcome.state }) }
  }
  throw new Error('the client gave up')
}

export async function firstRound(
  asking: InputStrategy,
  run: Run,
): Promise<{ requests: InputRequests; state: string }> {
  const outcome = await runToOutcome(exchange(asking, {}), run, finish)
  if (outcome.type !== 'input_required' || outcome.state === undefined) throw new Error('no round')
  return { requests: outcome.requests, state: outcome.state }
}
