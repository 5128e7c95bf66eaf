import {
  type Exchange,
  type InputStrategy,
  type JsonObject,
  limits,
  type Outcome,
  type Peer,
  type ProtocolVersion,
  type Server,
} from '@jackfield/sdk'
import { memoryBackplane } from '@jackfield/sdk/testing'
import type { ServerNotification } from '../../src/protocol/methods.ts'
import { revisions } from '../../src/protocol/revisions.ts'
import { localCaller } from '../../src/request/exchange.ts'
import { type LiveRequest, liveInput, noInput } from '../../src/request/live-run.ts'
import { replay } from '../../src/request/replay.ts'
import { createSealer } from '../../src/request/state.ts'

export interface Overrides {
  asking?: InputStrategy
  version?: ProtocolVersion
  peer?: Partial<Peer>
  signal?: AbortSignal
  notify?: (notification: ServerNotification) => void
  id?: string | number
}

/** An exchange as an edge would make it. */
export function exchange(method: string, params: JsonObject = {}, overrides: Overrides = {}): Exchange {
  return {
    id: overrides.id ?? 7,
    method,
    params,
    peer: {
      revision: revisions[overrides.version ?? '2026-07-28'],
      capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
      info: undefined,
      ...localCaller,
      logLevel: undefined,
      ...overrides.peer,
    },
    signal: overrides.signal ?? new AbortController().signal,
    inputStrategy: overrides.asking ?? noInput,
    limits,
    notify: overrides.notify ?? (() => {}),
  }
}

/** The complete result of one request. */
export async function request(
  server: Server,
  method: string,
  params?: JsonObject,
  overrides?: Overrides,
): Promise<JsonObject> {
  return complete(await server.handle(exchange(method, params, overrides)))
}

/** The result of one `tools/call`. */
export function call(
  server: Server,
  name: string,
  args?: JsonObject,
  overrides?: Overrides,
): Promise<JsonObject> {
  return request(server, 'tools/call', args === undefined ? { name } : { name, arguments: args }, overrides)
}

export function complete(outcome: Outcome): JsonObject {
  if (outcome.type !== 'complete') throw new Error(`asked for input: ${JSON.stringify(outcome)}`)
  return outcome.result
}

/** The text of a result's first content block. */
export function text(result: JsonObject): string {
  const { content } = result
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : ''
}

/** Answers as a client would, on both eras: by request, and by retries until there is a complete result. */
export const eras = {
  live: async (
    server: Server,
    method: string,
    params: JsonObject,
    answer: LiveRequest,
  ): Promise<JsonObject> =>
    request(server, method, params, { asking: liveInput(answer), version: '2025-11-25' }),
  replay: async (
    server: Server,
    method: string,
    params: JsonObject,
    answer: LiveRequest,
    rounds = 10,
  ): Promise<JsonObject> => {
    const asking = replay({
      sealer: createSealer(['k'.repeat(32)]),
      backplane: memoryBackplane(),
      audience: 'test',
    })
    let carried: JsonObject = {}
    for (let round = 0; round < rounds; round++) {
      const outcome = await server.handle(exchange(method, { ...params, ...carried }, { asking }))
      if (outcome.type !== 'input_required') return outcome.result
      const inputResponses: JsonObject = {}
      for (const [key, question] of Object.entries(outcome.requests)) {
        const signal = new AbortController().signal
        inputResponses[key] = await answer(question.method, { ...question.params }, { signal })
      }
      carried = { inputResponses, ...(outcome.state === undefined ? {} : { requestState: outcome.state }) }
    }
    throw new Error('too many rounds')
  },
} satisfies Record<
  string,
  (
    server: Server,
    method: string,
    params: JsonObject,
    answer: LiveRequest,
    rounds?: number,
  ) => Promise<JsonObject>
>
