import { ByteCollector, collectedBytes } from '../../../jsonrpc/bytes.ts'
import { type JsonBody, joinParts } from '../../../jsonrpc/cached-json.ts'
import { type Deferred, deferred } from '../../../jsonrpc/promises.ts'
import type { MemoryAccount } from '../memory-budget.ts'
import type { CredentialValidity } from './event-stream.ts'
import {
  type Body,
  type HeaderFields,
  type HttpReply,
  type HttpRequest,
  type Pipe,
  streamHeaders,
  withoutCredentials,
} from './http-adapter.ts'

export class WebRequest implements HttpRequest {
  readonly #request: Request
  readonly #url: URL

  constructor(request: Request) {
    this.#request = request
    this.#url = new URL(request.url)
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#url.pathname + this.#url.search
  }

  get address(): undefined {
    return undefined
  }

  get host(): string | undefined {
    return this.header('host') ?? this.#url.host
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  headers(): Readonly<Record<string, string>> {
    return withoutCredentials(this.#request.headers)
  }

  /** `Headers` joins repeated headers. */
  repeats(): boolean {
    return false
  }

  /** Duplicates are joined to a list, which is not a valid value, so the check of the header rejects it. */
  repeatedSingleton(): undefined {}

  isAt(path: string): boolean {
    return this.#url.pathname === path
  }

  async read(maxBytes: number, memory: MemoryAccount): Promise<Body> {
    const request = this.#request
    if (request.bodyUsed) return { type: 'consumed' }
    if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return { type: 'too large' }
    try {
      return await readAll(request, maxBytes, memory)
    } catch {
      return { type: 'cut off' }
    }
  }
}

async function readAll(request: Request, maxBytes: number, memory: MemoryAccount): Promise<Body> {
  const read = new ByteCollector()
  if (request.body === null) return { type: 'bytes', bytes: read.drain() }
  const reader = request.body.getReader()
  let reserved = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { type: 'bytes', bytes: read.drain() }
      if (read.length + value.length > maxBytes) {
        await reader.cancel()
        return { type: 'too large' }
      }
      const full = memory.reserve(collectedBytes(value.length), 'request')
      if (full !== undefined) {
        await reader.cancel()
        return { type: 'no room', full }
      }
      reserved += collectedBytes(value.length)
      read.add(value)
    }
  } finally {
    memory.release(reserved)
  }
}

/** The response to a web request, as a promise of a `Response`. */
export class WebReply implements HttpReply {
  extra: HeaderFields | undefined
  memory: MemoryAccount | undefined
  validity: CredentialValidity | undefined
  readonly sharesTimers = false
  readonly #response: Deferred<Response> = deferred()
  #hasResponded = false
  #closed = false
  #listener: (() => void) | undefined

  constructor(request: Request) {
    if (request.signal.aborted) this.#close()
    else request.signal.addEventListener('abort', () => this.#close(), { once: true })
  }

  get response(): Promise<Response> {
    return this.#response.promise
  }

  onClose(listener: () => void): void {
    this.#listener = listener
    if (this.#closed) queueMicrotask(listener)
  }

  send(status: number, body: JsonBody, headers?: HeaderFields): void {
    const type = body === '' ? undefined : { 'Content-Type': 'application/json' }
    const sent = typeof body === 'string' ? body || null : joinParts(body)
    this.#respond(new Response(sent, { status, headers: { ...type, ...headers, ...this.extra } }))
  }

  open(headers?: HeaderFields): Pipe {
    const pipe = new WebPipe(() => this.#close())
    this.#respond(new Response(pipe.stream, { headers: { ...streamHeaders, ...headers, ...this.extra } }))
    return pipe
  }

  #respond(response: Response): void {
    if (this.#hasResponded) return
    this.#hasResponded = true
    this.#response.resolve(response)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#listener?.()
    if (!this.#hasResponded) this.#respond(new Response(null, { status: 499 }))
  }
}

const queueBytes = 65_536

class WebPipe implements Pipe {
  readonly stream: ReadableStream<Uint8Array>
  onDrained: (() => void) | undefined
  readonly #onClose: () => void
  readonly #encoder = new TextEncoder()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #ending = false

  constructor(onClose: () => void) {
    this.#onClose = onClose
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          if (this.queued === 0) this.onDrained?.()
        },
        cancel: () => this.#over(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: queueBytes }),
    )
  }

  get queued(): number {
    return this.#controller === undefined ? 0 : queueBytes - (this.#controller.desiredSize ?? queueBytes)
  }

  write(text: string): void {
    if (!this.#ending) this.#controller?.enqueue(this.#encoder.encode(text))
  }

  end(): void {
    if (this.#ending) return
    this.#ending = true
    this.#controller?.close()
    this.#over()
  }

  disconnect(): void {
    this.#ending = true
    this.#controller?.error(new Error('The stream was closed because its reader stalled'))
    this.#over()
  }

  #over(): void {
    this.#ending = true
    this.#controller = undefined
    this.#onClose()
  }
}
