/** The Streamable HTTP transport of a server for `node:http` and Express: `serveHttp` of Jackfield behind the official class. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { AuthInfo, JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { checkedHosts, httpRequest } from './http-context.ts'
import {
  type EventId,
  type EventStore,
  HttpEndpoint,
  type StreamId,
  type WebStandardStreamableHTTPServerTransportOptions,
} from './http-endpoint.ts'
import { type ConnectedServer, receiveNotification, type ServingTransport } from './serving.ts'

export type { EventId, EventStore, StreamId }
export type StreamableHTTPServerTransportOptions = WebStandardStreamableHTTPServerTransportOptions

/** Default of `maxRequestBodySize`. */
const maxBodyBytes = 4_194_304

/** The endpoint of one server. With sessions, each client needs a transport of its own; without, each request may have one. */
export class StreamableHTTPServerTransport implements ServingTransport {
  onclose: (() => void) | undefined
  onerror: ((error: Error) => void) | undefined
  onmessage: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined
  readonly #endpoint: HttpEndpoint
  readonly #options: StreamableHTTPServerTransportOptions

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    this.#options = options
    this.#endpoint = new HttpEndpoint(options)
  }

  get sessionId(): string | undefined {
    return this.#endpoint.sessionId
  }

  async '~serve'(server: ConnectedServer): Promise<void> {
    this.#endpoint.serve({
      engine: server.engine,
      onClose: () => {
        this.onclose?.()
        server.onClose()
      },
      onError: (error) => server.onError(error),
    })
  }

  /** Serves a request. @param parsedBody the JSON body, if a parser read it before */
  async handleRequest(
    req: IncomingMessage & { auth?: AuthInfo },
    res: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void> {
    const { engine } = this.#endpoint.server ?? {}
    const url = new URL(req.url ?? '/', 'http://localhost')
    const handler = this.#endpoint.handlerFor({
      path: url.pathname,
      authInfo: req.auth,
      isHostChecked: checkedHosts.has(req),
    })
    let body = parsedBody ?? ('body' in req ? req.body : undefined)
    if (
      body === undefined &&
      engine?.wantsNotifications === true &&
      req.method === 'POST' &&
      !req.readableEnded
    ) {
      body = await readJson(req, this.#options.maxRequestBodySize ?? maxBodyBytes)
    }
    if (body !== undefined) Object.assign(req, { body })
    if (engine !== undefined)
      for (const message of Array.isArray(body) ? body : [body]) receiveNotification(engine, message)
    const { headers, auth: authInfo } = req
    const originalHeaders = { ...headers }
    const sent = headers['mcp-session-id']
    const sdkSessionId = this.#endpoint.sdkSessionIdFor(typeof sent === 'string' ? sent : undefined)
    if (sdkSessionId !== undefined) headers['mcp-session-id'] = sdkSessionId
    replaceSessionId(res, (id) => this.#startSession(id))
    const isDelete = req.method === 'DELETE'
    const closed = new Promise<void>((resolve) => res.once('close', () => resolve()))
    httpRequest.run({ headers: originalHeaders, url: hostUrl(req, url), authInfo }, () =>
      handler.node(req, res),
    )
    if (!isDelete) return
    await closed
    if (res.statusCode < 300 && this.sessionId !== undefined) await this.#endpoint.endSession()
  }

  async start(): Promise<void> {
    throw new NotCoveredError(
      'a StreamableHTTPServerTransport without a server',
      'Give it to server.connect(transport)',
    )
  }

  async send(): Promise<void> {
    return this.start()
  }

  close(): Promise<void> {
    return this.#endpoint.close()
  }

  closeSSEStream(_requestId: RequestId): void {
    throw new NotCoveredError('transport.closeSSEStream', 'Call extra.closeSSEStream() in the handler')
  }

  closeStandaloneSSEStream(): void {
    throw new NotCoveredError('transport.closeStandaloneSSEStream', 'Leave the stream to the client')
  }

  #startSession(sdkSessionId: string): string {
    // The generator and the start of onsessioninitialized run before the first await.
    this.#endpoint.startSession(sdkSessionId).catch((error) => this.onerror?.(error))
    return this.sessionId ?? sdkSessionId
  }
}

/** Replaces the session id in the headers of a response. */
function replaceSessionId(response: ServerResponse, replace: (id: string) => string): void {
  const { writeHead } = response
  const replaced = (status: number, headers: OutgoingHttpHeaders = {}): ServerResponse => {
    const name = Object.keys(headers).find((one) => one.toLowerCase() === 'mcp-session-id')
    const id = name === undefined ? undefined : headers[name]
    if (name !== undefined && typeof id === 'string') headers[name] = replace(id)
    return writeHead.call(response, status, headers)
  }
  Object.defineProperty(response, 'writeHead', { configurable: true, writable: true, value: replaced })
}

function hostUrl({ headers: { host } }: IncomingMessage, { pathname, search }: URL): URL | undefined {
  const text = `http://${host}${pathname}${search}`
  return host !== undefined && URL.canParse(text) ? new URL(text) : undefined
}

/** The JSON body of a request; undefined if it is too long or not JSON, which the endpoint then rejects. */
async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes <= maxBytes) chunks.push(chunk)
  }
  if (bytes > maxBytes) return undefined
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return undefined
  }
}
