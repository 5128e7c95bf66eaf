import {
  type Attributes,
  type Context,
  type Histogram,
  type Link,
  type Meter,
  metrics,
  propagation,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { clipped, ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import type { Revision } from '../protocol/revision.ts'
import type { Exchange } from '../request/exchange.ts'
import { defined } from '../request/known-members.ts'

/** Most characters of a value the peer may have chosen. */
const maxAttributeChars = 256
/** Most characters of recorded arguments and results. */
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

function subjectOf(method: string, params: Readonly<JsonObject>): Subject {
  const common: Attributes = { 'mcp.method.name': method }
  const name = truncate(params['name'])
  const uri = truncate(params['uri'], maxContentChars)
  const single: Attributes = uri === undefined ? {} : { 'mcp.resource.uri': uri }
  switch (method) {
    case 'tools/call':
      common['gen_ai.operation.name'] = 'execute_tool'
      return { ...nameAndTarget(method, 'gen_ai.tool.name', name), common, single }
    case 'prompts/get':
      return { ...nameAndTarget(method, 'gen_ai.prompt.name', name), common, single }
    default:
      return { name: method, common, target: {}, single }
  }
}

function nameAndTarget(
  method: string,
  key: string,
  name: string | undefined,
): Pick<Subject, 'name' | 'target'> {
  return name === undefined
    ? { name: method, target: {} }
    : { name: `${method} ${name}`, target: { [key]: name } }
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
export function transportOf(link: string | undefined): string | undefined {
  switch (link) {
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
interface Beginning {
  readonly side: 'client' | 'server'
  readonly method: string
  readonly params: Readonly<JsonObject>
  readonly parent: Context
  readonly links?: readonly Link[]
  readonly id?: RequestId | undefined
  readonly revision: string | undefined
  readonly transport: string | undefined
  readonly session: string | undefined
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

/** Records spans and durations by the MCP semantic conventions. */
export class Recorder {
  readonly #options: TelemetryOptions
  readonly #durations = new Map<string, Histogram>()

  constructor(options: TelemetryOptions) {
    this.#options = options
  }

  begin(beginning: Beginning): Recording {
    const { side, method, params, parent, links = [], id, revision, transport, session } = beginning
    const { name, common, target, single } = subjectOf(method, params)
    if (revision !== undefined) common['mcp.protocol.version'] = revision
    if (transport !== undefined) common['network.transport'] = transport
    const { tracer = trace.getTracer(scope), recordSessionIds, recordArgumentsAndResults } = this.#options
    const attributes: Attributes = { ...common, ...target, ...single }
    if (id !== undefined) attributes['jsonrpc.request.id'] = String(id)
    if (recordSessionIds === true && session !== undefined) attributes['mcp.session.id'] = session
    const content = recordArgumentsAndResults === true && method === 'tools/call'
    if (content) Object.assign(attributes, contentAttribute('arguments', params['arguments']))
    const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER
    const span = tracer.startSpan(name, { kind, attributes, links: [...links] }, parent)
    const context = trace.setSpan(parent, span)
    return new Recording(context, span, content, this.#histogram(side), { common, target })
  }

  #histogram(side: 'client' | 'server'): Histogram {
    const known = this.#durations.get(side)
    if (known !== undefined) return known
    const { meter = metrics.getMeter(scope) } = this.#options
    const made = meter.createHistogram(`mcp.${side}.operation.duration`, {
      unit: 's',
      description: 'How long a request took, from its beginning to its answer',
      advice: { explicitBucketBoundaries: buckets },
    })
    this.#durations.set(side, made)
    return made
  }
}

export class Recording {
  readonly context: Context
  readonly #span: Span
  readonly #content: boolean
  readonly #duration: Histogram
  readonly #attributes: { readonly common: Attributes; readonly target: Attributes }
  readonly #began: number = performance.now()

  constructor(
    context: Context,
    span: Span,
    content: boolean,
    duration: Histogram,
    attributes: { readonly common: Attributes; readonly target: Attributes },
  ) {
    this.context = context
    this.#span = span
    this.#content = content
    this.#duration = duration
    this.#attributes = attributes
  }

  sent(id: RequestId): void {
    this.#span.setAttribute('jsonrpc.request.id', String(id))
  }

  /** Ends it with a successful result; `type` is set for an incomplete one. */
  done(result: Readonly<JsonObject>, more: Attributes = {}): void {
    this.#span.setAttributes(more)
    if (this.#content) this.#span.setAttributes(contentAttribute('result', result['content']))
    const failed = this.#attributes.common['mcp.method.name'] === 'tools/call' && result['isError'] === true
    this.#finish(failed ? { type: 'tool_error' } : undefined)
  }

  failed(failure: Failure): void {
    this.#finish(failure)
  }

  #finish(failure: Failure | undefined): void {
    const { common, target } = this.#attributes
    const attributes: Attributes = { ...common }
    if (failure !== undefined) {
      const { type, status, message } = failure
      const errors: Attributes = { 'error.type': type, ...defined({ 'rpc.response.status_code': status }) }
      this.#span.setAttributes(errors)
      this.#span.setStatus({ code: SpanStatusCode.ERROR, ...defined({ message }) })
      Object.assign(attributes, errors)
    }
    if (failure === undefined || failure.type === 'tool_error') Object.assign(attributes, target)
    this.#duration.record((performance.now() - this.#began) / 1000, attributes)
    this.#span.end()
  }
}

function contentAttribute(what: 'arguments' | 'result', value: unknown): Attributes {
  const text = value === undefined ? undefined : contentOf(value)
  return text === undefined ? {} : { [`gen_ai.tool.call.${what}`]: text }
}

/** The trace-context keys of `_meta`, the only ones allowed without a prefix. */
const keys: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])

/** Most characters of a value; longer ones are ignored. */
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
  const found = trace.getSpanContext(context)
  return found !== undefined && trace.isSpanContextValid(found) ? found : undefined
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
