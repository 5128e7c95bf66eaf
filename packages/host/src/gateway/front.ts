import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Backplane, McpError } from '@jackfield/sdk'
import type { AuthenticatedCaller, HttpHandler } from '@jackfield/sdk/http'
import { reasonOf } from '../shared/text.ts'
import type { GatewayFront, GatewayFrontOptions, UserGateway } from '../types/index.ts'

interface UserEndpoint {
  readonly handler: HttpHandler
  readonly gateway: UserGateway
}

const keepAliveTimeoutMs = 75_000

/**
 * Serves a gateway to each user over HTTP, on one port. A user is identified by a bearer token; each has a separate gateway,
 * opened at the first request, so that users are isolated.
 * @throws McpError 'INVALID' if two users have the same token, or for a backplane without keys; 'CONNECT_FAILED' if the port is
 *   unavailable
 */
export async function serveGateways(options: GatewayFrontOptions): Promise<GatewayFront> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', keys = [randomBytes(32)], backplane } = options
  const { health, onWarning } = options
  if (backplane !== undefined && options.keys === undefined)
    throw new McpError(
      'INVALID',
      'A gateway with a backplane needs "keys", the same ones on all of its nodes',
    )
  const users = usersOf(options.tokens)
  const [{ createServer }, { serveHttp }] = await Promise.all([
    import('node:http'),
    import('@jackfield/sdk/http'),
  ])
  const desks = new Map<string, Promise<UserEndpoint>>()
  let isDraining = false

  const open = async (user: string): Promise<UserEndpoint> => {
    const gateway = await options.open(user)
    const identified: AuthenticatedCaller = { principal: user }
    // A gateway's questions end with its process, so warnings about its keys do not apply.
    let isMounted = false
    const handler = serveHttp(gateway.server, {
      keys,
      ...(backplane !== undefined && { backplane: partOf(backplane, user) }),
      path,
      allowedHosts: [host, ...(options.allowedHosts ?? [])],
      authenticate: async () => identified,
      onWarning: (message) => {
        if (isMounted) (onWarning ?? console.warn)(message)
      },
    })
    isMounted = true
    return { handler, gateway }
  }
  const deskOf = (user: string): Promise<UserEndpoint> => {
    const known = desks.get(user)
    if (known !== undefined) return known
    const opening = open(user)
    desks.set(user, opening)
    opening.catch(() => desks.delete(user))
    return opening
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (health !== undefined && request.url?.startsWith(`${health}/`) === true)
      return respondToCheck(request.url.slice(health.length + 1), response, isDraining)
    const user = users.get(digestOf(tokenIn(request) ?? ''))
    if (user === undefined) return refuse(response, 401, 'Send the bearer token of a user of this gateway')
    try {
      const { handler } = await deskOf(user)
      handler.node(request, response)
    } catch (error) {
      onWarning?.(`The gateway of ${user} cannot be opened: ${reasonOf(error)}`)
      refuse(response, 503, 'The gateway cannot be opened now. Try again later')
    }
  }
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    serve(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new McpError('CONNECT_FAILED', `Cannot listen on ${host} port ${port}: ${cause.message}`, { cause }),
      ),
    )
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port

  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const ends = [...desks.values()].map(async (opening) => {
      const { handler, gateway } = await opening
      await handler.close()
      await gateway.close()
    })
    await Promise.allSettled(ends)
    server.closeAllConnections()
    await closed
  }

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}${path}`,
    async drain(times) {
      isDraining = true
      await Promise.allSettled(
        [...desks.values()].map(async (opening) => (await opening).handler.drain(times)),
      )
      await close()
    },
    close,
  }
}

/** The part of a backplane that belongs to one user: the servers of all of them have one name. */
function partOf(backplane: Backplane, user: string): Backplane {
  const own = (name: string): string => `gateway:${encodeURIComponent(user)}:${name}`
  const { instance, spansProcesses } = backplane
  return {
    ...(instance !== undefined && { instance }),
    ...(spansProcesses !== undefined && { spansProcesses }),
    get: (key) => backplane.get(own(key)),
    set: (key, ...rest) => backplane.set(own(key), ...rest),
    add: (key, ...rest) => backplane.add(own(key), ...rest),
    swap: (key, ...rest) => backplane.swap(own(key), ...rest),
    delete: (key) => backplane.delete(own(key)),
    append: (log, ...rest) => backplane.append(own(log), ...rest),
    read: (log, ...rest) => backplane.read(own(log), ...rest),
    publish: (topic, message) => backplane.publish(own(topic), message),
    subscribe: (topic, ...rest) => backplane.subscribe(own(topic), ...rest),
  }
}

function respondToCheck(name: string, response: ServerResponse, isDraining: boolean): void {
  const status = name === 'live' || (name === 'ready' && !isDraining) ? 200 : name === 'ready' ? 503 : 404
  response.writeHead(status, { 'content-type': 'text/plain' })
  response.end(status === 200 ? 'ok' : status === 503 ? 'draining' : 'not found')
}

function usersOf(tokens: Readonly<Record<string, string>>): Map<string, string> {
  const users = new Map<string, string>()
  for (const [user, token] of Object.entries(tokens)) {
    const digest = /^sha256:([0-9a-f]{64})$/.exec(token)?.[1] ?? digestOf(token)
    if (!token.startsWith('sha256:') && token.length < 16) {
      throw new McpError('INVALID', `The token of ${user} is too short: it needs 16 characters at least`)
    }
    const other = users.get(digest)
    if (other !== undefined) throw new McpError('INVALID', `${other} and ${user} have the same token`)
    users.set(digest, user)
  }
  return users
}

function tokenIn({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(headers.authorization ?? '')?.[1]
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } })
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  })
  response.end(body)
}
