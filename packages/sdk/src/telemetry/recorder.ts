import {
  type Attributes,
  type Context,
  type Histogram,
  type Link,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import { contentOf, subjectOf } from './attributes.ts'

/** What is recorded of requests, and where it goes. All of it has defaults. */
export interface TelemetryOptions {
  /** Default: the one of the registered provider. */
  tracer?: Tracer
  /** Default: the one of the registered provider. */
  meter?: Meter
  /** Records ids of sessions. Default false: whoever reads one may be able to use the session. */
  recordSessionIds?: boolean
  /** Records what tools are called with and what they give, 8192 characters of each. Default false. */
  recordArgumentsAndResults?: boolean
}

/** A request that begins. */
export interface Beginning {
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

/** How a request failed: the code the peer was or is answered with, else what went wrong on this side. */
export interface Failure {
  readonly type: string
  readonly status?: string
  readonly message?: string
}

const scope = '@jackfield/sdk'

/** Seconds: calls take from a few milliseconds to minutes. */
const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Writes spans and durations by the semantic conventions for MCP. */
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
    return new Recording(trace.setSpan(parent, span), span, content, this.#histogram(side), {
      common,
      target,
    })
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

/** One request that is followed. */
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

  /** It was answered with a result that is no failure, of a type to be told where it is not a complete one. */
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
      const errors: Attributes = {
        'error.type': type,
        ...(status === undefined ? {} : { 'rpc.response.status_code': status }),
      }
      this.#span.setAttributes(errors)
      this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) })
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
