import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalid } from '../../../jsonrpc/error.ts'
import type { Backplane } from '../../../request/backplane.ts'
import { requireKnown } from '../../../request/object-members.ts'
import type { Server } from '../../../server/server.ts'
import { requirePort, requireServer, stateOptionNames } from '../options.ts'
import { Guard } from './guard.ts'
import {
  type HttpListener,
  listenOn,
  NodeReply,
  NodeRequest,
  servePipelined,
  UnsentResponses,
} from './node.ts'
import { type ServeHttpOptions, workerVariable } from './options.ts'
import { Router } from './router.ts'
import { HttpServerState, warnOnce } from './server-state.ts'
import { WebReply, WebRequest } from './web.ts'
import type { DrainTimes, WorkersListener } from './workers.ts'

/** Where and how to listen. */
export interface ListenOptions {
  /** Default 0: any free port. */
  port?: number
  /** Default 127.0.0.1: this machine only. */
  host?: string
  /**
   * Processes that serve the port, with `node:cluster`: `'auto'` starts one for each core. The program runs once more in each of
   * them; the process that was started serves no requests, restarts workers that exit, and keeps the state that they share in
   * memory: keys, used states, sessions and their events. Guard code that must run once with `cluster.isPrimary`. A `backplane`
   * of `serveHttp` replaces the shared memory. Default 1: this process serves.
   */
  workers?: 'auto' | number
}

/** A server on HTTP, for all revisions. Its functions can be destructured. */
export interface HttpHandler {
  /** Serves a web request: Bun, Deno, workers, frameworks. */
  fetch(request: Request): Promise<Response>
  /** Serves a `node:http` request, also as a route of a Node framework. */
  node(request: IncomingMessage, response: ServerResponse): void
  /**
   * Listens on a port (Node).
   * @param options the port, or `ListenOptions`
   * @throws McpError 'INVALID' for a port that is not a whole number from 0 to 65535, `workers` that cannot be, or a handler that was
   *   closed; 'CONNECT_FAILED' if it cannot listen
   */
  listen(options?: number | ListenOptions): Promise<HttpListener>
  /**
   * Prepares for the end of this node, as on SIGTERM: the readiness check fails at once and connections are closed after their
   * responses, while requests are still served; then it waits until no request runs, and closes the handler.
   * @param options `settleMs`: milliseconds for load balancers to react, default 5000; `graceMs`: milliseconds for requests to finish
   *   afterwards, default 25 000. Requests that still run then are answered as `close` does
   */
  drain(options?: DrainTimes): Promise<void>
  /** Closes the handler: ends subscriptions, sends responses within 1 s, and answers further requests with 503. */
  close(): Promise<void>
}

const notNodeObjects =
  'handler.node takes the request and the response of node:http. In Fastify, call reply.hijack() and pass request.raw ' +
  'and reply.raw; in Hono, return handler.fetch(c.req.raw).'

const notWebRequest = 'handler.fetch takes a web Request. For node:http and Express, use handler.node.'

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::', ''])

const optionNames = Object.keys({
  ...stateOptionNames,
  sessions: true,
  path: true,
  sse: true,
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  clientAddress: true,
  health: true,
  observer: true,
  limits: true,
  onWarning: true,
  dangerouslyAcceptUnsentQuestions: true,
  dangerouslyAllowAnyHost: true,
  dangerouslyAllowAnyOrigin: true,
} satisfies Record<keyof ServeHttpOptions, true>)

const toListen = 'give it to listen: serveHttp(server).listen({ port, host })'
const insteadOf: ReadonlyMap<string, string> = new Map([
  ['acceptUnaskedAnswers', 'it is now "dangerouslyAcceptUnsentQuestions"'],
  ['port', toListen],
  ['host', toListen],
])

/**
 * Mounts a server on HTTP. Call `listen` of the result to serve a port, or use its `fetch` or `node` in a framework.
 * @throws McpError 'INVALID' for an option that does not exist, TypeError for one that cannot be used
 */
export function serveHttp(server: Server, given: ServeHttpOptions = {}): HttpHandler {
  requireServer(server, 'serveHttp')
  requireKnown('The options object of serveHttp', given, optionNames, (name) => insteadOf.get(name))
  const options = withWorkerSettings(given)
  const warn = options.onWarning ?? ((message: string): void => console.warn(message))
  const path = options.path ?? '/mcp'
  checkPath('path', path)
  if (options.sse !== undefined) checkPath('sse', options.sse)
  if (options.sse === path)
    throw new TypeError(`sse: "${path}" is the path of the endpoint, so it needs another`)
  if (options.health !== undefined) checkPath('health', options.health)
  if (options.health === path || (options.health !== undefined && options.health === options.sse))
    throw new TypeError(`health: "${options.health}" is the path of an endpoint, so it needs another`)
  checkSessions(options)
  const guard = new Guard(options)
  const state = new HttpServerState(server, options, warn)
  const router = new Router(state, guard, path, options, warn)
  if (server.scopes.length > 0 && options.authenticate === undefined) {
    warn(
      `${server.info.name}: some definitions require scopes, but requests are not authenticated, so no client can use those. ` +
        'Give serveHttp an authenticate, such as bearer of @jackfield/sdk/auth.',
    )
  }
  if (options.sessions === 'none' || state.sharesSessions) {
    const reason = options.sessions === 'none' ? "with sessions: 'none'" : 'with sessions on several nodes'
    for (const what of server.memoryOnly ?? []) {
      warnOnce(warn, `${server.info.name}: ${reason} any process may serve a request, but ${what}`)
    }
  }

  let workers: WorkersListener | undefined
  const unsent = new UnsentResponses(state.bounds.streamStallMs)
  const node = (request: IncomingMessage, response: ServerResponse): void => {
    if (typeof response?.writeHead !== 'function') throw new TypeError(notNodeObjects)
    if (response.socket === null) servePipelined(request, response, node)
    else router.handle(new NodeRequest(request), new NodeReply(response, unsent))
  }

  const drain = (times: DrainTimes): Promise<void> => {
    requireKnown('The options object of drain', times, ['settleMs', 'graceMs'])
    const { settleMs = 5_000, graceMs = 25_000 } = times
    return state.drain(settleMs, graceMs)
  }

  return {
    node,
    fetch: (request) => {
      if (typeof request?.headers?.get !== 'function') throw new TypeError(notWebRequest)
      const reply = new WebReply(request)
      router.handle(new WebRequest(request), reply)
      return reply.response
    },
    listen: async (place = {}) => {
      const where = typeof place === 'number' ? { port: place } : place
      requireKnown('The options object of listen', where, ['port', 'host', 'workers'])
      const { port = 0, host = '127.0.0.1' } = where
      requirePort('listen', port)
      if (state.closing) throw invalid('listen: this handler was closed. Call serveHttp again')
      const workersModule = where.workers === undefined ? undefined : await import('./workers.ts')
      const count = workersModule?.workerCount(where.workers) ?? 1
      if (everywhere.has(host)) {
        warn(`Listening on every network interface: name the hosts clients use in allowedHosts.`)
      } else {
        guard.allowHost(host.includes(':') ? `[${host}]` : host)
      }
      const listen = async (port: number): Promise<HttpListener> => {
        router.ownsPort = true
        await state.join()
        return listenOn(node, { port, host, path, bounds: state.bounds, onClose: () => state.close() })
      }
      if (workersModule === undefined || count === 1) return listen(port)
      if (options.sessions === 'local') {
        throw invalid(
          "listen: workers share sessions, which sessions: 'local' rules out. Leave out one of them",
        )
      }
      const endable = { drain, closeHandler: () => state.close() }
      const { listenWithWorkers } = workersModule
      const isWorker = workerSettings() !== undefined
      const listener = await listenWithWorkers(count, isWorker, { port, host }, endable, listen, warn)
      if ('drain' in listener) workers = listener
      return listener
    },
    drain: (times = {}) => (workers === undefined ? drain(times) : workers.drain(times)),
    close: () => (workers === undefined ? state.close() : workers.closeHandler()),
  }
}

/** The settings that the primary process passed to this one, if it is a worker of `listen`. */
let settingsOfPrimary: { readonly instance: string; readonly key: string } | null | undefined

function workerSettings(): { readonly instance: string; readonly key: string } | undefined {
  if (settingsOfPrimary === undefined) {
    settingsOfPrimary = null
    // A worker has a channel. Deno refuses to read variables without a permission.
    const hasChannel = typeof process === 'object' && process.connected === true
    const text = hasChannel ? process.env[workerVariable] : undefined
    const [parent, instance = '', key = ''] = text?.split(' ') ?? []
    // A child process of a worker inherits the variable, but is not a worker.
    if (parent !== undefined && Number(parent) === process.ppid) {
      delete process.env[workerVariable]
      settingsOfPrimary = { instance, key }
    }
  }
  return settingsOfPrimary ?? undefined
}

/** The options of `serveHttp`, in a worker with the key and the memory that all workers share. */
function withWorkerSettings(options: ServeHttpOptions): ServeHttpOptions {
  const shared = workerSettings()
  if (shared === undefined) return options
  const { keys = [], backplane = backplaneOfPrimary(shared.instance) } = options
  return { ...options, keys: keys.length > 0 ? keys : [shared.key], backplane }
}

/** The memory of the primary process. Its code is loaded at the first use, because few programs have workers. */
function backplaneOfPrimary(instance: string): Backplane {
  const remote = async (): Promise<Backplane> => (await import('./workers.ts')).primaryChannel().backplane
  return {
    instance,
    spansProcesses: true,
    get: async (...args) => (await remote()).get(...args),
    set: async (...args) => (await remote()).set(...args),
    add: async (...args) => (await remote()).add(...args),
    swap: async (...args) => (await remote()).swap(...args),
    delete: async (...args) => (await remote()).delete(...args),
    append: async (...args) => (await remote()).append(...args),
    read: async (...args) => (await remote()).read(...args),
    publish: async (...args) => (await remote()).publish(...args),
    subscribe: async (...args) => (await remote()).subscribe(...args),
  }
}

function checkSessions({ sessions, sse }: ServeHttpOptions): void {
  if (sessions !== undefined && sessions !== 'none' && sessions !== 'local') {
    throw new TypeError(
      `sessions: ${JSON.stringify(sessions)} is not known. Use 'none' or 'local', or leave it out`,
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
