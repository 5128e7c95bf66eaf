import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ByteCollector, collectedBytes } from '../../jsonrpc/bytes.ts'
import { Feed } from '../feed.ts'
import { fullError, fullStatus, type MemoryAccount } from '../memory.ts'
import { failure } from '../message.ts'
import type { Body, HeaderFields, HttpReply, HttpRequest, Pipe } from './face.ts'
import { streamHeaders, withoutCredentials } from './face.ts'
import type { Lease } from './lease.ts'
import { singletons } from './media.ts'
import { endWith, pieceBytes, type UnsentAnswers } from './node-body.ts'

const singletonBits: ReadonlyMap<string, number> = new Map(singletons.map((name, at) => [name, 1 << at]))
/** Most headers differ from all of these in length already, which costs less than a look at their letters. */
const singletonLengths: ReadonlySet<number> = new Set(singletons.map(({ length }) => length))

/** What Express and its like add to a request; a route's path is no text where it is a pattern. */
interface MountedRequest extends IncomingMessage {
  readonly baseUrl?: string
  readonly route?: { readonly path?: unknown }
}

/** A request as `node:http` gives it. */
export class NodeRequest implements HttpRequest {
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get url(): string {
    return this.#request.url ?? ''
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }

  get host(): string | undefined {
    return this.#request.headers.host
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

  /** Node keeps the first of several, so they are counted where all of them are. */
  repeatedSingleton(): string | undefined {
    const { rawHeaders } = this.#request
    let seen = 0
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const raw = rawHeaders[i]
      if (raw === undefined || !singletonLengths.has(raw.length)) continue
      const bit = singletonBits.get(raw.toLowerCase())
      if (bit === undefined) continue
      if ((seen & bit) !== 0) return raw
      seen |= bit
    }
    return undefined
  }

  isAt(path: string): boolean {
    const url = this.url
    return url === path || isPath(url, path) || isPath(originalUrl(this.#request), path)
  }

  /** Express and its like say which prefix and which route matched. */
  get isMounted(): boolean {
    const request: MountedRequest = this.#request
    const { baseUrl = '', route } = request
    const mount = `${baseUrl}${route?.path ?? ''}`
    return mount.length > 1 && !mount.startsWith('/.well-known/') && isPath(originalUrl(request), mount)
  }

  read(maxBytes: number, memory: MemoryAccount, onBody: (body: Body) => void): void {
    const request = this.#request
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > maxBytes) {
      onBody({ type: 'too large' })
      return
    }
    // A body that will not fit is refused before it is read.
    const full = announced > freeBytes ? memory.refuses(collectedBytes(announced)) : undefined
    if (full !== undefined) {
      onBody({ type: 'no room', full })
      return
    }
    if (request.readableEnded) {
      onBody(parsedBody(request))
      return
    }
    const read = new ByteCollector()
    let held = 0
    const release = (): void => {
      memory.give(held)
      held = 0
      read.clear()
    }
    const stop = (why: Body): void => {
      request.off('data', onData)
      request.off('end', onEnd)
      request.pause()
      release()
      onBody(why)
    }
    const onData = (chunk: Uint8Array): void => {
      if (read.length + chunk.length > maxBytes) {
        stop({ type: 'too large' })
        return
      }
      // A body that is there at once is gone again before anything else comes.
      if (chunk.length !== announced) {
        const full = memory.admit(collectedBytes(chunk.length))
        if (full !== undefined) {
          stop({ type: 'no room', full })
          return
        }
        if (held === 0) request.once('close', release)
        held += collectedBytes(chunk.length)
      }
      read.add(chunk)
    }
    const onEnd = (): void => {
      const bytes = read.take()
      release()
      onBody({ type: 'bytes', bytes })
    }
    request.on('data', onData)
    request.on('end', onEnd)
  }
}

/** Requests that one connection may have waiting for the one before them. */
const pipelined = 32
const waiting = new WeakMap<Socket, number>()

/**
 * Serves a pipelined request once the answers before it on its connection are sent: a client that sends many requests and
 * reads nothing has one answer waiting for it, not many. A connection on which too many wait is closed.
 */
export function inTurn(
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

/** Routers that mount a handler under a path cut it off `url` and keep it here. */
function originalUrl(request: object): string | undefined {
  return 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : undefined
}

/** What a body parser in front of this handler left. */
function parsedBody(request: object): Body {
  const body = 'body' in request ? request.body : undefined
  // A parser of text or bytes, such as express.text(), leaves what was not parsed as JSON.
  const isParsed = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)
  return isParsed ? { type: 'value', value: body } : { type: 'consumed' }
}

/** Bodies and answers up to this size are let through whether or not there is room: connections are bounded in number. */
const freeBytes = 4096

/** The answer to a `node:http` request. */
export class NodeReply implements HttpReply {
  extra: HeaderFields | undefined
  memory: MemoryAccount | undefined
  lease: Lease | undefined
  readonly sharesTimers = true
  readonly #response: ServerResponse
  readonly #unsent: UnsentAnswers
  #listener: (() => void) | undefined

  /** @param unsent watches answers that their readers do not take at once */
  constructor(response: ServerResponse, unsent: UnsentAnswers) {
    this.#response = response
    this.#unsent = unsent
  }

  onClose(listener: () => void): void {
    if (this.#listener === undefined) this.#response.once('close', () => this.#listener?.())
    this.#listener = listener
    if (this.#response.closed) queueMicrotask(listener)
  }

  send(status: number, body: string | Uint8Array<ArrayBuffer>, headers?: HeaderFields): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    const full = length > freeBytes ? this.memory?.take(length) : undefined
    if (full !== undefined) {
      this.send(fullStatus(full), JSON.stringify(failure(undefined, fullError(full))), {
        'Retry-After': '10',
      })
      return
    }
    const own: Record<string, string | number> =
      body === '' ? { 'Content-Length': 0 } : { 'Content-Type': 'application/json', 'Content-Length': length }
    if (status === 204) delete own['Content-Length']
    if (headers !== undefined) Object.assign(own, headers)
    if (this.extra !== undefined) Object.assign(own, this.extra)
    // What is left of a body that was refused is not waited for.
    if (status === 413 || (status >= 429 && response.req.complete === false)) own['Connection'] = 'close'
    response.writeHead(status, own)
    if (length > pieceBytes) endWith(response, body, this.#unsent.stallMs)
    else response.end(body)
    const taken = length > freeBytes ? length : 0
    if (response.writableFinished) this.memory?.give(taken)
    else this.#unsent.watch(response, length, () => this.memory?.give(taken))
  }

  open(headers?: HeaderFields): Pipe {
    const response = this.#response
    response.on('error', ignore)
    if (!response.headersSent && !response.destroyed) {
      response.writeHead(200, { ...streamHeaders, ...headers, ...this.extra })
    }
    return new NodePipe(response)
  }
}

/** A stream that breaks tells so by its `close`. */
function ignore(): void {}

/** Writes what one turn of the event loop gives at once, and no more than a slow client takes. */
class NodePipe implements Pipe {
  onDrained: (() => void) | undefined
  readonly #response: ServerResponse
  readonly #feed: Feed
  #ending = false

  constructor(response: ServerResponse) {
    this.#response = response
    this.#feed = new Feed(response, (piece, done) => response.write(piece, done), {
      onDrained: () => {
        this.onDrained?.()
        this.#finish()
      },
    })
  }

  get queued(): number {
    return this.#feed.queued
  }

  write(text: string): void {
    if (!this.#ending) this.#feed.add(text)
  }

  end(): void {
    this.#ending = true
    this.#feed.flush()
    this.#finish()
  }

  cut(): void {
    this.#feed.clear()
    this.#response.destroy()
  }

  #finish(): void {
    const { destroyed, writableEnded } = this.#response
    if (this.#ending && this.#feed.isEmpty && !destroyed && !writableEnded) this.#response.end()
  }
}
