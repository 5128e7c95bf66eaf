/** `@modelcontextprotocol/node`: the endpoint of version 2 for `node:http` and Express. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { allowsHost, loopbackNames } from '../server/http-context.ts'
import {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '../server/streamableHttp.ts'
import type { AuthInfo } from '../types.ts'
import { type Uncovered, uncovered } from '../uncovered.ts'
import type { McpHandlerRequestOptions } from './handler.ts'

export {
  StreamableHTTPServerTransport as NodeStreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
}

export type NodeMcpRequestHandler = (
  req: IncomingMessage & { auth?: AuthInfo },
  res: ServerResponse,
  parsedBody?: unknown,
) => Promise<void>

/**
 * Serves requests of `node:http` with a handler of web requests.
 * @param options `onerror`: called when the handler or the body of its response fails. The client gets status 500, or a closed
 *   connection if the response has begun
 */
export function toNodeHandler(
  handler: { fetch: (request: Request, options?: McpHandlerRequestOptions) => Promise<Response> },
  options: { onerror?: (error: Error) => void } = {},
): NodeMcpRequestHandler {
  return async (req, res, parsedBody) => {
    const disconnected = new AbortController()
    res.once('close', () => disconnected.abort())
    try {
      // Express passes its `next` as the third argument.
      const parsed = typeof parsedBody === 'function' ? undefined : parsedBody
      const body = parsed ?? ('body' in req ? req.body : undefined)
      const request = webRequest(req, body, disconnected.signal)
      const response = await handler.fetch(request, {
        ...(body === undefined ? {} : { parsedBody: body }),
        ...(req.auth === undefined ? {} : { authInfo: req.auth }),
      })
      res.writeHead(response.status, outgoingHeaders(response.headers))
      if (response.body === null) res.end()
      else await pipeline(Readable.from(response.body), res)
    } catch (error) {
      if (isPrematureClose(error)) return
      options.onerror?.(error instanceof Error ? error : new Error(String(error)))
      if (res.headersSent) res.destroy()
      else res.writeHead(500).end()
    }
  }
}

/** The headers as Node takes them: `Headers` yields each cookie as an entry of its own. */
function outgoingHeaders(headers: Headers): OutgoingHttpHeaders {
  const cookies = headers.getSetCookie()
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) }
}

/** Whether the client disconnected before the end of the response. */
function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

function webRequest(req: IncomingMessage, parsedBody: unknown, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) headers.append(name, one)
  }
  const url = `http://${req.headers.host ?? 'localhost'}${req.url ?? '/'}`
  const method = req.method ?? 'GET'
  if (method !== 'POST') return new Request(url, { method, headers, signal })
  const body = parsedBody === undefined ? Readable.toWeb(req) : JSON.stringify(parsedBody)
  if (parsedBody !== undefined) headers.delete('content-length')
  const init = { method, headers, signal, body, duplex: 'half' }
  return new Request(url, isInit(init) ? init : {})
}

/** The streams of Node are those of the web, under another type. */
function isInit(init: object): init is RequestInit {
  return 'body' in init
}

type HostCheck = (req: IncomingMessage, res: ServerResponse) => boolean

/** Whether a request is for one of these host names; otherwise it was answered with 403. */
export function hostHeaderValidation(allowedHostnames: string[]): HostCheck {
  return (req, res) => allowsHost(req, res, allowedHostnames)
}

/** As `hostHeaderValidation`, for the names of this machine. */
export function localhostHostValidation(): HostCheck {
  return hostHeaderValidation([...loopbackNames])
}

const checksOrigins = 'Leave it out, and give the transport "allowedOrigins": it checks them'
export const originValidation: Uncovered = uncovered('originValidation', checksOrigins)
export const localhostOriginValidation: Uncovered = uncovered('localhostOriginValidation', checksOrigins)
export const toWebRequest: Uncovered = uncovered('toWebRequest', 'Use toNodeHandler')
