import type { IncomingMessage, ServerResponse } from 'node:http'
import { ByteCollector } from '../../jsonrpc/bytes.ts'
import { Feed } from '../feed.ts'
import type { Body, HeaderFields, HttpReply, HttpRequest, Pipe } from './face.ts'
import { streamHeaders, withoutCredentials } from './face.ts'
import type { Lease } from './lease.ts'
import { endWith, pieceBytes } from './node-body.ts'

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

  /** Node keeps the first of several Host headers, so they are counted where all still stand. */
  get host(): string | undefined {
    return this.repeats('host') ? undefined : this.#request.headers.host
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

  isAt(path: string): boolean {
    const url = this.url
    return url === path || isPath(url, path) || isPath(originalUrl(this.#request), path)
  }

  read(maxBytes: number, onBody: (body: Body) => void): void {
    const request = this.#request
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      onBody({ type: 'too large' })
      return
    }
    if (request.readableEnded) {
      onBody(parsedBody(request))
      return
    }
    const read = new ByteCollector()
    const onData = (chunk: Uint8Array): void => {
      if (read.length + chunk.length > maxBytes) {
        read.clear()
        request.off('data', onData)
        request.off('end', onEnd)
        request.pause()
        onBody({ type: 'too large' })
        return
      }
      read.add(chunk)
    }
    const onEnd = (): void => onBody({ type: 'bytes', bytes: read.take() })
    request.on('data', onData)
    request.on('end', onEnd)
  }
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
  return 'body' in request && request.body !== undefined
    ? { type: 'value', value: request.body }
    : { type: 'consumed' }
}

/** The answer to a `node:http` request. */
export class NodeReply implements HttpReply {
  extra: HeaderFields | undefined
  lease: Lease | undefined
  readonly sharesTimers = true
  readonly #response: ServerResponse
  readonly #stallMs: number
  #listener: (() => void) | undefined

  /** @param stallMs milliseconds after which a reader is cut that takes nothing of a long answer */
  constructor(response: ServerResponse, stallMs: number) {
    this.#response = response
    this.#stallMs = stallMs
  }

  onClose(listener: () => void): void {
    if (this.#listener === undefined) this.#watch()
    this.#listener = listener
    if (this.#response.closed) queueMicrotask(listener)
  }

  /** An answer that waits behind others on its connection is not told in every version of Node that this is over. */
  #watch(): void {
    const response = this.#response
    const queuedOn = response.socket === null ? response.req?.socket : undefined
    const over = (): void => {
      response.off('close', over)
      queuedOn?.off('close', over)
      this.#listener?.()
    }
    response.on('close', over)
    queuedOn?.on('close', over)
  }

  send(status: number, body: string | Uint8Array<ArrayBuffer>, headers?: HeaderFields): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    const own: Record<string, string | number> =
      body === '' ? { 'Content-Length': 0 } : { 'Content-Type': 'application/json', 'Content-Length': length }
    if (status === 204) delete own['Content-Length']
    if (headers !== undefined) Object.assign(own, headers)
    if (this.extra !== undefined) Object.assign(own, this.extra)
    if (status === 413) own['Connection'] = 'close'
    response.writeHead(status, own)
    if (length > pieceBytes) endWith(response, body, this.#stallMs)
    else response.end(body)
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
  readonly #response: ServerResponse
  readonly #feed: Feed
  #ending = false

  constructor(response: ServerResponse) {
    this.#response = response
    this.#feed = new Feed(response, (piece, done) => response.write(piece, done), {
      onDrained: () => this.#finish(),
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
