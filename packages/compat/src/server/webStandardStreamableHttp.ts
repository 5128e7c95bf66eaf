/** The Streamable HTTP transport of a server for web requests: Hono, Bun, Deno, workers. */
import type { AuthInfo, JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import { httpRequest } from './http-context.ts'
import {
  type EventId,
  type EventStore,
  HttpServing,
  type StreamId,
  type WebStandardStreamableHTTPServerTransportOptions,
} from './http-serving.ts'
import { receiveNotification, type ServingHost, type ServingTransport } from './serving.ts'

export type { EventId, EventStore, StreamId, WebStandardStreamableHTTPServerTransportOptions }

export interface HandleRequestOptions {
  /** The body that was read before. */
  parsedBody?: unknown
  authInfo?: AuthInfo
}

export class WebStandardStreamableHTTPServerTransport implements ServingTransport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #serving: HttpServing

  constructor(options: WebStandardStreamableHTTPServerTransportOptions = {}) {
    this.#serving = new HttpServing(options)
  }

  get sessionId(): string | undefined {
    return this.#serving.sessionId
  }

  async '~serve'(host: ServingHost): Promise<void> {
    this.#serving.serve({
      engine: host.engine,
      closed: () => {
        this.onclose?.()
        host.closed()
      },
      failed: (error) => host.failed(error),
    })
  }

  async handleRequest(req: Request, { parsedBody, authInfo }: HandleRequestOptions = {}): Promise<Response> {
    const url = new URL(req.url)
    const handler = this.#serving.handlerFor({ path: url.pathname, authInfo, isHostChecked: false })
    const { engine } = this.#serving.host ?? {}
    const headers = new Headers(req.headers)
    const innerId = this.#serving.innerIdFor(headers.get('mcp-session-id'))
    if (innerId !== undefined) headers.set('mcp-session-id', innerId)
    const hasBody = req.method === 'POST'
    const text = parsedBody === undefined ? undefined : JSON.stringify(parsedBody)
    if (text !== undefined) headers.delete('content-length')
    const given = new Request(req.url, {
      method: req.method,
      headers,
      signal: req.signal,
      ...(hasBody ? { body: text ?? req.body, duplex: 'half' } : {}),
    })
    if (engine?.wantsNotifications === true && hasBody) {
      receiveNotification(engine, parsedBody ?? (await jsonOf(given.clone())))
    }
    const shown = { headers: Object.fromEntries(req.headers), url, authInfo, request: req }
    const response = await httpRequest.run(shown, () => handler.fetch(given))
    const begun = response.headers.get('mcp-session-id')
    if (begun !== null) response.headers.set('mcp-session-id', await this.#serving.begin(begun))
    if (req.method === 'DELETE' && response.ok && this.sessionId !== undefined) await this.#serving.end()
    return response
  }

  async start(): Promise<void> {
    throw new NotCoveredError('a transport without a server', 'Give it to server.connect(transport)')
  }

  async send(): Promise<void> {
    return this.start()
  }

  close(): Promise<void> {
    return this.#serving.close()
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
