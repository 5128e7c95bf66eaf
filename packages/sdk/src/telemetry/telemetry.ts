import { type Attributes, type Context, context, type Link, ROOT_CONTEXT } from '@opentelemetry/api'
import type { ClientTelemetry, TelemetryRequest, TelemetrySpan } from '../client/telemetry.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { MetaKey, metaOf } from '../protocol/meta.ts'
import type { Exchange, InputStrategy, Outcome } from '../request/exchange.ts'
import { type LiveRequest, liveInput } from '../request/live-run.ts'
import type { Middleware } from '../server/server.ts'
import {
  clientFailure,
  createRecorder,
  extract,
  inject,
  type Recorder,
  type Recording,
  serverFailure,
  spanIn,
  stopped,
  type TelemetryOptions,
  transportOf,
} from './recorder.ts'

export { type HttpMetricsOptions, httpMetrics } from './http-metrics.ts'
export type { TelemetryOptions } from './recorder.ts'

/** Traces every request a client sends, and every input request it answers. */
function createClientTelemetry(recorder: Recorder): ClientTelemetry {
  return {
    begin(request) {
      if (!isTraced(request.method)) return undefined
      const { by, method, params, session } = request
      const recording = recorder({
        side: by,
        method,
        params,
        parent: parentOf(request),
        revision: revisionOf(request),
        transport: transportOf(request.transport),
        session,
      })
      return new ClientSpan(recording, by === 'client' ? inject(recording.context) : {})
    },
  }
}

class ClientSpan implements TelemetrySpan {
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

/** The parent of an input request: its own trace context, or else the request that caused it. */
function parentOf({ by, params, parent }: TelemetryRequest): Context {
  const around = parent instanceof ClientSpan ? parent.context : context.active()
  return by === 'server' ? extract(around, metaOf(params)) : around
}

/** The revision; before it is negotiated, the one in the request. */
function revisionOf({ revision, params }: TelemetryRequest): string | undefined {
  if (revision !== undefined) return revision
  const named = metaOf(params)[MetaKey.protocolVersion] ?? params['protocolVersion']
  return typeof named === 'string' ? named : undefined
}

/** Traces every request a server handles, as a child of the client's span and the parent of its input requests. */
export function createMiddleware(recorder: Recorder): Middleware {
  return async (exchange, next) => {
    if (!isTraced(exchange.method)) return next(exchange)
    const recording = recorder({ side: 'server', ...factsOf(exchange), ...originOf(exchange) })
    const inputStrategy = tracedInputStrategy(recorder, recording, exchange)
    try {
      const outcome = await context.with(recording.context, next, undefined, { ...exchange, inputStrategy })
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

/** The trace context in `_meta` is the parent; the current span becomes a link. */
function originOf({ params }: Exchange) {
  const active = context.active()
  const meta = metaOf(params)
  const remote = extract(ROOT_CONTEXT, meta)
  if (spanIn(remote) === undefined) return { parent: extract(active, meta) }
  const around = spanIn(active)
  const links: Link[] = around === undefined ? [] : [{ context: around }]
  return { parent: remote, links }
}

/** A result other than a complete one, which is not a failure. */
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

/** Traces input requests of a live connection as children of their request. */
function tracedInputStrategy(recorder: Recorder, around: Recording, exchange: Exchange): InputStrategy {
  const { relay } = exchange.inputStrategy
  if (relay === undefined) return exchange.inputStrategy
  const ask: LiveRequest = async (method, params, options) => {
    const { revision, transport, session } = factsOf(exchange)
    const parent = around.context
    const recording = recorder({ side: 'client', method, params, parent, revision, transport, session })
    try {
      const answer = await relay(method, withTraceContext(params, recording.context), options)
      recording.done({})
      return answer
    } catch (error) {
      recording.failed(clientFailure(error))
      throw error
    }
  }
  return liveInput(ask)
}

/** Params with trace context; unchanged if there is none. */
function withTraceContext(params: JsonObject, from: Context): JsonObject {
  const carried = inject(from)
  if (Object.keys(carried).length === 0) return params
  return { ...params, _meta: { ...metaOf(params), ...carried } }
}

/** Middleware for `defineServer`, and the option `telemetry` of `connect`. */
export type Telemetry = Middleware & ClientTelemetry

/**
 * OpenTelemetry traces and metrics by the MCP semantic conventions. Trace context is propagated in `_meta` as `traceparent`,
 * `tracestate` and `baggage`, by the registered propagator. Put it first in `use`.
 *
 * A client call is one span, with its input requests as children; each request a server handles is a child of the client's
 * span. A round that ends with input requests has the attribute `jackfield.result.type`. Names of tools and prompts and URIs of
 * resources are recorded; arguments, results and session ids are not by default.
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const recorder = createRecorder(options)
  return Object.assign(createMiddleware(recorder), createClientTelemetry(recorder))
}

/** Whether a request is traced. A subscription is not: it stays open indefinitely. */
function isTraced(method: string): boolean {
  return method !== 'subscriptions/listen'
}
