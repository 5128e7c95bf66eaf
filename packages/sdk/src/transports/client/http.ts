import { McpError } from '../../jsonrpc/error.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import { encodeHeaderValue } from '../../protocol/headers.ts'
import { MetaKey } from '../../protocol/meta.ts'
import { type ProtocolVersion, rowOf } from '../../protocol/methods.ts'
import { limits } from '../../request/limits.ts'
import { Endpoint, type HttpOptions } from './http-request.ts'
import {
  bodyText,
  discard,
  eachEvent,
  failureOf,
  mediaType,
  notAnAnswer,
  ProgressDetector,
} from './http-response.ts'
import { followAnswer, keepListening, move, type StreamSource } from './http-session.ts'
import { messagesIn, notUtf8, Tolerance } from './parse-messages.ts'
import { sse } from './sse.ts'
import {
  type ClientTransport,
  type ClientTransportEvents,
  type ClientTransportFactory,
  SessionEnded,
  type TransportRequestOptions,
} from './transport.ts'

/**
 * A server behind a URL, reached by Streamable HTTP in whichever era it speaks. Give it to `connect`.
 * Redirects to another origin are refused, and every answer is bounded. Where there is no such endpoint, the older
 * HTTP+SSE transport is tried.
 */
export function http(url: string | URL, options: HttpOptions = {}): ClientTransportFactory {
  const endpoint = Endpoint.from(url, options)
  const link = (): ClientTransport => new HttpLink(endpoint, options.maxMessageBytes ?? limits.messageBytes)
  return Object.assign(link, { older: sse(url, options) })
}

/** One request in flight, with the way its response gets back. */
interface Call {
  readonly message: JsonRpcRequest
  /** Whether only the stream that carries it may answer. */
  readonly modern: boolean
  readonly session: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly pause: (() => () => void) | undefined
  readonly advance: ProgressDetector
  answered: boolean
  /** Whether its whole answer was read, so that nothing of it is left to come. */
  read: boolean
  settle(answer: JsonRpcResponse | McpError): void
}

const either = 'application/json, text/event-stream'
const firstByteMs = 250
const leftoverMs = 1_000
const goodbyeMs = 1_000
const noticeMs = 10_000
const sessionHeader = 'mcp-session-id'
const versionHeader = 'mcp-protocol-version'

class HttpLink implements ClientTransport {
  readonly kind = 'http'
  readonly hasHeaders = true
  readonly connectsEach = true
  readonly closed: Promise<Error | undefined>
  readonly #endpoint: Endpoint
  readonly #maxBytes: number
  readonly #calls = new RotatingMap<RequestId, Call>()
  /** What has to stop when the connection ends. */
  readonly #running = new RotatingSet<(reason: McpError) => void>()
  #over: McpError | undefined
  #settle: (reason: Error | undefined) => void = () => {}
  #events: ClientTransportEvents = { message: () => {}, warning: () => {}, trace: () => {} }
  #tolerance = new Tolerance(() => {})
  #version: ProtocolVersion | undefined
  #session: string | undefined
  #listening: AbortController | undefined
  #closing: Promise<void> | undefined

  constructor(endpoint: Endpoint, maxBytes: number) {
    this.#endpoint = endpoint
    this.#maxBytes = maxBytes
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  async start(events: ClientTransportEvents): Promise<void> {
    this.#events = events
    this.#tolerance = new Tolerance((text) => events.warning(text))
  }

  get session(): string | undefined {
    return this.#session
  }

  adopt(version: ProtocolVersion): void {
    this.#version = version
  }

  request(message: JsonRpcRequest, options: TransportRequestOptions = {}): Promise<JsonRpcResponse> {
    const { signal, headers = {}, pause } = options
    if (this.#over !== undefined) return Promise.reject(this.#over)
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const modern = versionIn(message) !== undefined
      const session = message.method === 'initialize' ? undefined : this.#session
      const advance = new ProgressDetector(message)
      const call: Call = {
        message,
        modern,
        session,
        headers,
        pause,
        advance,
        answered: false,
        read: false,
        settle: () => {},
      }
      this.#calls.set(message.id, call)
      const stop = new AbortController()
      const leave = (reason: unknown): void => {
        stop.abort(reason)
        reject(reason)
      }
      const abort = (): void => {
        leave(signal?.reason)
        if (!modern && message.method !== 'initialize') this.#cancel(message, signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#running.add(leave)
      const carried = this.#carry(call, stop.signal).catch(reject)
      call.settle = (answer) => {
        if (answer instanceof McpError) reject(answer)
        else resolve(answer)
        if (call.read) return
        // A well-behaved stream ends with its response; any other is cut, so that its connection is free again.
        const cut = setTimeout(() => stop.abort(), leftoverMs)
        carried.finally(() => clearTimeout(cut))
      }
      carried.finally(() => {
        this.#calls.delete(message.id)
        this.#running.delete(leave)
        signal?.removeEventListener('abort', abort)
      })
    })
  }

  notify(message: JsonRpcNotification): Promise<void> {
    return this.#tell(message)
  }

  respond(message: JsonRpcResponse): Promise<void> {
    return this.#tell(message)
  }

  async listen(): Promise<void> {
    if (this.#over !== undefined) return
    this.#listening?.abort()
    const stop = new AbortController()
    this.#listening = stop
    const leave = (): void => stop.abort()
    this.#running.add(leave)
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, firstByteMs)
      const opened = (): void => {
        clearTimeout(late)
        resolve()
      }
      keepListening(this.#source(undefined, this.#session), opened, stop.signal)
        .catch((error) => {
          if (stop.signal.aborted) return
          if (error instanceof SessionEnded) this.#events.sessionEnded?.()
          else this.#tolerance.report(`The server's own stream was given up: ${error}`)
        })
        .finally(() => {
          this.#running.delete(leave)
          opened()
        })
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    const headers = this.#sessionHeaders(this.#session)
    this.#over = new McpError('CONNECTION_CLOSED', 'The connection was closed by this client')
    for (const leave of this.#running.values()) leave(this.#over)
    if (this.#session !== undefined) {
      await this.#endpoint
        .send('DELETE', headers, undefined, AbortSignal.timeout(goodbyeMs))
        .then(discard, () => {})
    }
    this.#settle(undefined)
  }

  /** Sends a request and hands on all that its answer holds. Rejects when no response can come any more. */
  async #carry(call: Call, signal: AbortSignal): Promise<void> {
    const { message } = call
    const response = await this.#post(message, call.session, call.headers, signal, call.pause)
    if (!response.ok) return this.#refused(call, response, signal)
    if (message.method === 'initialize') this.#session = this.#sessionIn(response)
    const { url } = this.#endpoint
    const type = mediaType(response)
    if (type === 'application/json') {
      const text = await bodyText(response, this.#maxBytes, signal, url)
      call.read = true
      this.#take(text, call)
      if (call.answered) return
      throw new McpError('PROTOCOL', `The answer to ${message.method} holds no response with the same id`)
    }
    if (type !== 'text/event-stream') {
      throw await notAnAnswer(response, message.method, signal, url)
    }
    const source = this.#source(call, call.session)
    if (!call.modern) {
      return followAnswer(source, response, () => call.answered, call.session !== undefined, signal)
    }
    await source.read(response, { id: undefined, retryMs: undefined }, () => {}, signal)
    if (!call.answered) {
      throw new McpError('CONNECTION_CLOSED', `The stream ended before the answer to ${message.method} came`)
    }
  }

  async #refused(call: Call, response: Response, signal: AbortSignal): Promise<void> {
    if (response.status === 404 && !call.modern && call.session !== undefined) {
      discard(response)
      throw new SessionEnded(false)
    }
    const failure = await failureOf(response, signal, this.#endpoint.url)
    if (failure instanceof McpError) throw failure
    // No endpoint that takes messages answers so, whatever it says: it may be one of the older transport.
    if (response.status === 405) throw new McpError('HTTP', failure.message, { details: { status: 405 } })
    this.#receive({ jsonrpc: '2.0', id: call.message.id, error: failure }, call)
  }

  async #tell(message: JsonRpcNotification | JsonRpcResponse): Promise<void> {
    if (this.#over !== undefined) throw this.#over
    const session = this.#session
    const late = new McpError('TIMEOUT', `${this.#endpoint.url} did not take a notice within ${noticeMs} ms`)
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(late), noticeMs)
    const leave = (reason: McpError): void => stop.abort(reason)
    this.#running.add(leave)
    try {
      await this.#deliver(message, session, stop.signal)
    } finally {
      clearTimeout(timer)
      this.#running.delete(leave)
    }
  }

  async #deliver(
    message: JsonRpcNotification | JsonRpcResponse,
    session: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const response = await this.#post(message, session, {}, signal)
    if (response.ok) {
      discard(response)
      return
    }
    if (response.status === 404 && session !== undefined) {
      discard(response)
      throw new SessionEnded(false)
    }
    const failure = await failureOf(response, signal, this.#endpoint.url)
    throw failure instanceof McpError ? failure : new McpError('HTTP', failure.message)
  }

  #post(
    message: JsonRpcMessage,
    session: string | undefined,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    pause?: () => () => void,
  ): Promise<Response> {
    this.#events.trace('sent', message)
    const own = {
      ...headers,
      accept: either,
      'content-type': 'application/json',
      ...(modernHeaders(message) ?? this.#sessionHeaders(session, message)),
    }
    return this.#endpoint.send('POST', own, JSON.stringify(message), signal, { pause })
  }

  #cancel(message: JsonRpcRequest, reason: unknown): void {
    const why = reason instanceof Error ? reason.message : 'Cancelled'
    this.#tell({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: message.id, reason: why },
    }).catch(() => {})
  }

  #sessionHeaders(session: string | undefined, message?: JsonRpcMessage): Record<string, string> {
    const headers: Record<string, string> = {}
    if (session !== undefined) headers[sessionHeader] = session
    const begins = message !== undefined && 'method' in message && message.method === 'initialize'
    if (this.#version !== undefined && !begins) headers[versionHeader] = this.#version
    return headers
  }

  #sessionIn(response: Response): string | undefined {
    const id = response.headers.get(sessionHeader)
    if (id === null || /^[\x21-\x7e]+$/.test(id)) return id ?? undefined
    this.#tolerance.report('Ignored a session id with characters that are not visible ASCII')
    return undefined
  }

  /** The streams of a session; what comes on them belongs to `call`, or to no request. */
  #source(call: Call | undefined, session: string | undefined): StreamSource {
    const { url } = this.#endpoint
    return {
      url,
      get: (place, signal) => {
        const headers = { ...this.#sessionHeaders(session), accept: 'text/event-stream' }
        const all = place.id === undefined ? headers : { ...headers, 'last-event-id': place.id }
        return this.#endpoint.send('GET', all, undefined, signal, { background: call === undefined })
      },
      read: (response, place, onMessage, signal) =>
        eachEvent(
          response,
          this.#maxBytes,
          signal,
          url,
          (event) => {
            move(place, event)
            if (event.data === '' || (event.event ?? 'message') !== 'message') return false
            const advances = this.#take(event.data, call)
            onMessage(advances === true)
            return advances !== undefined
          },
          () => this.#tolerance.report(notUtf8),
        ),
    }
  }

  /** Hands on what a text holds. Gives whether any of it brings the call on; undefined where it holds no message. */
  #take(text: string, call: Call | undefined): boolean | undefined {
    const version = call?.modern === true ? '2026-07-28' : this.#version
    let advances: boolean | undefined
    const failed = (id: RequestId, error: McpError): boolean => this.#answer(id, error, call)
    for (const message of messagesIn(text, { version, tolerance: this.#tolerance, failed })) {
      const isAdvance = call?.advance.isMadeBy(message) === true
      advances = advances === true || isAdvance
      this.#receive(message, call)
    }
    return advances
  }

  #receive(message: JsonRpcMessage, from: Call | undefined): void {
    this.#events.trace('received', message)
    if ('method' in message) {
      this.#events.message(message, from?.message.id)
      return
    }
    if (this.#answer(message.id, message, from)) return
    this.#tolerance.report(`Ignored a response to no request in flight: id ${JSON.stringify(message.id)}`)
  }

  /** Ends a call with what came for it on the stream of another, or its own; false when nobody waits for that. */
  #answer(id: RequestId | undefined, answer: JsonRpcResponse | McpError, from: Call | undefined): boolean {
    const call = id === undefined ? from : this.#calls.get(id)
    if (call === undefined || call.answered || (call.modern && call !== from)) return false
    call.answered = true
    call.settle(answer)
    return true
  }
}

/** The protocol version a request of the stateless era carries itself. */
function versionIn(message: JsonRpcMessage): string | undefined {
  if (!('method' in message)) return undefined
  const meta = message.params?.['_meta']
  const version = isObject(meta) ? meta[MetaKey.protocolVersion] : undefined
  return typeof version === 'string' ? version : undefined
}

function modernHeaders(message: JsonRpcMessage): Record<string, string> | undefined {
  const version = versionIn(message)
  if (version === undefined || !('method' in message)) return undefined
  const headers: Record<string, string> = { [versionHeader]: version, 'mcp-method': message.method }
  const named = rowOf(message.method)?.named
  const name = named === undefined ? undefined : message.params?.[named]
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
  return headers
}
