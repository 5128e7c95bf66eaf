import { connect } from '../client/connect.ts'
import type { AnswerHandlers, ConnectOptions } from '../client/types.ts'
import type { JsonObject, JsonRpcResponse } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { CallToolResult } from '../protocol/definitions.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import { latest, latestLegacy } from '../protocol/revision.ts'
import { canonical } from '../request/encoding.ts'
import type { Server } from '../server/server.ts'
import { memory } from '../transports/client/memory.ts'
import type { ClientTransport, ClientTransportFactory } from '../transports/client/transport.ts'

/** What came on top of `before`: of a list its new end, of a number the difference, of an object each member's. */
export function added(before: unknown, after: unknown): unknown {
  if (typeof before === 'number' && typeof after === 'number') return after - before
  if (Array.isArray(before) && Array.isArray(after)) return after.slice(before.length)
  if (isObject(before) && isObject(after)) {
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, added(before[name], value)]),
    )
  }
  return after
}

/** Where the effects of two runs differ, in words. */
export function differences(legacy: unknown, modern: unknown, path = 'effects'): string[] {
  if (canonical(legacy) === canonical(modern)) return []
  if (Array.isArray(legacy) && Array.isArray(modern)) {
    const more = surplus(modern, legacy).map((item) => `${path}: happened again on re-entry: ${item}`)
    const fewer = surplus(legacy, modern).map((item) => `${path}: happened only without re-entry: ${item}`)
    return more.length + fewer.length > 0 ? [...more, ...fewer] : [`${path}: happened in another order`]
  }
  if (isObject(legacy) && isObject(modern)) {
    const names = [...new Set([...Object.keys(legacy), ...Object.keys(modern)])]
    return names.flatMap((name) => differences(legacy[name], modern[name], `${path}.${name}`))
  }
  return [`${path}: ${canonical(legacy)} in one run, ${canonical(modern)} with re-entry`]
}

/** The items `all` has more often than `others`, as text. */
function surplus(all: readonly unknown[], others: readonly unknown[]): string[] {
  const left = others.map(canonical)
  return all.map(canonical).filter((item) => {
    const at = left.indexOf(item)
    if (at === -1) return true
    left.splice(at, 1)
    return false
  })
}

/** Links on which every round of questions is entered one extra time, unanswered, before it is answered. */
export function reentering(links: ClientTransportFactory): ClientTransportFactory {
  return () => {
    const link = links()
    let extra = 0
    const request: ClientTransport['request'] = async (message, options) => {
      const answer = await link.request(message, options)
      const state = stateOf(answer)
      if (state === undefined) return answer
      const params = { ...message.params, ...state, inputResponses: {} }
      const again = await link.request({ ...message, id: `again-${++extra}`, params }, options)
      return { ...again, id: message.id }
    }
    return {
      kind: link.kind,
      hasHeaders: link.hasHeaders,
      closed: link.closed,
      request,
      start: (events) => link.start(events),
      notify: (message) => link.notify(message),
      respond: (message) => link.respond(message),
      adopt: (version) => link.adopt(version),
      listen: () => link.listen(),
      close: () => link.close(),
    }
  }
}

/** The state of a round that asks; undefined for any other answer. */
function stateOf(answer: JsonRpcResponse): JsonObject | undefined {
  if (!('result' in answer) || answer.result['resultType'] !== 'input_required') return undefined
  const { requestState } = answer.result
  return requestState === undefined ? {} : { requestState }
}

/** The tool to run, the answers to its questions, and a way to see what it has done. */
export interface TwiceOptions extends AnswerHandlers {
  tool: string
  args?: JsonObject
  /**
   * What the tool has done so far: a count, a list of what it did, or an object of such. Read before and after each
   * run, so it need not be reset.
   */
  effects: () => unknown
  /** Further options of `connect`, such as which kinds of questions can be shown. */
  connect?: ConnectOptions
}

/** One run of a call. */
export interface Run {
  readonly revision: ProtocolVersion
  readonly result: CallToolResult | { readonly error: unknown }
  /** What this run added to the effects. */
  readonly effects: unknown
}

/** What a tool did in both eras, side by side. */
export interface Twice {
  /** One straight run: questions are answered while the handler waits. */
  readonly once: Run
  /** The handler entered again from the top for every answer, and one extra time for every round. */
  readonly again: Run
  /** What differs between the two; empty for a tool that keeps its effects in steps, or after its questions. */
  readonly differences: readonly string[]
}

/**
 * Runs a tool that asks in both eras, entering its handler more often than it would like on the second, and tells
 * which effects happened twice. Such an effect belongs in `ctx.step`, or after the last question.
 */
export async function runTwice(server: Server, options: TwiceOptions): Promise<Twice> {
  const once = await run(memory(server), latestLegacy, options)
  const again = await run(reentering(memory(server)), latest, options)
  return {
    once,
    again,
    differences: [
      ...differences(once.effects, again.effects),
      ...differences(shownOf(once.result), shownOf(again.result), 'result'),
    ],
  }
}

async function run(
  links: ClientTransportFactory,
  revision: ProtocolVersion,
  options: TwiceOptions,
): Promise<Run> {
  const { tool, args = {}, effects, connect: more = {}, ...answers } = options
  const before = structuredClone(effects())
  const client = await connect(links, { ...more, ...answers, revisions: [revision] })
  try {
    const result = await client.call(tool, args).catch((error: unknown) => ({ error }))
    return { revision, result, effects: structuredClone(added(before, effects())) }
  } finally {
    await client.close()
  }
}

/** What a caller sees of a result: not the metadata, which names the server in one era only. */
function shownOf(result: Run['result']): unknown {
  if ('error' in result) return { error: String(result.error) }
  const { _meta: _, ...shown } = result
  return shown
}
