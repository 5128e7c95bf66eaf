import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Backplane, defineServer, McpError, type Server } from '@jackfield/sdk'
import type {
  Authenticate,
  AuthenticatedCaller,
  HttpCaller,
  HttpHandler,
  HttpRefusal,
} from '@jackfield/sdk/http'
import { defined, listenError } from '@jackfield/sdk/internal'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { GatewayFront, GatewayFrontOptions, UserGateway } from '../types/index.ts'

interface UserEndpoint {
  readonly handler: HttpHandler
  readonly gateway: UserGateway
}

/** A user whose gateway is open or is being opened. */
interface OpenUser {
  readonly endpoint: Promise<UserEndpoint>
  /** Requests whose responses have not ended. */
  requests: number
}

const defaultMaxUsers = 100

const keepAliveTimeoutMs = 75_000

/**
 * Serves a gateway to each user over HTTP, on one port. A user is identified by a bearer token or by `authenticate`; each has a
 * separate gateway, opened at the first request, so that users are isolated.
 * @throws McpError 'INVALID' without or with both of `tokens` and `authenticate`, if two users have the same token, or for a
 *   backplane without keys; 'CONNECT_FAILED' if the port is unavailable
 */
export async function serveGateways(options: GatewayFrontOptions): Promise<GatewayFront> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', keys = [randomBytes(32)], backplane } = options
  const { health, onWarning } = options
  if (backplane !== undefined && options.keys === undefined)
    throw new McpError(
      'INVALID',
      'A gateway with a backplane needs "keys", the same ones on all of its nodes',
    )
  const authenticate = authenticationOf(options)
  const [{ createServer }, { serveHttp }] = await Promise.all([
    import('node:http'),
    import('@jackfield/sdk/http'),
  ])
  /** Who sent a request: it is authenticated once, before its user is known. */
  const currentCaller = new AsyncLocalStorage<AuthenticatedCaller | HttpRefusal>()
  const authenticateOnce: Authenticate = Object.assign(async () => currentCaller.getStore() ?? unknownUser, {
    ...defined({ documents: authenticate.documents, lacking: authenticate.lacking }),
  })
  const warn = onWarning ?? console.warn
  const createHandler = (
    server: Server,
    warnAfterMount: (message: string) => void,
    shared?: Backplane,
  ): HttpHandler => {
    // A gateway's questions end with its process, so warnings about its keys do not apply.
    let isMounted = false
    const handler = serveHttp(server, {
      keys,
      ...defined({ backplane: shared }),
      path,
      allowedHosts: [host, ...(options.allowedHosts ?? [])],
      authenticate: authenticateOnce,
      onWarning: (message) => {
        if (isMounted) warnAfterMount(message)
      },
    })
    isMounted = true
    return handler
  }
  /**
   * Refuses requests without a user or to another path, and serves the documents of `authenticate`. Its warnings are about
   * the routes of a framework, and a gateway has none.
   */
  const fallback = createHandler(defineServer({ name: 'gateway', version: '1.0.0' }), () => {})
  const users = new UserGateways(options, (user, { server }) =>
    createHandler(server, warn, backplane && userBackplane(backplane, user)),
  )
  let isDraining = false
  let hasWarnedOfPath = false

  const url = (): string => {
    const address = server.address()
    const boundPort = typeof address === 'object' && address !== null ? address.port : port
    return `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}${path}`
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestPath = request.url?.split('?', 1)[0] ?? ''
    if (health !== undefined && requestPath.startsWith(`${health}/`))
      return respondToHealthCheck(requestPath.slice(health.length + 1), response, isDraining)
    if (requestPath !== path) {
      if (request.method === 'POST' && !hasWarnedOfPath) {
        hasWarnedOfPath = true
        warn(
          `A client sends requests to ${oneLine(requestPath.slice(0, 80))}, where nothing is. Give it the address ${url()}`,
        )
      }
      return void fallback.node(request, response)
    }
    let caller: AuthenticatedCaller | HttpRefusal
    try {
      caller = await authenticate(callerOf(request))
    } catch (error) {
      onWarning?.(`A request could not be authenticated: ${reasonOf(error)}`)
      return refuse(response, 503, 'The request cannot be authenticated now. Try again later')
    }
    if (!('principal' in caller))
      return currentCaller.run(caller, () => void fallback.node(request, response))
    // The client left meanwhile: the end of the request was before it could be counted.
    if (response.closed) return
    const { principal } = caller
    const user = users.of(principal)
    if (user === undefined) return refuse(response, 503, 'Too many users use this gateway. Try again later')
    user.requests++
    response.once('close', () => {
      user.requests--
    })
    try {
      const { handler } = await user.endpoint
      currentCaller.run(caller, () => void handler.node(request, response))
    } catch (error) {
      onWarning?.(`The gateway of ${principal} cannot be opened: ${reasonOf(error)}`)
      refuse(response, 503, 'The gateway cannot be opened now. Try again later')
    }
  }
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    serve(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(host, port, cause)))
    server.listen(port, host, resolve)
  })

  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await Promise.allSettled([users.close(), fallback.close()])
    server.closeAllConnections()
    await closed
  }

  return {
    url: url(),
    async drain(times) {
      isDraining = true
      await users.drain(times)
      await close()
    },
    close,
  }
}

/** The gateways of users: each is opened at the first request, and closed if it is idle and another user needs its place. */
class UserGateways {
  readonly #options: GatewayFrontOptions
  readonly #handlerOf: (user: string, gateway: UserGateway) => HttpHandler
  readonly #maxUsers: number
  /** The most recently used last. */
  readonly #users = new Map<string, OpenUser>()
  /** Gateways that are being closed: two of one user at once could not share a store. */
  readonly #closing = new Map<string, Promise<void>>()
  #isClosing = false

  constructor(options: GatewayFrontOptions, handlerOf: (user: string, gateway: UserGateway) => HttpHandler) {
    this.#options = options
    this.#handlerOf = handlerOf
    this.#maxUsers = options.maxUsers ?? (Object.keys(options.tokens ?? {}).length || defaultMaxUsers)
  }

  /** Undefined if too many users use their gateways, or if all are being closed and that of this user is not open. */
  of(name: string): OpenUser | undefined {
    let user = this.#users.get(name)
    if (user === undefined) {
      if (this.#isClosing) return undefined
      if (this.#users.size >= this.#maxUsers) {
        const [idle] = [...this.#users].filter(([, { requests }]) => requests === 0)
        if (idle === undefined) return undefined
        this.#closeIdle(...idle)
      }
      const opened = { endpoint: this.#open(name), requests: 0 }
      user = opened
      opened.endpoint.catch(() => {
        if (this.#users.get(name) === opened) this.#users.delete(name)
      })
    }
    this.#users.delete(name)
    this.#users.set(name, user)
    return user
  }

  async drain(times: Parameters<GatewayFront['drain']>[0]): Promise<void> {
    this.#isClosing = true
    await Promise.allSettled(
      [...this.#users.values()].map(async ({ endpoint }) => (await endpoint).handler.drain(times)),
    )
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await Promise.allSettled([...[...this.#users.values()].map(closeUser), ...this.#closing.values()])
  }

  async #open(user: string): Promise<UserEndpoint> {
    await this.#closing.get(user)
    const gateway = await this.#options.open(user)
    return { gateway, handler: this.#handlerOf(user, gateway) }
  }

  #closeIdle(name: string, user: OpenUser): void {
    const { onWarning } = this.#options
    this.#users.delete(name)
    const closed = closeUser(user)
      .catch((error) => onWarning?.(`The gateway of ${name} cannot be closed: ${reasonOf(error)}`))
      .finally(() => {
        if (this.#closing.get(name) === closed) this.#closing.delete(name)
      })
    this.#closing.set(name, closed)
  }
}

async function closeUser({ endpoint }: OpenUser): Promise<void> {
  const { handler, gateway } = await endpoint
  await handler.close()
  await gateway.close()
}

/** The part of a backplane that belongs to one user: the servers of all of them have one name. */
function userBackplane(backplane: Backplane, user: string): Backplane {
  const userKey = (name: string): string => `gateway:${encodeURIComponent(user)}:${name}`
  const { instance, spansProcesses } = backplane
  return {
    ...defined({ instance, spansProcesses }),
    get: (key) => backplane.get(userKey(key)),
    set: (key, ...rest) => backplane.set(userKey(key), ...rest),
    add: (key, ...rest) => backplane.add(userKey(key), ...rest),
    swap: (key, ...rest) => backplane.swap(userKey(key), ...rest),
    delete: (key) => backplane.delete(userKey(key)),
    append: (log, ...rest) => backplane.append(userKey(log), ...rest),
    read: (log, ...rest) => backplane.read(userKey(log), ...rest),
    publish: (topic, message) => backplane.publish(userKey(topic), message),
    subscribe: (topic, ...rest) => backplane.subscribe(userKey(topic), ...rest),
  }
}

function respondToHealthCheck(name: string, response: ServerResponse, isDraining: boolean): void {
  const status = name === 'live' || (name === 'ready' && !isDraining) ? 200 : name === 'ready' ? 503 : 404
  response.writeHead(status, { 'content-type': 'text/plain' })
  response.end(status === 200 ? 'ok' : status === 503 ? 'draining' : 'not found')
}

const unknownUser: HttpRefusal = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer', 'content-type': 'application/json' },
  body: errorBody('Send the bearer token of a user of this gateway'),
}

function authenticationOf({ tokens, authenticate }: GatewayFrontOptions): Authenticate {
  if ((tokens === undefined) === (authenticate === undefined))
    throw new McpError('INVALID', 'A gateway over HTTP needs "tokens" or "authenticate", and not both')
  if (authenticate !== undefined) return authenticate
  const users = usersOf(tokens ?? {})
  return async (request) => {
    const principal = users.get(digestOf(bearerTokenOf(request) ?? ''))
    return principal === undefined ? unknownUser : { principal }
  }
}

function usersOf(tokens: Readonly<Record<string, string>>): Map<string, string> {
  const users = new Map<string, string>()
  for (const [user, token] of Object.entries(tokens)) {
    const isDigest = token.startsWith('sha256:')
    if (isDigest && !/^sha256:[0-9a-f]{64}$/i.test(token))
      throw new McpError('INVALID', `The token of ${user} needs 64 hexadecimal digits after "sha256:"`)
    if (token.length < 16)
      throw new McpError('INVALID', `The token of ${user} is too short: it needs 16 characters at least`)
    const digest = isDigest ? token.slice('sha256:'.length).toLowerCase() : digestOf(token)
    const other = users.get(digest)
    if (other !== undefined) throw new McpError('INVALID', `${other} and ${user} have the same token`)
    users.set(digest, user)
  }
  return users
}

function bearerTokenOf(request: HttpCaller): string | undefined {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(request.header('authorization') ?? '')?.[1]
}

function callerOf({
  method = 'GET',
  url = '/',
  headers,
  headersDistinct,
  socket,
}: IncomingMessage): HttpCaller {
  return {
    method,
    url,
    address: socket.remoteAddress,
    header: (name) => [headers[name]].flat().join(', ') || undefined,
    repeats: (name) => (headersDistinct[name]?.length ?? 0) > 1,
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function errorBody(message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } })
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(errorBody(message))
}
