import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Meter,
  metrics,
  type Observable,
  ROOT_CONTEXT,
} from '@opentelemetry/api'
import type { ClientTelemetry, TelemetryRequest, TelemetrySpan } from '../client/telemetry.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { MetaKey, metaOf } from '../protocol/meta.ts'
import type { Exchange, InputStrategy, Outcome } from '../request/exchange.ts'
import { type LiveRequest, liveInput } from '../request/live-run.ts'
import type { Middleware } from '../server/server.ts'
import type { HttpObserver, HttpServerLoad } from '../transports/server/http/observer.ts'
import {
  clientFailure,
  createRecorder,
  extract,
  inject,
  type Recorder,
  type Recording,
  scope,
  serverFailure,
  spanIn,
  stopped,
  type TelemetryOptions,
  transportOf,
} from './recorder.ts'

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

/** Options of `httpMetrics`. */
export interface HttpMetricsOptions {
  /** Records the measurements. Default: that of the registered meter provider. */
  meter?: Meter
  /** Attributes of every measurement, such as the name of a server if a process has several. Default: none. */
  attributes?: Attributes
}

/** Histogram boundaries in seconds: operations of a store take from a tenth of a millisecond to its timeout. */
const operationBuckets = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5]
/** Sessions take from a second to a day. */
const sessionBuckets = [1, 10, 60, 300, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400]

/**
 * OpenTelemetry metrics of one node, for the option `observer` of `serveHttp`: sessions, streams, calls, streams resumed from
 * other nodes, and operations of the backplane. Names are those of the semantic conventions where these have one; docs/guide/scale-out.md
 * lists them. Session ids, principals and keys are not recorded.
 */
export function httpMetrics(options: HttpMetricsOptions = {}): HttpObserver {
  const { meter = metrics.getMeter(scope), attributes = {} } = options
  return { start: loadMetrics(meter, attributes), event: eventMetrics(meter, attributes) }
}

/** Observes the load of every server that starts, until it closes. */
function loadMetrics(meter: Meter, common: Attributes): HttpObserver['start'] {
  const mounted = new Set<() => HttpServerLoad>()
  const sum = (of: (load: HttpServerLoad) => number): number =>
    [...mounted].reduce((total, load) => total + of(load()), 0)

  const sessions = meter.createObservableUpDownCounter('jackfield.server.sessions', {
    unit: '{session}',
    description: 'Sessions that this process knows',
  })
  const streams = meter.createObservableUpDownCounter('jackfield.server.streams', {
    unit: '{stream}',
    description: 'Open event streams',
  })
  const calls = meter.createObservableUpDownCounter('jackfield.server.calls', {
    unit: '{request}',
    description: 'Requests in flight, by whether their handlers run or wait for the client',
  })
  const leaseAge = meter.createObservableGauge('jackfield.server.lease.age', {
    unit: 's',
    description: 'Time since this node last renewed its lease',
  })
  meter.addBatchObservableCallback(
    (result) => {
      const observe = (counter: Observable, of: (load: HttpServerLoad) => number, more?: Attributes): void =>
        result.observe(counter, sum(of), { ...common, ...more })
      observe(sessions, (load) => load.sessions)
      for (const kind of ['session', 'subscription'] as const) {
        observe(streams, (load) => load.streams[kind], { 'jackfield.stream.kind': kind })
      }
      for (const state of ['running', 'waiting'] as const) {
        observe(calls, (load) => load.calls[state], { 'jackfield.call.state': state })
      }
      const ages = [...mounted].flatMap((load) => load().leaseAgeMs ?? [])
      if (ages.length > 0) result.observe(leaseAge, Math.max(...ages) / 1000, common)
    },
    [sessions, streams, calls, leaseAge],
  )
  return (load) => {
    mounted.add(load)
    return () => mounted.delete(load)
  }
}

/** Counts and measures the events of servers. */
function eventMetrics(meter: Meter, common: Attributes): HttpObserver['event'] {
  const begun = meter.createCounter('jackfield.server.sessions.begun', {
    unit: '{session}',
    description: 'Sessions that began in this process',
  })
  const sessionDuration = meter.createHistogram('mcp.server.session.duration', {
    unit: 's',
    description: 'The duration of a session that began in this process, until it ended',
    advice: { explicitBucketBoundaries: sessionBuckets },
  })
  const takeovers = meter.createCounter('jackfield.server.takeovers', {
    unit: '{stream}',
    description: 'Streams of other nodes that a client resumed here, by what followed',
  })
  const answers = meter.createCounter('jackfield.server.answers', {
    unit: '{response}',
    description: 'Responses of clients, by whether they arrived on the node that asked',
  })
  const refused = meter.createCounter('jackfield.server.writes.refused', {
    unit: '{write}',
    description: 'Writes to the backplane that came after another one',
  })
  const missed = meter.createCounter('jackfield.server.wakes.missed', {
    unit: '{message}',
    description: 'Messages between nodes that were lost and replaced by reading the store',
  })
  const operations = meter.createHistogram('jackfield.backplane.operation.duration', {
    unit: 's',
    description: 'The duration of an operation of the backplane',
    advice: { explicitBucketBoundaries: operationBuckets },
  })

  return (event) => {
    switch (event.type) {
      case 'sessionBegun':
        begun.add(1, common)
        return
      case 'sessionEnded':
        sessionDuration.record(event.durationMs / 1000, common)
        return
      case 'takeover':
        takeovers.add(1, { ...common, 'jackfield.takeover.outcome': event.outcome })
        return
      case 'answer':
        answers.add(1, { ...common, 'jackfield.answer.arrived': event.arrived })
        return
      case 'writeRefused':
        refused.add(1, { ...common, 'jackfield.write.kind': event.what })
        return
      case 'wakeMissed':
        missed.add(1, common)
        return
      case 'backplane': {
        const attributes: Attributes = { ...common, 'jackfield.backplane.operation': event.operation }
        if (event.error !== undefined) attributes['error.type'] = clientFailure(event.error).type
        operations.record(event.durationMs / 1000, attributes)
      }
    }
  }
}
