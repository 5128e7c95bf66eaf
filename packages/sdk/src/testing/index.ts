import { connect } from '../client/connect.ts'
import type { AnswerHandlers, ConnectOptions } from '../client/types.ts'
import type { JsonObject, JsonRpcResponse } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { CallToolResult } from '../protocol/definitions.ts'
import { latestSessionVersion, latestVersion, type ProtocolVersion } from '../protocol/methods.ts'
import { canonical } from '../request/encoding.ts'
import type { Server } from '../server/server.ts'
import { memory } from '../transports/client/memory.ts'
import type { ClientTransport, ClientTransportFactory } from '../transports/client/transport.ts'

export { type MemoryBounds, memoryBackplane } from '../request/backplane.ts'
export { memory } from '../transports/client/memory.ts'
export { backplaneContract, type ContractRule, taskStoreContract } from './store-contracts.ts'

/** The difference between two snapshots of effects: the new items of a list, the increase of a number, each member of an object. */
function effectsBetween(before: unknown, after: unknown): unknown {
  if (typeof before === 'number' && typeof after === 'number') return after - before
  if (Array.isArray(before) && Array.isArray(after)) return after.slice(before.length)
  if (isObject(before) && isObject(after)) {
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, effectsBetween(before[name], value)]),
    )
  }
  return after
}

/** The differences between the effects of two runs, one sentence each; empty if there are none. */
export function differences(once: unknown, again: unknown, path = 'effects'): string[] {
  if (canonical(once) === canonical(again)) return []
  if (Array.isArray(once) && Array.isArray(again)) {
    const more = surplus(again, once).map(
      (item) => `${path}: happened again when the handler ran again: ${item}`,
    )
    const fewer = surplus(once, again).map((item) => `${path}: happened only on a session: ${item}`)
    return more.length + fewer.length > 0 ? [...more, ...fewer] : [`${path}: happened in another order`]
  }
  if (isObject(once) && isObject(again)) {
    const names = [...new Set([...Object.keys(once), ...Object.keys(again)])]
    return names.flatMap((name) => differences(once[name], again[name], `${path}.${name}`))
  }
  return [`${path}: ${canonical(once)} on a session, ${canonical(again)} when the handler ran again`]
}

/** The items that `all` has more often than `others`, as text. */
function surplus(all: readonly unknown[], others: readonly unknown[]): string[] {
  const left = others.map(canonical)
  return all.map(canonical).filter((item) => {
    const at = left.indexOf(item)
    if (at === -1) return true
    left.splice(at, 1)
    return false
  })
}

/** Wraps a transport so that every round of input requests is retried once without responses first. */
export function withExtraRounds(transports: ClientTransportFactory): ClientTransportFactory {
  return () => {
    const transport = transports()
    let extra = 0
    const request: ClientTransport['request'] = async (message, options) => {
      const answer = await transport.request(message, options)
      const state = stateOf(answer)
      if (state === undefined) return answer
      const params = { ...message.params, ...state, inputResponses: {} }
      const again = await transport.request({ ...message, id: `again-${++extra}`, params }, options)
      return { ...again, id: message.id }
    }
    return {
      kind: transport.kind,
      hasHeaders: transport.hasHeaders,
      closed: transport.closed,
      request,
      start: (events) => transport.start(events),
      notify: (message) => transport.notify(message),
      respond: (message) => transport.respond(message),
      adopt: (version) => transport.adopt(version),
      listen: () => transport.listen(),
      close: () => transport.close(),
    }
  }
}

/** The state of an `input_required` result; undefined for any other. */
function stateOf(answer: JsonRpcResponse): JsonObject | undefined {
  if (!('result' in answer) || answer.result['resultType'] !== 'input_required') return undefined
  const { requestState } = answer.result
  return requestState === undefined ? {} : { requestState }
}

/** The tool, the answers to its questions, and a function that reads its effects. */
export interface TwiceOptions extends AnswerHandlers {
  /** Name of the tool to call. */
  tool: string
  /** Arguments of the call. Default: none. */
  args?: JsonObject
  /** The effects so far: a count, a list, or an object of these. Read before and after each run, so no reset is needed. */
  effects: () => unknown
  /** More options of `connect`, such as input capabilities. */
  connect?: ConnectOptions
}

/** One run of a call. */
export interface Run {
  /** The revision of the run. */
  readonly revision: ProtocolVersion
  /** The result of the call, or the error that it rejected with. */
  readonly result: CallToolResult | { readonly error: unknown }
  /** The effects of this run. */
  readonly effects: unknown
}

/** The runs of a tool with and without sessions, and their differences. */
export interface Twice {
  /** A run in which the handler waits for answers. */
  readonly once: Run
  /** A run in which the handler restarts for every answer, and once more per round. */
  readonly again: Run
  /** The differences; empty for a tool whose effects are in steps, or after its questions. */
  readonly differences: readonly string[]
}

/**
 * Runs a tool that requests input in both eras, with extra handler runs in the second, and reports which effects happened
 * twice. Such an effect belongs in `ctx.step`, or after the last question.
 */
export async function runTwice(server: Server, options: TwiceOptions): Promise<Twice> {
  const once = await run(memory(server), latestSessionVersion, options)
  const again = await run(withExtraRounds(memory(server)), latestVersion, options)
  return {
    once,
    again,
    differences: [
      ...differences(once.effects, again.effects),
      ...differences(withoutMeta(once.result), withoutMeta(again.result), 'result'),
    ],
  }
}

async function run(
  transports: ClientTransportFactory,
  revision: ProtocolVersion,
  options: TwiceOptions,
): Promise<Run> {
  const { tool, args = {}, effects, connect: more = {}, ...answers } = options
  const before = structuredClone(effects())
  const client = await connect(transports, { ...more, ...answers, revisions: [revision] })
  try {
    const result = await client.call(tool, args).catch((error: unknown) => ({ error }))
    return { revision, result, effects: structuredClone(effectsBetween(before, effects())) }
  } finally {
    await client.close()
  }
}

/** A result as callers see it: without `_meta`, which has the server's info in one era only. */
function withoutMeta(result: Run['result']): unknown {
  if ('error' in result) return { error: String(result.error) }
  const { _meta: _, ...shown } = result
  return shown
}
