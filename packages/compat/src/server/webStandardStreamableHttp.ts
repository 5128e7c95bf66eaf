/** The Streamable HTTP transport of a server for web requests: Hono, Bun, Deno, workers. */
import type { AuthInfo, JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { httpRequest } from './http-context.ts'
import {
  type EventId,
  type EventStore,
  HttpEndpoint,
  type StreamId,
  type WebStandardStreamableHTTPServerTransportOptions,
} from './http-endpoint.ts'
import { type ConnectedServer, receiveNotification, type ServingTransport } from './serving.ts'

export type { EventId, EventStore, StreamId, WebStandardStreamableHTTPServerTransportOptions }

export interface HandleRequestOptions {
  /** The JSON body, if it was read before. */
  parsedBody?: unknown
  authInfo?: AuthInfo
}

export class WebStandardStreamableHTTPServerTransport implements ServingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #endpoint: HttpEndpoint

  constructor(options: WebStandardStreamableHTTPServerTransportOptions = {}) {
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

  async handleRequest(req: Request, { parsedBody, authInfo }: HandleRequestOptions = {}): Promise<Response> {
    const url = new URL(req.url)
    const handler = this.#endpoint.handlerFor({ path: url.pathname, authInfo, isHostChecked: false })
    const { engine } = this.#endpoint.server ?? {}
    const headers = new Headers(req.headers)
    const sdkSessionId = this.#endpoint.sdkSessionIdFor(headers.get('mcp-session-id'))
    if (sdkSessionId !== undefined) headers.set('mcp-session-id', sdkSessionId)
    const hasBody = req.method === 'POST'
    const text = parsedBody === undefined ? undefined : JSON.stringify(parsedBody)
    if (text !== undefined) headers.delete('content-length')
    const request = new Request(req.url, {
      method: req.method,
      headers,
      signal: req.signal,
      ...(hasBody ? { body: text ?? req.body, duplex: 'half' } : {}),
    })
    if (engine?.wantsNotifications === true && hasBody) {
      receiveNotification(engine, parsedBody ?? (await jsonOf(request.clone())))
    }
    const served = { headers: Object.fromEntries(req.headers), url, authInfo, request: req }
    const response = await httpRequest.run(served, () => handler.fetch(request))
    const newSessionId = response.headers.get('mcp-session-id')
    if (newSessionId !== null)
      response.headers.set('mcp-session-id', await this.#endpoint.startSession(newSessionId))
    if (req.method === 'DELETE' && response.ok && this.sessionId !== undefined)
      await this.#endpoint.endSession()
    return response
  }

  async start(): Promise<void> {
    throw new NotCoveredError('a transport without a server', 'Give it to server.connect(transport)')
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
}

async function jsonOf(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch {
    return undefined
  }
}
