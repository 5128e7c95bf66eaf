import { McpError } from '../../jsonrpc/error.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../../jsonrpc/message.ts'
import { type Deferred, deferred, runOnce } from '../../jsonrpc/promises.ts'
import { RotatingMap, RotatingSet } from '../../jsonrpc/rotating-map.ts'
import { encodeHeaderValue } from '../../protocol/headers.ts'
import { MetaKey, metaOf } from '../../protocol/meta.ts'
import { latestVersion, type ProtocolVersion, rowOf } from '../../protocol/methods.ts'
import { limits } from '../../request/limits.ts'
import { cancelledNotification, closedByClient } from './duplex.ts'
import { Endpoint, type HttpTransportOptions } from './http-request.ts'
import {
  bodyText,
  discard,
  failureOf,
  mediaType,
  ProgressDetector,
  readEvents,
  retryAfter,
} from './http-response.ts'
import { keepStreamOpen, readResponseStream, type StreamSource, updatePosition } from './http-session.ts'
import { limitedWarnings, notUtf8Warning, parseMessages, type Warn } from './parse-messages.ts'
import { sse } from './sse.ts'
import {
  type ClientTransport,
  type ClientTransportEvents,
  type ClientTransportFactory,
  SessionEnded,
  type TransportRequestOptions,
} from './transport.ts'

/**
 * A Streamable HTTP transport to the server at a URL, for `connect`. Redirects to another origin are refused, and every
 * response is limited in size. Falls back to HTTP+SSE if there is no Streamable HTTP endpoint.
 */
export function http(url: string | URL, options: HttpTransportOptions = {}): ClientTransportFactory {
  const endpoint = new Endpoint(url, options)
  const create = (): ClientTransport =>
    new HttpTransport(endpoint, options.maxMessageBytes ?? limits.messageBytes)
  return Object.assign(create, { older: sse(url, options) })
}

interface PendingCall {
  readonly message: JsonRpcRequest
  /** Whether its response may only arrive on its own stream. */
  readonly stateless: boolean
  readonly session: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly pause: (() => () => void) | undefined
  readonly progress: ProgressDetector
  answered: boolean
  /** Whether its HTTP response was read completely. */
  read: boolean
  settle(answer: JsonRpcResponse | McpError): void
}

const acceptedTypes = 'application/json, text/event-stream'
/** Milliseconds that `listen` waits for the standalone stream to open. */
const listenOpenMs = 250
/** Milliseconds for a stream to end after its response. */
const trailingDataMs = 1_000
const deleteTimeoutMs = 1_000
const oneWayTimeoutMs = 10_000
const sessionHeader = 'mcp-session-id'
const versionHeader = 'mcp-protocol-version'

class HttpTransport implements ClientTransport {
  readonly kind = 'http'
  readonly hasHeaders = true
  readonly connectsEach = true
  readonly #closed: Deferred<Error | undefined> = deferred()
  readonly #endpoint: Endpoint
  readonly #maxBytes: number
  readonly #calls = new RotatingMap<RequestId, PendingCall>()
  /** Cancels each running operation when the transport closes. */
  readonly #cancelers = new RotatingSet<(reason: McpError) => void>()
  #closeReason: McpError | undefined
  #events: ClientTransportEvents = { message: () => {}, warning: () => {}, trace: () => {} }
  #warn: Warn = () => {}
  #version: ProtocolVersion | undefined
  #session: string | undefined
  #listening: AbortController | undefined
  readonly close: () => Promise<void> = runOnce(() => this.#end())

  constructor(endpoint: Endpoint, maxBytes: number) {
    this.#endpoint = endpoint
    this.#maxBytes = maxBytes
  }

  get closed(): Promise<Error | undefined> {
    return this.#closed.promise
  }

  async start(events: ClientTransportEvents): Promise<void> {
    this.#events = events
    this.#warn = limitedWarnings((text) => events.warning(text))
  }

  get session(): string | undefined {
    return this.#session
  }

  adopt(version: ProtocolVersion): void {
    this.#version = version
  }

  request(message: JsonRpcRequest, options: TransportRequestOptions = {}): Promise<JsonRpcResponse> {
    const { signal, headers = {}, pause } = options
    if (this.#closeReason !== undefined) return Promise.reject(this.#closeReason)
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const stateless = versionIn(message) !== undefined
      const call: PendingCall = {
        message,
        stateless,
        session: message.method === 'initialize' ? undefined : this.#session,
        headers,
        pause,
        progress: new ProgressDetector(message),
        answered: false,
        read: false,
        settle: () => {},
      }
      this.#calls.set(message.id, call)
      const stop = new AbortController()
      const cancel = (reason: unknown): void => {
        stop.abort(reason)
        reject(reason)
      }
      const abort = (): void => {
        cancel(signal?.reason)
        if (!stateless && message.method !== 'initialize') this.#cancel(message, signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#cancelers.add(cancel)
      const exchange = this.#exchange(call, stop.signal).catch(reject)
      call.settle = (answer) => {
        if (answer instanceof McpError) reject(answer)
        else resolve(answer)
        if (call.read) return
        // A stream should end with its response; otherwise it is aborted to free the connection.
        const cut = setTimeout(() => stop.abort(), trailingDataMs)
        exchange.finally(() => clearTimeout(cut))
      }
      exchange.finally(() => {
        this.#calls.delete(message.id)
        this.#cancelers.delete(cancel)
        signal?.removeEventListener('abort', abort)
      })
    })
  }

  notify(message: JsonRpcNotification): Promise<void> {
    return this.#sendOneWay(message)
  }

  respond(message: JsonRpcResponse): Promise<void> {
    return this.#sendOneWay(message)
  }

  async listen(): Promise<void> {
    if (this.#closeReason !== undefined) return
    this.#listening?.abort()
    const stop = new AbortController()
    this.#listening = stop
    const cancel = (): void => stop.abort()
    this.#cancelers.add(cancel)
    await new Promise<void>((resolve) => {
      const openTimer = setTimeout(resolve, listenOpenMs)
      const opened = (): void => {
        clearTimeout(openTimer)
        resolve()
      }
      keepStreamOpen(this.#streamSource(undefined, this.#session), opened, stop.signal)
        .catch((error) => {
          if (stop.signal.aborted) return
          if (error instanceof SessionEnded) this.#events.sessionEnded?.()
          else this.#warn(`The server's standalone stream was closed: ${error}`)
        })
        .finally(() => {
          this.#cancelers.delete(cancel)
          opened()
        })
    })
  }

  async #end(): Promise<void> {
    const headers = this.#sessionHeaders(this.#session)
    this.#closeReason = closedByClient()
    for (const cancel of this.#cancelers.values()) cancel(this.#closeReason)
    if (this.#session !== undefined) {
      await this.#endpoint
        .send('DELETE', headers, undefined, AbortSignal.timeout(deleteTimeoutMs))
        .then(discard, () => {})
    }
    this.#closed.resolve(undefined)
  }

  /** Sends a request and reads its HTTP response. Rejects if no JSON-RPC response can arrive any more. */
  async #exchange(call: PendingCall, signal: AbortSignal): Promise<void> {
    const { message } = call
    const response = await this.#post(message, call.session, call.headers, signal, call.pause)
    if (!response.ok) return this.#handleFailure(call, response, signal)
    if (message.method === 'initialize') this.#session = this.#sessionIn(response)
    const { url } = this.#endpoint
    const type = mediaType(response)
    if (type === 'application/json') {
      const text = await bodyText(response, this.#maxBytes, signal, url)
      call.read = true
      this.#receiveText(text, call)
      if (call.answered) return
      const { noResponseIn } = await import('./http-failure.ts')
      throw noResponseIn(text, response.status, message.method, url)
    }
    if (type !== 'text/event-stream') {
      const { notAResponse } = await import('./http-failure.ts')
      throw await notAResponse(response, message.method, signal, url)
    }
    const source = this.#streamSource(call, call.session)
    if (!call.stateless) {
      return readResponseStream(source, response, () => call.answered, call.session !== undefined, signal)
    }
    await source.read(response, { id: undefined, retryMs: undefined }, () => {}, signal)
    if (!call.answered) {
      throw new McpError(
        'CONNECTION_CLOSED',
        `The event stream of ${url} ended before the response to ${message.method}. Check the log of the server.`,
      )
    }
  }

  async #handleFailure(call: PendingCall, response: Response, signal: AbortSignal): Promise<void> {
    if (response.status === 404 && !call.stateless && call.session !== undefined) {
      discard(response)
      throw new SessionEnded(false)
    }
    const failure = await failureOf(response, signal, this.#endpoint.url)
    if (failure instanceof McpError) throw failure
    // 405 to a POST means no Streamable HTTP endpoint, whatever the body says: it may be one of HTTP+SSE.
    if (response.status === 405) throw new McpError('HTTP', failure.message, { details: { status: 405 } })
    this.#receive({ jsonrpc: '2.0', id: call.message.id, error: failure }, call)
  }

  async #sendOneWay(message: JsonRpcNotification | JsonRpcResponse): Promise<void> {
    if (this.#closeReason !== undefined) throw this.#closeReason
    const session = this.#session
    const late = new McpError(
      'TIMEOUT',
      `${this.#endpoint.url} did not accept a message within ${oneWayTimeoutMs} ms`,
    )
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(late), oneWayTimeoutMs)
    const cancel = (reason: McpError): void => stop.abort(reason)
    this.#cancelers.add(cancel)
    try {
      const response = await this.#post(message, session, {}, stop.signal)
      const isEnded = response.status === 404 && session !== undefined
      if (response.ok || isEnded) discard(response)
      if (response.ok) return
      if (isEnded) throw new SessionEnded(false)
      const failure = await failureOf(response, stop.signal, this.#endpoint.url)
      if (failure instanceof McpError) throw failure
      const retryAfterMs = retryAfter(response)
      const details = {
        status: response.status,
        code: failure.code,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      }
      throw new McpError('HTTP', failure.message, { details })
    } finally {
      clearTimeout(timer)
      this.#cancelers.delete(cancel)
    }
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
      accept: acceptedTypes,
      'content-type': 'application/json',
      ...(statelessHeaders(message) ?? this.#sessionHeaders(session, message)),
    }
    return this.#endpoint.send('POST', own, JSON.stringify(message), signal, { pause })
  }

  #cancel(message: JsonRpcRequest, reason: unknown): void {
    this.#sendOneWay(cancelledNotification(message, reason)).catch(() => {})
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
    this.#warn('Ignored a session id with characters that are not visible ASCII')
    return undefined
  }

  /** Reads streams whose messages belong to `call`, or to no request. */
  #streamSource(call: PendingCall | undefined, session: string | undefined): StreamSource {
    const { url } = this.#endpoint
    return {
      url,
      get: (position, signal) => {
        const headers = { ...this.#sessionHeaders(session), accept: 'text/event-stream' }
        const all = position.id === undefined ? headers : { ...headers, 'last-event-id': position.id }
        return this.#endpoint.send('GET', all, undefined, signal, { background: call === undefined })
      },
      read: (response, position, onMessage, signal) =>
        readEvents(
          response,
          this.#maxBytes,
          signal,
          url,
          (event) => {
            updatePosition(position, event)
            if (event.data === '' || (event.event ?? 'message') !== 'message') return false
            const isProgress = this.#receiveText(event.data, call)
            onMessage(isProgress === true)
            return isProgress !== undefined
          },
          () => this.#warn(notUtf8Warning),
        ),
    }
  }

  /** Handles the messages in a text. Whether any of them is progress of the call; undefined if it contains no message. */
  #receiveText(text: string, call: PendingCall | undefined): boolean | undefined {
    const version = call?.stateless === true ? latestVersion : this.#version
    let isProgress: boolean | undefined
    const failRequest = (id: RequestId, error: McpError): boolean => this.#answer(id, error, call)
    for (const message of parseMessages(text, { version, warn: this.#warn, failRequest })) {
      const madeProgress = call?.progress.isProgress(message) === true
      isProgress = isProgress === true || madeProgress
      this.#receive(message, call)
    }
    return isProgress
  }

  #receive(message: JsonRpcMessage, from: PendingCall | undefined): void {
    this.#events.trace('received', message)
    if ('method' in message) {
      this.#events.message(message, from?.message.id)
      return
    }
    if (this.#answer(message.id, message, from)) return
    this.#warn(`Ignored a response to no request in flight: id ${JSON.stringify(message.id)}`)
  }

  /** Settles the call that a response is for, on whichever stream it arrived; false if there is none. */
  #answer(id: RequestId | undefined, answer: JsonRpcResponse | McpError, from?: PendingCall): boolean {
    const call = id === undefined ? from : this.#calls.get(id)
    if (call === undefined || call.answered || (call.stateless && call !== from)) return false
    call.answered = true
    call.settle(answer)
    return true
  }
}

/** The protocol version in the `_meta` of a stateless message. */
function versionIn(message: JsonRpcMessage): string | undefined {
  if (!('method' in message)) return undefined
  const version = metaOf(message.params)[MetaKey.protocolVersion]
  return typeof version === 'string' ? version : undefined
}

function statelessHeaders(message: JsonRpcMessage): Record<string, string> | undefined {
  const version = versionIn(message)
  if (version === undefined || !('method' in message)) return undefined
  const headers: Record<string, string> = { [versionHeader]: version, 'mcp-method': message.method }
  const named = rowOf(message.method)?.named
  const name = named === undefined ? undefined : message.params?.[named]
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
  return headers
}
