import { createHash, randomUUID } from 'node:crypto'
import type { JsonRpcMessage, RequestId } from '@jackfield/sdk'
import type { ClientTelemetry, Fetch, TelemetryRequest, TelemetrySpan } from '@jackfield/sdk/client'
import { defined, readJson } from '@jackfield/sdk/internal'
import type { SecretRedactor } from '../../config/secrets/redactor.ts'
import type { ActiveRequests } from '../../core/active-requests.ts'
import { isRecord } from '../../shared/json.ts'
import { oneLine } from '../../shared/text.ts'
import type { NewTraceRow, TraceCause, TraceEntry } from '../store/log-writer.ts'
import type { TraceTable } from '../store/trace-table.ts'

interface TapDeps {
  table: TraceTable
  activeRequests: ActiveRequests
  redactor: SecretRedactor
  /** Whether messages are recorded. */
  keep: boolean
  /** Additional headers with credentials. */
  maskedHeaders: readonly string[]
  /** Sends HTTP requests. */
  fetch: Fetch
  /** The `traceparent` (W3C trace context, SEP-414) that is sent with the requests of an activity row; undefined for none. */
  traceparentOf: ((row: number) => string | undefined) | undefined
  /** Called when an event could not be written. */
  failed: (error: unknown) => void
  now: () => number
  tick: () => number
}

type RequestOrNotification = Extract<JsonRpcMessage, { method: string }>
type Response = Exclude<JsonRpcMessage, RequestOrNotification>

interface OpenRequest {
  entry: TraceEntry
  tick: number
  method: string
  tool: string | null
  cause: TraceCause | null
}

/** Maximum bytes stored of one payload. */
const maxPayload = 1_048_576
/** Maximum remembered requests without a response of one connection. */
const maxOpen = 10_000

/** Records one connection. */
export class Tap {
  readonly connection: string
  /** Sets the call that a message belongs to. */
  readonly telemetry: ClientTelemetry = { begin: (request) => this.#beginSafely(request) }
  readonly #server: string
  readonly #deps: TapDeps
  /** Requests without a response, by sender and id. */
  readonly #open = { sent: new Map<RequestId, OpenRequest>(), received: new Map<RequestId, OpenRequest>() }
  /** The activity row of each request of this client. */
  readonly #rowOf = new Map<RequestId, number>()
  readonly #spans = new WeakMap<TelemetrySpan, number>()
  /** Server requests of the session era, by their params. */
  readonly #questions = new WeakMap<object, TraceEntry>()

  constructor(server: string, deps: TapDeps) {
    this.connection = `${server}/${randomUUID().slice(0, 8)}`
    this.#server = server
    this.#deps = deps
  }

  message(direction: 'sent' | 'received', message: JsonRpcMessage): void {
    if ('method' in message) this.#onRequest(direction, message)
    else this.#onResponse(direction, message)
  }

  /** Sends HTTP requests and records them. */
  readonly fetch: Fetch = async (url, init) => {
    const { maskedHeaders: masked, fetch: send, tick } = this.#deps
    const since = tick()
    const body = typeof init.body === 'string' ? bodyOf(init.body) : undefined
    const request = body?.id === undefined ? undefined : this.#open.sent.get(body.id)
    const method = init.method ?? 'GET'
    const note = (status: string, details: Record<string, unknown>, outcome: string): void => {
      const shownUrl = maskedUrl(url)
      this.#write({
        kind: 'http',
        direction: 'sent',
        method: body?.method ?? null,
        tool: request?.tool ?? null,
        rpc: rpcOf(body?.id),
        cause: request?.entry ?? null,
        reply: null,
        status,
        ms: round(tick() - since),
        summary: this.#redactedLine(`${method} ${new URL(shownUrl).pathname} → ${outcome}`),
        payload: {
          request: {
            method,
            url: shownUrl,
            headers: maskedHeaders(new Headers(init.headers), masked),
            bytes: typeof init.body === 'string' ? Buffer.byteLength(init.body) : 0,
          },
          ...details,
        },
      })
    }
    try {
      const response = await send(url, init)
      const { status, statusText } = response
      const headers = maskedHeaders(response.headers, masked)
      note(status < 400 ? 'ok' : 'error', { response: { status, statusText, headers } }, String(status))
      return response
    } catch (error) {
      const aborted = init.signal?.aborted === true
      const reason = aborted ? 'given up' : oneLine(error instanceof Error ? error.message : String(error))
      note(aborted ? 'cancelled' : 'error', { error: reason }, reason)
      throw error
    }
  }

  #onRequest(direction: 'sent' | 'received', message: RequestOrNotification): void {
    const { method, params } = message
    const target = targetOf(params)
    const tool = target === null ? null : this.#deps.redactor.text(target)
    const cause = this.#causeOf(direction, message)
    const id = 'id' in message ? message.id : undefined
    const summary = oneLine(tool === null ? method : `${method} ${tool}`)
    const rpc = rpcOf(id)
    const entry = this.#write({
      kind: 'wire',
      direction,
      method,
      tool,
      rpc,
      cause,
      reply: null,
      status: null,
      ms: null,
      summary,
      payload: message,
    })
    if (entry === undefined || id === undefined) return
    if (direction === 'received' && params !== undefined) this.#questions.set(params, entry)
    const pending = this.#open[direction]
    if (pending.size >= maxOpen) pending.clear()
    pending.set(id, { entry, tick: entry.row.tick, method, tool, cause })
  }

  #onResponse(direction: 'sent' | 'received', message: Response): void {
    const { id } = message
    const pending = this.#open[direction === 'sent' ? 'received' : 'sent']
    const request = id === undefined ? undefined : pending.get(id)
    if (id !== undefined) {
      pending.delete(id)
      if (direction === 'received') this.#rowOf.delete(id)
    }
    const failed = 'error' in message || message.result['isError'] === true
    const outcome =
      'error' in message ? `${message.error.message} (error ${message.error.code})` : typeOf(message.result)
    this.#write({
      kind: 'wire',
      direction,
      method: request?.method ?? null,
      tool: request?.tool ?? null,
      rpc: rpcOf(id),
      cause: request?.cause ?? null,
      reply: request?.entry ?? null,
      status: failed ? 'error' : 'ok',
      ms: request === undefined ? null : round(this.#deps.tick() - request.tick),
      summary: this.#redactedLine(`${request?.method ?? 'answer'}: ${outcome}`),
      payload: message,
    })
  }

  #causeOf(direction: 'sent' | 'received', message: RequestOrNotification): TraceCause | null {
    if (direction === 'sent') {
      const cancelled = message.params?.['requestId']
      const id = 'id' in message ? message.id : isId(cancelled) ? cancelled : undefined
      return rowCause(id === undefined ? undefined : this.#rowOf.get(id))
    }
    const token = message.params?.['progressToken']
    const request = isId(token) ? this.#rowOf.get(token) : undefined
    if (request !== undefined) return rowCause(request)
    // Neither has the id of its request.
    return 'id' in message || message.method === 'notifications/message'
      ? rowCause(this.#deps.activeRequests.find(this.#server, undefined).row)
      : null
  }

  #beginSafely(request: TelemetryRequest): TelemetrySpan | undefined {
    try {
      return this.#begin(request)
    } catch (error) {
      this.#deps.failed(error)
      return undefined
    }
  }

  #begin({ by, method, params, parent }: TelemetryRequest): TelemetrySpan | undefined {
    const { table, traceparentOf, activeRequests } = this.#deps
    const row = parent && this.#spans.get(parent)
    if (by === 'server') {
      const entry = this.#questions.get(params)
      if (entry !== undefined && row !== undefined) table.setCause(entry, { activity: row })
    }
    const activityRow =
      row ??
      (by === 'client' ? activeRequests.find(this.#server, { id: 0, method, params }).row : undefined) ??
      undefined
    if (activityRow === undefined) return undefined
    const span: TelemetrySpan = {
      meta: by === 'client' && traceparentOf ? defined({ traceparent: traceparentOf(activityRow) }) : {},
      sent: (id) => {
        if (this.#rowOf.size >= maxOpen) this.#rowOf.clear()
        this.#rowOf.set(id, activityRow)
      },
      run: (work) => work(),
      end: () => {},
    }
    this.#spans.set(span, activityRow)
    return span
  }

  #redactedLine(text: string): string {
    return this.#deps.redactor.text(oneLine(text))
  }

  #write(row: NewEvent): TraceEntry | undefined {
    const { keep, table, redactor, failed, now, tick } = this.#deps
    if (!keep) return undefined
    try {
      const stored = storedPayload(redactor.value(row.payload))
      const { connection } = this
      return table.add({ ...row, ...stored, at: now(), tick: tick(), server: this.#server, connection })
    } catch (error) {
      failed(error)
      return undefined
    }
  }
}

type NewEvent = Omit<
  NewTraceRow,
  'at' | 'tick' | 'server' | 'connection' | 'bytes' | 'payload' | 'sha256'
> & { payload: unknown }

/** A payload as it is stored: whole, or its beginning and the hash of the whole. */
export function storedPayload(payload: unknown): Pick<NewTraceRow, 'payload' | 'bytes' | 'sha256'> {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxPayload) return { payload: text, bytes, sha256: null }
  const beginning = Buffer.from(text)
    .subarray(0, maxPayload)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
  return { payload: beginning, bytes, sha256: createHash('sha256').update(text).digest('hex') }
}

function rowCause(activity: number | null | undefined): TraceCause | null {
  return activity === null || activity === undefined ? null : { activity }
}

function rpcOf(id: RequestId | undefined): string | null {
  return id === undefined ? null : JSON.stringify(id)
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}

function targetOf(params: Readonly<Record<string, unknown>> | undefined): string | null {
  const { name, uri, ref } = params ?? {}
  const target = isRecord(ref) ? (ref['name'] ?? ref['uri']) : (name ?? uri)
  return typeof target === 'string' ? target : null
}

function typeOf(result: Record<string, unknown>): string {
  if (result['isError'] === true) return 'the tool failed'
  return typeof result['resultType'] === 'string' ? result['resultType'] : 'complete'
}

function bodyOf(text: string): { method: string; id?: RequestId } | undefined {
  const value: unknown = readJson(text)
  if (!isRecord(value) || typeof value['method'] !== 'string') return undefined
  const { method, id } = value
  return isId(id) ? { method, id } : { method }
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

const secretHeaders: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'dpop',
  'www-authenticate',
]
const secretName =
  /(?:^|[-_])(?:token|secret|key|password|auth|signature|session|code|sig)(?:$|[-_])|api-?key/i
const mask = '[masked]'

/** Headers by lower-case name; those that may contain credentials, or are in `more`, are masked. */
function maskedHeaders(headers: Headers, more: readonly string[] = []): Record<string, string> {
  const all = new Set([...secretHeaders, ...more.map((name) => name.toLowerCase())])
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, all.has(name) || isSecretName(name) ? mask : value]),
  )
}

/** A URL without possible credentials. */
function maskedUrl(original: URL): string {
  const url = new URL(original)
  if (url.username !== '') url.username = 'masked'
  if (url.password !== '') url.password = 'masked'
  for (const name of new Set(url.searchParams.keys())) {
    if (secretName.test(name)) url.searchParams.set(name, mask)
  }
  return url.href
}

/** The protocol's own headers identify the session and are no credentials. */
function isSecretName(name: string): boolean {
  return secretName.test(name) && !name.startsWith('mcp-')
}

/** Trace context ids of activity log rows. */
export interface SpanIds {
  /** 32 hexadecimal digits, equal for all events with the same root cause. */
  trace(root: number): string
  /** 16 hexadecimal digits. */
  span(event: number): string
}

/** W3C trace context ids, derived only from the store and an event's number. */
export function createSpanIds(salt: string): SpanIds {
  const hash = (what: string, id: number): string =>
    createHash('sha256').update(`${salt} ${what} ${id}`).digest('hex')
  return {
    trace: (root) => hash('trace', root).slice(0, 32),
    span: (event) => hash('span', event).slice(0, 16),
  }
}
