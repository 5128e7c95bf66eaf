import { type Attributes, type Context, context, type Link, ROOT_CONTEXT } from '@opentelemetry/api'
import type { ClientTelemetry, TelemetryRequest, TelemetrySpan } from '../client/telemetry.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { MetaKey } from '../protocol/meta.ts'
import type { Exchange, InputStrategy, Outcome } from '../request/exchange.ts'
import { type LiveRequest, liveInput } from '../request/live-run.ts'
import type { Middleware } from '../server/server.ts'
import {
  clientFailure,
  extracted,
  injected,
  Recorder,
  type Recording,
  serverFailure,
  spanIn,
  stopped,
  type TelemetryOptions,
  transportOf,
} from './recorder.ts'

/** Follows every request a client sends, and every question it answers. */
export function clientSide(recorder: Recorder): ClientTelemetry {
  return {
    begin(request) {
      if (!isTraced(request.method)) return undefined
      const { by, method, params, session } = request
      const recording = recorder.begin({
        side: by,
        method,
        params,
        parent: parentOf(request),
        revision: revisionOf(request),
        transport: transportOf(request.transport),
        session,
      })
      return new Followed(recording, by === 'client' ? injected(recording.context) : {})
    },
  }
}

class Followed implements TelemetrySpan {
  readonly meta: Readonly<JsonObject>
  readonly #recording: Recording

  constructor(recording: Recording, meta: Readonly<JsonObject>) {
    this.#recording = recording
    this.meta = meta
  }

  get context(): Context {
    return this.#recording.context
  }

  sent(id: RequestId): void {
    this.#recording.sent(id)
  }

  run<T>(work: () => T): T {
    return context.with(this.#recording.context, work)
  }

  end(outcome: { readonly result: Readonly<JsonObject> } | { readonly error: unknown }): void {
    if ('error' in outcome) this.#recording.failed(clientFailure(outcome.error))
    else this.#recording.done(outcome.result)
  }
}

/** A question that says where it comes from is a part of that; anything else of what it was made for. */
function parentOf({ by, params, parent }: TelemetryRequest): Context {
  const around = parent instanceof Followed ? parent.context : context.active()
  const meta = params['_meta']
  return by === 'server' && isObject(meta) ? extracted(around, meta) : around
}

/** Before a revision is agreed, the greeting itself says which one is spoken. */
function revisionOf({ revision, params }: TelemetryRequest): string | undefined {
  if (revision !== undefined) return revision
  const { protocolVersion, _meta: meta } = params
  const named = isObject(meta) ? (meta[MetaKey.protocolVersion] ?? protocolVersion) : protocolVersion
  return typeof named === 'string' ? named : undefined
}

/** Follows every request a server serves: a part of the client's trace, with the questions it asks back inside. */
export function serverLayer(recorder: Recorder): Middleware {
  return async (exchange, next) => {
    if (!isTraced(exchange.method)) return next(exchange)
    const recording = recorder.begin({ side: 'server', ...factsOf(exchange), ...originOf(exchange) })
    const asking = followedAsking(recorder, recording, exchange)
    try {
      const outcome = await context.with(recording.context, next, undefined, { ...exchange, asking })
      if (exchange.signal.aborted) recording.failed(stopped(exchange))
      else recording.done(outcome.type === 'complete' ? outcome.result : {}, typeOf(outcome))
      return outcome
    } catch (error) {
      recording.failed(
        exchange.signal.aborted ? stopped(exchange) : serverFailure(error, exchange.peer.revision),
      )
      throw error
    }
  }
}

function factsOf({ id, method, params, peer, transport, session }: Exchange) {
  return { id, method, params, revision: peer.revision.version, transport, session: session?.id }
}

/** The request's own `_meta` names the parent; what this side is in already is a link. */
function originOf({ params }: Exchange) {
  const active = context.active()
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const remote = extracted(ROOT_CONTEXT, meta)
  if (spanIn(remote) === undefined) return { parent: extracted(active, meta) }
  const around = spanIn(active)
  const links: Link[] = around === undefined ? [] : [{ context: around }]
  return { parent: remote, links }
}

/** A round that asks is over like any other, and nothing failed. */
function typeOf(outcome: Outcome): Attributes {
  switch (outcome.type) {
    case 'complete':
      return {}
    case 'input_required': {
      const methods = Object.values(outcome.requests).map(({ method }) => method)
      return { 'jackfield.result.type': outcome.type, 'jackfield.questions': [...new Set(methods)] }
    }
    case 'extension':
      return { 'jackfield.result.type': outcome.resultType }
  }
}

/** Questions on a live connection are requests of their own, inside the one they are about. */
function followedAsking(recorder: Recorder, around: Recording, exchange: Exchange): InputStrategy {
  const { relay } = exchange.inputStrategy
  if (relay === undefined) return exchange.inputStrategy
  const ask: LiveRequest = async (method, params, options) => {
    const { revision, transport, session } = factsOf(exchange)
    const parent = around.context
    const recording = recorder.begin({ side: 'client', method, params, parent, revision, transport, session })
    try {
      const answer = await relay(method, carrying(params, recording.context), options)
      recording.done({})
      return answer
    } catch (error) {
      recording.failed(clientFailure(error))
      throw error
    }
  }
  return liveInput(ask)
}

/** Params that lead the other side to a context; the very same ones where nothing carries it. */
function carrying(params: JsonObject, from: Context): JsonObject {
  const carried = injected(from)
  if (Object.keys(carried).length === 0) return params
  return { ...params, _meta: { ...(isObject(params['_meta']) ? params['_meta'] : {}), ...carried } }
}

/** Both sides in one: a layer for `use` of `defineServer`, and the option `telemetry` of `connect`. */
export type Telemetry = Middleware & ClientTelemetry

/**
 * Traces and measures by OpenTelemetry, with the semantic conventions for MCP. Trace context travels in `_meta` as
 * `traceparent`, `tracestate` and `baggage`, by the propagator that is registered. Put it first in `use`.
 *
 * A client's call is one span, with what it is asked back inside of it; each request a server serves is one, a part of
 * the client's. A round that ends with questions is told apart by `jackfield.result.type`. Arguments and results are not
 * recorded, and neither are sessions' ids; the names of tools and prompts are, and the URIs of resources.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const recorder = new Recorder(options)
  return Object.assign(serverLayer(recorder), clientSide(recorder))
}

/** Whether a request is traced. A subscription is not: it stays open indefinitely. */
function isTraced(method: string): boolean {
  return method !== 'subscriptions/listen'
}
