/** `createMcpHandler` of version 2: a server from the factory for each request, without sessions, on all revisions. */
import { WebStandardStreamableHTTPServerTransport } from '../server/webStandardStreamableHttp.ts'
import { type AuthInfo, isStatelessRequest } from '../types.ts'
import { NotCoveredError } from '../uncovered.ts'
import type { McpServer, Server } from './mcp-server.ts'

/** The request that a factory creates a server for. */
export interface McpRequestContext {
  era: 'legacy' | 'modern'
  authInfo?: AuthInfo
  requestInfo?: Request
}
export type McpServerFactory = (ctx: McpRequestContext) => McpServer | Server | Promise<McpServer | Server>

export interface McpHandlerRequestOptions {
  authInfo?: AuthInfo
  /** The JSON body, if it was read before. */
  parsedBody?: unknown
}

export interface CreateMcpHandlerOptions {
  /** `reject` is not covered: all revisions are served. */
  legacy?: 'stateless' | 'reject'
  onerror?: (error: Error) => void
  /** Has no effect: a response is JSON unless the server sends messages before it, or it takes longer than 100 ms. */
  responseMode?: 'auto' | 'sse' | 'json'
  /** Not covered: a value is refused. */
  bus?: object
  /** Has no effect. */
  maxSubscriptions?: number
  /** Has no effect. */
  keepAliveMs?: number
  /** Maximum bytes of one message. Default 4 MiB. */
  maxRequestBodySize?: number
  /** Host names of this server. Loopback names are always allowed. */
  allowedHosts?: string[]
  /** Origins whose pages may use this server. Loopback origins are always allowed. */
  allowedOrigins?: string[]
  /** `false` allows any Host and Origin, for a server behind a check of its own. */
  enableDnsRebindingProtection?: boolean
}

/** Notifies the clients that are subscribed. */
export interface ServerNotifier {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

export interface McpHttpHandler {
  fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>
  close: () => Promise<void>
  notify: ServerNotifier
}

/** Serves HTTP requests with servers of a factory. @throws NotCoveredError for an option that is not covered */
export function createMcpHandler(
  factory: McpServerFactory,
  options: CreateMcpHandlerOptions = {},
): McpHttpHandler {
  const { onerror, maxRequestBodySize, allowedHosts, allowedOrigins, enableDnsRebindingProtection } = options
  if (options.bus !== undefined)
    throw new NotCoveredError('"bus"', 'Use serveHttp of @jackfield/sdk/http with a backplane')
  if (options.legacy === 'reject') {
    throw new NotCoveredError("legacy: 'reject'", 'Leave it out: all revisions are served')
  }
  const listening = new Set<Server>()
  const report = (error: unknown): void =>
    onerror?.(error instanceof Error ? error : new Error(String(error)))
  const notifyAll = (send: (server: Server) => Promise<void>): void => {
    for (const server of listening) send(server).catch(report)
  }
  return {
    async fetch(request, { authInfo, parsedBody } = {}) {
      const body = parsedBody ?? (request.method === 'POST' ? await bodyOf(request.clone()) : undefined)
      const created = await factory({
        era: isStatelessRequest(body) ? 'modern' : 'legacy',
        requestInfo: request,
        ...(authInfo === undefined ? {} : { authInfo }),
      })
      const server = 'server' in created ? created.server : created
      server.inner.onlisten = (isOpen) => {
        if (isOpen) listening.add(server)
        else listening.delete(server)
      }
      const transport = new WebStandardStreamableHTTPServerTransport({
        ...(maxRequestBodySize === undefined ? {} : { maxRequestBodySize }),
        ...(allowedHosts === undefined ? {} : { allowedHosts }),
        ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
        ...(enableDnsRebindingProtection === undefined ? {} : { enableDnsRebindingProtection }),
      })
      await server.connect(transport)
      return transport.handleRequest(request, {
        ...(authInfo === undefined ? {} : { authInfo }),
        ...(parsedBody === undefined ? {} : { parsedBody }),
      })
    },
    async close() {
      await Promise.all(Array.from(listening, (server) => server.close()))
    },
    notify: {
      toolsChanged: () => notifyAll((server) => server.sendToolListChanged()),
      promptsChanged: () => notifyAll((server) => server.sendPromptListChanged()),
      resourcesChanged: () => notifyAll((server) => server.sendResourceListChanged()),
      resourceUpdated: (uri) => notifyAll((server) => server.sendResourceUpdated({ uri })),
    },
  }
}

async function bodyOf(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch {
    // The transport rejects a body that is not JSON.
    return undefined
  }
}
