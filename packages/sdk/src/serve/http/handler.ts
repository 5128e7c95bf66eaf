import type { IncomingMessage, ServerResponse } from 'node:http'
import { requireKnown } from '../../core/known-members.ts'
import type { Server } from '../../server/server.ts'
import { requirePort, requireServer } from '../require-server.ts'
import { Core, warnOnce } from './core.ts'
import { Guard } from './guard.ts'
import { type Listener, listenOn } from './listen.ts'
import { inTurn, NodeReply, NodeRequest } from './node.ts'
import { UnsentAnswers } from './node-body.ts'
import type { HttpOptions } from './options.ts'
import { Router } from './router.ts'
import { WebReply, WebRequest } from './web.ts'

/** A server mounted on HTTP, for every revision at once. Its functions may be taken off it and passed on. */
export interface HttpHandler {
  /** Serves a web request: Bun, Deno, workers, frameworks. */
  fetch(request: Request): Promise<Response>
  /** Serves a `node:http` request, also as a route of a Node framework. */
  node(request: IncomingMessage, response: ServerResponse): void
  /**
   * Serves on a port of its own (Node). Port 0, the default, takes any free one.
   * @param options the port, or an object; `host` is 127.0.0.1 unless given, so that only this machine can connect
   * @throws McpError 'INVALID' for a port that is not a whole number from 0 to 65535
   */
  listen(options?: number | { port?: number; host?: string }): Promise<Listener>
  /** Ends everything: subscriptions are told, what handlers still answer within 1 s is sent, then 503. */
  close(): Promise<void>
}

const notOfNode =
  'handler.node takes the request and the response of node:http. In Fastify, call reply.hijack() and pass request.raw ' +
  'and reply.raw; in Hono, return handler.fetch(c.req.raw).'

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::', ''])

const optionNames = Object.keys({
  keys: true,
  backplane: true,
  acceptUnknownStates: true,
  sessions: true,
  path: true,
  sse: true,
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  clientAddress: true,
  limits: true,
  onWarning: true,
  acceptUnaskedAnswers: true,
  dangerouslyAllowAnyHost: true,
  dangerouslyAllowAnyOrigin: true,
} satisfies Record<keyof HttpOptions, true>)

/**
 * Mounts a server on HTTP.
 * @throws McpError 'INVALID' for an option that does not exist, TypeError for one that cannot be used
 */
export function serveHttp(server: Server, options: HttpOptions = {}): HttpHandler {
  requireServer(server, 'serveHttp')
  requireKnown('The options object of serveHttp', options, optionNames)
  const warn = options.onWarning ?? ((message: string): void => console.warn(message))
  const path = options.path ?? '/mcp'
  checkPath('path', path)
  if (options.sse !== undefined) checkPath('sse', options.sse)
  if (options.sse === path)
    throw new TypeError(`sse: "${path}" is the path of the endpoint, so it needs another`)
  checkSessions(options)
  const guard = new Guard({
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    anyHost: options.dangerouslyAllowAnyHost ?? false,
    anyOrigin: options.dangerouslyAllowAnyOrigin ?? false,
  })
  const core = new Core(server, options, warn)
  const router = new Router(core, guard, path, options, warn)
  if (server.scopes.length > 0 && options.authenticate === undefined) {
    warn(
      `${server.info.name}: some definitions need scopes, but nobody is asked who they are, so nobody can use those. ` +
        'Give serveHttp an authenticate, such as bearer of @jackfield/sdk/auth.',
    )
  }
  if (options.sessions === 'none') {
    for (const what of server.memoryOnly ?? []) {
      warnOnce(
        warn,
        `${server.info.name}: with sessions: 'none' any process may serve a request, but ${what}`,
      )
    }
  }

  const unsent = new UnsentAnswers(core.bounds.streamStallMs)
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    router.handle(new NodeRequest(request), new NodeReply(response, unsent))
  const node = (request: IncomingMessage, response: ServerResponse): void => {
    if (!('writeHead' in response)) throw new TypeError(notOfNode)
    if (response.socket === null) inTurn(request, response, serve)
    else serve(request, response)
  }

  return {
    node,
    fetch: (request) => {
      const reply = new WebReply(request)
      router.handle(new WebRequest(request), reply)
      return reply.response
    },
    listen: async (options = {}) => {
      const given = typeof options === 'number' ? { port: options } : options
      requireKnown('The options object of listen', given, ['port', 'host'])
      const { port = 0, host = '127.0.0.1' } = given
      requirePort('listen', port)
      if (everywhere.has(host)) {
        warn(`Listening on every network interface: name the hosts clients use in allowedHosts.`)
      } else {
        guard.allowHost(host.includes(':') ? `[${host}]` : host)
      }
      router.ownsPort = true
      await core.join()
      return listenOn(node, { port, host, path, bounds: core.bounds, onClose: () => core.close() })
    },
    close: () => core.close(),
  }
}

function checkSessions({ sessions, sse }: HttpOptions): void {
  if (sessions !== undefined && sessions !== 'none') {
    throw new TypeError(
      `sessions: ${JSON.stringify(sessions)} is not known. Use 'none', or leave it out for sessions in memory`,
    )
  }
  if (sessions === 'none' && sse !== undefined) {
    throw new TypeError("sse: HTTP+SSE needs sessions. Leave out sse, or leave out sessions: 'none'")
  }
}

function checkPath(option: string, path: string): void {
  if (path.startsWith('/') && !/[?#\s]/.test(path)) return
  throw new TypeError(`${option}: "${path}" must begin with "/" and have no query`)
}
