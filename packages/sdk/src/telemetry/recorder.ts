import {
  type Attributes,
  type Context,
  type Histogram,
  type Link,
  type Meter,
  metrics,
  propagation,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { TelemetryRequest } from '../client/telemetry.ts'
import { clipped, ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Exchange } from '../request/exchange.ts'
import { defined } from '../request/object-members.ts'

/** Maximum characters of a value the peer may have chosen. */
const maxAttributeChars = 256
/** Maximum characters of recorded arguments and results. */
const maxContentChars = 8192

/** The name and attributes of a request, by the MCP semantic conventions. */
interface Subject {
  /** The span's name: the method and, if it has low cardinality, its target. */
  readonly name: string
  /** Attributes of span and metric. */
  readonly common: Attributes
  /** Attributes of the metric too, once the target is known to exist: a peer can invent any number of names. */
  readonly target: Attributes
  readonly single: Attributes
}

/** The attribute of the target, for methods with few targets. */
const targets: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'gen_ai.tool.name'],
  ['prompts/get', 'gen_ai.prompt.name'],
])

function subjectOf(method: string, params: Readonly<JsonObject>): Subject {
  const common: Attributes = { 'mcp.method.name': method }
  if (method === 'tools/call') common['gen_ai.operation.name'] = 'execute_tool'
  const single = defined({ 'mcp.resource.uri': truncate(params['uri'], maxContentChars) })
  const key = targets.get(method)
  const name = truncate(params['name'])
  if (key === undefined || name === undefined) return { name: method, common, target: {}, single }
  return { name: `${method} ${name}`, common, target: { [key]: name }, single }
}

/** A text from a peer, shortened. */
function truncate(value: unknown, max: number = maxAttributeChars): string | undefined {
  return typeof value === 'string' ? clipped(value, max) : undefined
}

/** A value as an attribute, shortened. */
function contentOf(value: unknown): string | undefined {
  try {
    return truncate(JSON.stringify(value), maxContentChars)
  } catch {
    return undefined
  }
}

/** The transport attribute for a client transport's name; undefined if unknown or ambiguous. */
export function transportOf(kind: string | undefined): string | undefined {
  switch (kind) {
    case 'stdio':
      return 'pipe'
    case 'http':
    case 'sse':
      return 'tcp'
    default:
      return undefined
  }
}

/** Options of telemetry. */
export interface TelemetryOptions {
  /** Creates the spans. Default: that of the registered tracer provider. */
  tracer?: Tracer
  /** Records the durations. Default: that of the registered meter provider. */
  meter?: Meter
  /** Records session ids. Default false: a session id may allow its reader to use the session. */
  recordSessionIds?: boolean
  /** Records tool arguments and results, up to 8192 characters each. Default false. */
  recordArgumentsAndResults?: boolean
}

/** A request at its start. */
interface Beginning extends Omit<TelemetryRequest, 'by' | 'parent'> {
  readonly side: 'client' | 'server'
  readonly parent: Context
  readonly links?: readonly Link[]
  readonly id?: RequestId | undefined
}

/** How a request failed: the JSON-RPC error code, or else the local error. */
interface Failure {
  readonly type: string
  readonly status?: string
  readonly message?: string
}

export const scope = '@jackfield/sdk'

/** Histogram boundaries in seconds: calls take from milliseconds to minutes. */
const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** The span and the duration of one request. */
export interface Recording {
  readonly context: Context
  sent(id: RequestId): void
  /** Ends it with a successful result; `more` are attributes of an incomplete one. */
  done(result: Readonly<JsonObject>, more?: Attributes): void
  failed(failure: Failure): void
}

/** Records a request by the MCP semantic conventions, from its beginning. */
export type Recorder = (beginning: Beginning) => Recording

export function createRecorder(options: TelemetryOptions): Recorder {
  const durations = new Map<string, Histogram>()
  const histogram = (side: 'client' | 'server'): Histogram => {
    const known = durations.get(side)
    if (known !== undefined) return known
    const { meter = metrics.getMeter(scope) } = options
    const histogram = meter.createHistogram(`mcp.${side}.operation.duration`, {
      unit: 's',
      description: 'The duration of a request, from its start to its response',
      advice: { explicitBucketBoundaries: buckets },
    })
    durations.set(side, histogram)
    return histogram
  }
  return ({ side, method, params, parent, links = [], id, revision, transport, session }) => {
    const { name, common, target, single } = subjectOf(method, params)
    if (revision !== undefined) common['mcp.protocol.version'] = revision
    if (transport !== undefined) common['network.transport'] = transport
    const { tracer = trace.getTracer(scope), recordSessionIds, recordArgumentsAndResults } = options
    const attributes: Attributes = { ...common, ...target, ...single }
    if (id !== undefined) attributes['jsonrpc.request.id'] = String(id)
    if (recordSessionIds === true && session !== undefined) attributes['mcp.session.id'] = session
    const isContentRecorded = recordArgumentsAndResults === true && method === 'tools/call'
    if (isContentRecorded) Object.assign(attributes, contentAttribute('arguments', params['arguments']))
    const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER
    const span = tracer.startSpan(name, { kind, attributes, links: [...links] }, parent)
    const duration = histogram(side)
    const began = performance.now()
    const finish = (failure: Failure | undefined): void => {
      const measured: Attributes = { ...common }
      if (failure !== undefined) {
        const { type, status, message } = failure
        const errors: Attributes = { 'error.type': type, ...defined({ 'rpc.response.status_code': status }) }
        span.setAttributes(errors)
        span.setStatus({ code: SpanStatusCode.ERROR, ...defined({ message }) })
        Object.assign(measured, errors)
      }
      if (failure === undefined || failure.type === 'tool_error') Object.assign(measured, target)
      duration.record((performance.now() - began) / 1000, measured)
      span.end()
    }
    return {
      context: trace.setSpan(parent, span),
      sent: (messageId) => span.setAttribute('jsonrpc.request.id', String(messageId)),
      done: (result, more = {}) => {
        span.setAttributes(more)
        if (isContentRecorded) span.setAttributes(contentAttribute('result', result['content']))
        finish(method === 'tools/call' && result['isError'] === true ? { type: 'tool_error' } : undefined)
      },
      failed: finish,
    }
  }
}

function contentAttribute(what: 'arguments' | 'result', value: unknown): Attributes {
  const text = value === undefined ? undefined : contentOf(value)
  return text === undefined ? {} : { [`gen_ai.tool.call.${what}`]: text }
}

/** The trace-context keys of `_meta`, the only ones allowed without a prefix. */
const keys: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])

/** Maximum characters of a value; longer ones are ignored. */
const maxCarrierChars = 8192

const setter: TextMapSetter<Record<string, string>> = {
  set(carrier, key, value) {
    if (keys.has(key)) carrier[key] = value
  },
}

const getter: TextMapGetter<Readonly<JsonObject>> = {
  keys: (carrier) => Object.keys(carrier).filter((key) => keys.has(key)),
  get(carrier, key) {
    const value = keys.has(key) ? carrier[key] : undefined
    return typeof value === 'string' && value.length <= maxCarrierChars ? value : undefined
  },
}

/** The `_meta` that propagates a context. */
export function inject(context: Context): JsonObject {
  const carrier: Record<string, string> = {}
  propagation.inject(context, carrier, setter)
  return carrier
}

/** A context with the trace context of a peer's `_meta`. */
export function extract(context: Context, meta: Readonly<JsonObject>): Context {
  return propagation.extract(context, meta, getter)
}

/** The span context of a context, if valid. */
export function spanIn(context: Context): SpanContext | undefined {
  const spanContext = trace.getSpanContext(context)
  return spanContext !== undefined && trace.isSpanContextValid(spanContext) ? spanContext : undefined
}

/** The failure of a client request. */
export function clientFailure(error: unknown): Failure {
  if (error instanceof RpcError) return ofCode(error.code, error.message)
  if (error instanceof McpError) return { type: error.code }
  return { type: error instanceof Error ? error.name : '_OTHER' }
}

/** The failure a server responds with. Internal errors go to `onError`, not here. */
export function serverFailure(error: unknown, revision: Revision): Failure {
  if (error instanceof RpcError) return ofCode(revision.error(error).code, error.message)
  return ofCode(ErrorCode.InternalError)
}

/** Why a request was aborted. */
export function stopped({ signal }: Pick<Exchange, 'signal'>): Failure {
  return { type: signal.reason instanceof McpError ? signal.reason.code : 'CANCELLED' }
}

function ofCode(code: number, text?: string): Failure {
  return { type: String(code), status: String(code), ...defined({ message: truncate(text) }) }
}
