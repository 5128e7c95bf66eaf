import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ByteCollector, collectedBytes } from '../../../jsonrpc/bytes.ts'
import { type JsonBody, joinParts } from '../../../jsonrpc/cached-json.ts'
import { runOnce } from '../../../jsonrpc/promises.ts'
import { RotatingSet } from '../../../jsonrpc/rotating-map.ts'
import { BackpressureWriter, StallDetector } from '../backpressure-writer.ts'
import { fullError, fullStatus, type MemoryAccount } from '../memory-budget.ts'
import { type Bounds, listenError, unref } from '../options.ts'
import type { CredentialValidity } from './event-stream.ts'
import {
  type Body,
  type HeaderFields,
  type HttpReply,
  type HttpRequest,
  type Pipe,
  sendBusy,
  singletonHeaders,
  streamHeaders,
  withoutCredentials,
} from './http-adapter.ts'

/** Bytes per write: progress is reported only per write. */
export const pieceBytes = 262_144

/** Sends a body in pieces, and disconnects a stalled reader. */
function endInPieces(response: ServerResponse, body: JsonBody, stallMs: number): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : joinParts(body)
  let written = 0
  // Middleware such as compression emits only `drain`.
  const next = (): void => {
    const piece = bytes.subarray(written, written + pieceBytes)
    written += pieceBytes
    if (written >= bytes.length) response.end(piece)
    else if (response.write(piece)) next()
    else response.once('drain', next)
  }
  next()
  if (response.writableEnded && response.writableLength === 0) return
  const watched = { progress: () => written, isBehind: () => true }
  const watch = new StallDetector(watched, stallMs, () => response.destroy())
  watch.start()
  response.once('close', () => watch.stop())
}

/** The minimum speed of a reader, in bytes per `stallMs`. */
const minBytesPerStall = 65_536

interface UnsentResponse {
  readonly response: ServerResponse
  /** Checks left before its connection is closed. */
  checks: number
}

/** Responses that were not flushed at once. All share one timer, which runs only while there are any. */
export class UnsentResponses {
  readonly stallMs: number
  readonly #responses = new RotatingSet<UnsentResponse>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param stallMs milliseconds for a reader to receive 64 kB */
  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  /** Calls back when a response ends, and closes its connection if the reader is too slow. */
  watch(response: ServerResponse, length: number, onOver: () => void): void {
    const answer = { response, checks: 1 + Math.ceil(length / minBytesPerStall) }
    this.#responses.add(answer)
    let over = false
    const end = (): void => {
      if (over) return
      over = true
      this.#responses.delete(answer)
      onOver()
    }
    response.once('finish', end)
    response.once('close', end)
    this.#timer ??= this.#later()
  }

  #later(): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        for (const answer of this.#responses.values()) if (--answer.checks === 0) answer.response.destroy()
        this.#timer = this.#responses.size > 0 ? this.#later() : undefined
      }, this.stallMs),
    )
  }
}

const singletonBits: ReadonlyMap<string, number> = new Map(
  singletonHeaders.map((name, at) => [name, 1 << at]),
)
/** The hashes of the singletons. Names are compared only where two headers have the same one. */
const singletonHashes = singletonHeaders.reduce((hashes, name) => hashes | hashOf(name), 0)

/** A bit for the length and the first letter of a name, in either case. It differs for all singletons and most headers that are sent with them. */
function hashOf(name: string): number {
  return 1 << ((name.length + 5 * name.charCodeAt(0)) & 31)
}

interface ArrivedBody {
  readonly body: Body
  readonly serve: (body: Body) => void
}

/**
 * The requests whose bodies arrived in this turn of the event loop. They are served in a row after it, which needs less CPU time,
 * because their responses are written together: each write by itself would wake a client on another core. With 16 connections a call
 * takes a third less, with one connection the same.
 */
let arrived: ArrivedBody[] = []

function serveArrived(): void {
  const requests = arrived
  arrived = []
  for (const { body, serve } of requests) serve(body)
}

/** The properties that Express and compatible frameworks add to a request; the path of a route may be a pattern. */
interface MountedRequest extends IncomingMessage {
  readonly baseUrl?: string
  readonly route?: { readonly path?: unknown }
}

export class NodeRequest implements HttpRequest {
  readonly method: string
  readonly url: string
  readonly address: string | undefined
  readonly host: string | undefined
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.method = request.method ?? ''
    this.url = request.url ?? ''
    this.address = request.socket.remoteAddress
    this.host = request.headers.host
    this.#request = request
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return typeof value === 'string' ? value : value?.join(', ')
  }

  headers(): Readonly<Record<string, string>> {
    return withoutCredentials(Object.entries(this.#request.headers))
  }

  repeats(name: string): boolean {
    const { rawHeaders } = this.#request
    let count = 0
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const raw = rawHeaders[i]
      if (raw !== undefined && raw.length === name.length && raw.toLowerCase() === name) count++
    }
    return count > 1
  }

  /** `headers` of Node has the first of several, so duplicates are found in `rawHeaders`. */
  repeatedSingleton(): string | undefined {
    const { rawHeaders } = this.#request
    let seen = 0
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const hash = hashOf(rawHeaders[i] ?? '') & singletonHashes
      if ((seen & hash) !== 0) return repeatedAmong(rawHeaders)
      seen |= hash
    }
    return undefined
  }

  isAt(path: string): boolean {
    const url = this.url
    return url === path || isPath(url, path) || isPath(originalUrl(this.#request), path)
  }

  /** Express and compatible frameworks provide the matched prefix and route. */
  get isMounted(): boolean {
    const request: MountedRequest = this.#request
    const { baseUrl = '', route } = request
    const mount = `${baseUrl}${route?.path ?? ''}`
    return mount.length > 1 && !mount.startsWith('/.well-known/') && isPath(originalUrl(request), mount)
  }

  read(maxBytes: number, memory: MemoryAccount): Promise<Body> {
    const request = this.#request
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > maxBytes) return Promise.resolve({ type: 'too large' })
    // A body that exceeds a limit is rejected before it is read.
    const full = announced > freeBytes ? memory.exceeded(collectedBytes(announced), 'request') : undefined
    if (full !== undefined) return Promise.resolve({ type: 'no room', full })
    if (request.readableEnded) return Promise.resolve(parsedBody(request))
    return new Promise((resolve) => {
      let whole: Uint8Array | undefined
      let parts: ByteCollector | undefined
      let reserved = 0
      const release = (): void => {
        memory.release(reserved)
        reserved = 0
        parts?.clear()
      }
      const stop = (body: Body): void => {
        request.off('data', onData)
        request.off('end', onEnd)
        request.pause()
        release()
        resolve(body)
      }
      const onData = (chunk: Uint8Array): void => {
        // A body that arrives in one chunk is not counted: it is parsed in this turn.
        if (chunk.length === announced) {
          whole = chunk
          return
        }
        parts ??= new ByteCollector()
        if (parts.length + chunk.length > maxBytes) {
          stop({ type: 'too large' })
          return
        }
        const full = memory.reserve(collectedBytes(chunk.length), 'request')
        if (full !== undefined) {
          stop({ type: 'no room', full })
          return
        }
        if (reserved === 0) request.once('close', release)
        reserved += collectedBytes(chunk.length)
        parts.add(chunk)
      }
      const onEnd = (): void => {
        const bytes = whole ?? parts?.drain() ?? new Uint8Array()
        if (reserved > 0) release()
        const body: Body = { type: 'bytes', bytes }
        if (bytes.length > freeBytes) resolve(body)
        else if (arrived.push({ body, serve: resolve }) === 1) setImmediate(serveArrived)
      }
      request.on('data', onData)
      request.on('end', onEnd)
    })
  }
}

/** The first singleton that occurs a second time, as it was sent. */
function repeatedAmong(rawHeaders: readonly string[]): string | undefined {
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const bit = singletonBits.get(rawHeaders[i]?.toLowerCase() ?? '') ?? 0
    if ((seen & bit) !== 0) return rawHeaders[i]
    seen |= bit
  }
  return undefined
}

/** Maximum pipelined requests that wait on one connection. */
const pipelined = 32
const waiting = new WeakMap<Socket, number>()

/**
 * Serves a pipelined request after the responses before it were sent, so that a client which reads nothing has one unsent
 * response, not many. A connection with too many waiting requests is closed.
 */
export function servePipelined(
  request: IncomingMessage,
  response: ServerResponse,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const { socket } = request
  const before = waiting.get(socket) ?? 0
  if (before >= pipelined) {
    socket.destroy()
    return
  }
  waiting.set(socket, before + 1)
  response.once('socket', () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
    serve(request, response)
  })
}

function isPath(url: string | undefined, path: string): boolean {
  return url?.startsWith(path) === true && (url.length === path.length || url[path.length] === '?')
}

/** The URL before a router removed the prefix of its mount. */
function originalUrl(request: object): string | undefined {
  return 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : undefined
}

/** The body that middleware parsed before this handler. */
function parsedBody(request: object): Body {
  const body = 'body' in request ? request.body : undefined
  // Text or bytes, as of express.text(), were not parsed as JSON.
  const isParsed = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)
  return isParsed ? { type: 'value', value: body } : { type: 'consumed' }
}

/** Bodies and responses up to this size are not counted: the number of connections is limited. */
const freeBytes = 4096

export class NodeReply implements HttpReply {
  extra: HeaderFields | undefined
  memory: MemoryAccount | undefined
  validity: CredentialValidity | undefined
  readonly sharesTimers = true
  readonly #response: ServerResponse
  readonly #unsent: UnsentResponses
  #listener: (() => void) | undefined

  /** @param unsent watches responses that are not flushed at once */
  constructor(response: ServerResponse, unsent: UnsentResponses) {
    this.#response = response
    this.#unsent = unsent
  }

  onClose(listener: () => void): void {
    if (this.#listener === undefined) this.#response.once('close', () => this.#listener?.())
    this.#listener = listener
    if (this.#response.closed) queueMicrotask(listener)
  }

  send(status: number, body: JsonBody, headers?: HeaderFields): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const length = typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)
    const full = length > freeBytes ? this.memory?.reserve(length) : undefined
    if (full !== undefined) {
      sendBusy(this, fullStatus(full), fullError(full))
      return
    }
    const own: Record<string, string | number> =
      body === '' ? { 'Content-Length': 0 } : { 'Content-Type': 'application/json', 'Content-Length': length }
    if (status === 204) delete own['Content-Length']
    if (headers !== undefined) Object.assign(own, headers)
    if (this.extra !== undefined) Object.assign(own, this.extra)
    // The rest of a rejected body is not read.
    if (status === 413 || (status >= 429 && response.req.complete === false)) own['Connection'] = 'close'
    response.writeHead(status, own)
    if (length > pieceBytes) endInPieces(response, body, this.#unsent.stallMs)
    else if (typeof body === 'string') response.end(body)
    else {
      // Middleware such as compression does not work with a corked response.
      const { socket } = response
      socket?.cork()
      for (const part of body) response.write(part)
      response.end()
      socket?.uncork()
    }
    const reserved = length > freeBytes ? length : 0
    // Most responses are already in the buffer of the operating system.
    if (response.writableEnded && response.writableLength === 0) this.memory?.release(reserved)
    else this.#unsent.watch(response, length, () => this.memory?.release(reserved))
  }

  open(headers?: HeaderFields): Pipe {
    const response = this.#response
    // Errors of a stream are followed by `close`.
    response.on('error', () => {})
    if (!response.headersSent && !response.destroyed) {
      response.writeHead(200, { ...streamHeaders, ...headers, ...this.extra })
    }
    return new NodePipe(response)
  }
}

function lengthOf(parts: readonly (string | Uint8Array)[]): number {
  return parts.reduce((length, part) => length + Buffer.byteLength(part), 0)
}

/** The body of an event stream, with backpressure. */
class NodePipe implements Pipe {
  onDrained: (() => void) | undefined
  readonly #response: ServerResponse
  readonly #writer: BackpressureWriter
  #ending = false

  constructor(response: ServerResponse) {
    this.#response = response
    this.#writer = new BackpressureWriter(response, (piece, done) => response.write(piece, done), {
      onDrained: () => {
        this.onDrained?.()
        this.#finish()
      },
    })
  }

  get queued(): number {
    return this.#writer.queued
  }

  write(text: string): void {
    if (!this.#ending) this.#writer.add(text)
  }

  end(): void {
    this.#ending = true
    this.#writer.flush()
    this.#finish()
  }

  disconnect(): void {
    this.#writer.clear()
    this.#response.destroy()
  }

  #finish(): void {
    const { destroyed, writableEnded } = this.#response
    if (this.#ending && this.#writer.isEmpty && !destroyed && !writableEnded) this.#response.end()
  }
}

/** A server that listens on a port. */
export interface HttpListener {
  /** The URL of the endpoint. */
  readonly url: string
  /** The actual port, also if 0 was given. */
  readonly port: number
  /** Stops listening and closes the handler: ends streams, and sends responses within 1 s. */
  close(): Promise<void>
}

/** Longer than the idle timeout of clients and proxies, so that they close idle connections, not the server. */
const keepAliveTimeoutMs = 75_000
/** Milliseconds between checks for slow requests. */
const maxCheckMs = 30_000

/**
 * Listens on a port.
 * @throws McpError 'CONNECT_FAILED' if it cannot listen
 */
export async function listenOn(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  options: { port: number; host: string; path: string; bounds: Bounds; onClose(): Promise<void> },
): Promise<HttpListener> {
  const { createServer } = await import('node:http')
  const { host, path, bounds, onClose } = options
  const { headersMs, requestMs } = bounds
  const timeouts = {
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.max(100, Math.min(maxCheckMs, headersMs / 2, requestMs / 2)),
  }
  const server = createServer(timeouts, handle)
  server.maxConnections = bounds.httpConnections
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(host, options.port, cause)))
    server.listen(options.port, host, resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const name = host.includes(':') ? `[${host}]` : host
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await onClose()
    server.closeIdleConnections()
    // Node counts a connection as busy that a client opened in advance and has not used.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    setTimeout(() => server.closeAllConnections(), 100).unref()
    await closed
  }
  return {
    url: `http://${name}:${port}${path}`,
    port,
    close: runOnce(close),
  }
}
