import { lookup } from 'node:dns'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { reasonOf } from '../../shared/text.ts'
import { type EnvProxy, proxyFor } from '../network/fetch.ts'
import { hostOf, openTunnel, proxyCredentials } from '../network/tunnel.ts'
import { findListedHost, isAllowedAddress, type ListedHost, parseTarget, type TargetHost } from './hosts.ts'

/** The only network access of a sandbox: an HTTP proxy on a socket file, limited to the listed hosts. */
export interface SandboxProxy {
  /** A folder that contains only the socket. */
  readonly folder: string
  /** The name of the socket in it. */
  readonly socket: string
  close(): Promise<void>
}

const socketName = 'proxy.sock'
const connectMs = 30_000
const maxConnections = 256
const maxReported = 20
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Starts a proxy. `onRefused` is called once for each refused host. Connections continue through the proxy that `env` sets for a
 * host: that one then resolves the name, so the resolved address is not checked here.
 */
export async function startProxy(
  hosts: readonly ListedHost[],
  onRefused: (destination: string, reason: string) => void,
  env: ConfigEnvironment = {},
): Promise<SandboxProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'jackfield-way-'))
  const open = new Set<Duplex>()
  const reported = new Set<string>()
  const refuse = (authority: string, reason: string): string => {
    if (!reported.has(authority) && reported.size < maxReported) {
      reported.add(authority)
      onRefused(authority, reason)
    }
    return `${authority} cannot be reached from this sandbox: ${reason}\n`
  }
  const server = createServer({ keepAlive: false }, (clientRequest, clientResponse) => {
    forwardRequest(clientRequest, clientResponse, hosts, refuse, env)
  })
  server.maxConnections = maxConnections
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('connect', (clientRequest: IncomingMessage, clientSocket: Duplex, head: Buffer) => {
    const target = parseTarget(clientRequest.url ?? '', 443)
    const connectUpstream = resolveUpstream(target, hosts, refuse, clientRequest.url ?? '')
    clientSocket.on('error', () => clientSocket.destroy())
    if (typeof connectUpstream === 'string') return clientSocket.end(forbidden(connectUpstream))
    /** Each of the two sockets closes the other. */
    const linkSockets = (upstreamSocket: Socket): void => {
      open.add(upstreamSocket)
      upstreamSocket.once('close', () => {
        open.delete(upstreamSocket)
        clientSocket.destroy()
      })
      clientSocket.once('close', () => upstreamSocket.destroy())
    }
    const established = (upstreamSocket: Socket): void => {
      clientSocket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) upstreamSocket.write(head)
      upstreamSocket.pipe(clientSocket)
      clientSocket.pipe(upstreamSocket)
    }
    const proxy = upstreamProxy('https:', target, env)
    if (proxy !== undefined && target !== undefined) {
      const clientClosed = new AbortController()
      clientSocket.once('close', () => clientClosed.abort())
      openTunnel(proxy, target, clientClosed.signal).then(
        (upstreamSocket) => {
          linkSockets(upstreamSocket)
          upstreamSocket.on('error', () => clientSocket.destroy())
          established(upstreamSocket)
        },
        (error: unknown) => clientSocket.end(badGateway(reasonOf(error))),
      )
      return
    }
    const upstreamSocket = connectUpstream()
    linkSockets(upstreamSocket)
    upstreamSocket.once('connect', () => established(upstreamSocket))
    upstreamSocket.once('error', (error) => {
      if (upstreamSocket.connecting || upstreamSocket.pending) clientSocket.end(badGateway(error.message))
      else clientSocket.destroy()
    })
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(join(folder, socketName), () => resolve())
    })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return {
    folder,
    socket: socketName,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A plain http request with an absolute URL. */
function forwardRequest(
  clientRequest: IncomingMessage,
  clientResponse: ServerResponse,
  hosts: readonly ListedHost[],
  refuse: (destination: string, reason: string) => string,
  env: ConfigEnvironment,
): void {
  const url = URL.parse(clientRequest.url ?? '')
  if (url === null || url.protocol !== 'http:') {
    clientResponse.writeHead(400).end('This proxy accepts absolute http URLs and CONNECT.\n')
    return
  }
  const target = parseTarget(url.host, 80)
  const connectUpstream = resolveUpstream(target, hosts, refuse, url.host)
  if (typeof connectUpstream === 'string') {
    clientResponse.writeHead(403, { 'content-type': 'text/plain' }).end(connectUpstream)
    return
  }
  const forwardedHeaders = Object.entries(clientRequest.headers).filter(([name]) => !hopHeaders.has(name))
  const headers = { ...Object.fromEntries(forwardedHeaders), host: url.host }
  const proxy = upstreamProxy('http:', target, env)
  const upstreamRequest =
    proxy === undefined
      ? request({
          method: clientRequest.method,
          path: `${url.pathname}${url.search}`,
          headers,
          createConnection: connectUpstream,
        })
      : (proxy.url.protocol === 'https:' ? secureRequest : request)({
          method: clientRequest.method,
          ...hostOf(proxy.url),
          path: url.href,
          headers: { ...headers, ...proxyCredentials(proxy.url) },
          agent: false,
        })
  const respondWithError = (reason: string): void => {
    if (clientResponse.headersSent) clientResponse.destroy()
    else clientResponse.writeHead(502, { 'content-type': 'text/plain' }).end(`${reason}\n`)
  }
  upstreamRequest.once('upgrade', (_given, socket: Duplex) => {
    socket.destroy()
    respondWithError('it answers in another protocol than HTTP')
  })
  upstreamRequest.once('response', (response) => {
    const { statusCode = 0 } = response
    if (statusCode < 200 || statusCode > 999) {
      response.destroy()
      return respondWithError(`it answers with ${statusCode}, which is not a status`)
    }
    const responseHeaders = Object.entries(response.headers).filter(([name]) => !hopHeaders.has(name))
    clientResponse.writeHead(statusCode, Object.fromEntries(responseHeaders))
    response.pipe(clientResponse)
    response.once('error', () => clientResponse.destroy())
  })
  upstreamRequest.once('error', (error) => respondWithError(error.message))
  clientResponse.once('close', () => upstreamRequest.destroy())
  clientRequest.pipe(upstreamRequest)
}

/** The machine's proxy for a host; undefined if there is none. */
function upstreamProxy(
  protocol: 'http:' | 'https:',
  target: TargetHost | undefined,
  env: ConfigEnvironment,
): EnvProxy | undefined {
  if (target === undefined) return undefined
  const host = isIP(target.host) === 6 ? `[${target.host}]` : target.host
  return proxyFor(new URL(`${protocol}//${host}:${target.port}`), env)
}

/** The address to connect to, or the reason for a refusal. The checked address is the one that is used. */
function resolveUpstream(
  target: TargetHost | undefined,
  hosts: readonly ListedHost[],
  refuse: (destination: string, reason: string) => string,
  rawTarget: string,
): (() => Socket) | string {
  if (target === undefined) return refuse(rawTarget.slice(0, 200), 'it is not a host and port')
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`
  const entry = findListedHost(target, hosts)
  if (entry === undefined) return refuse(authority, 'it is not listed under "network"')
  return () => {
    const socket = connect({
      host: target.host,
      port: target.port,
      lookup: checkedAddress(entry),
      timeout: connectMs,
    })
    socket.once('connect', () => socket.setTimeout(0))
    socket.once('timeout', () => socket.destroy(new Error(`${authority} does not answer`)))
    socket.once('error', (error) => {
      if (error instanceof ForbiddenAddress) refuse(authority, error.message)
    })
    return socket
  }
}

class ForbiddenAddress extends Error {
  override readonly name: string = 'ForbiddenAddress'
}

function checkedAddress(entry: ListedHost): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '')
      const allowed = found.filter(({ address }) => isAllowedAddress(address, entry))
      const [first] = allowed
      if (first === undefined) {
        const addresses = found.map(({ address }) => address).join(', ')
        const reason = `its name resolves to ${addresses}, inside this machine or network; list that address itself if it is meant`
        return done(new ForbiddenAddress(reason), '')
      }
      if (options.all === true) done(null, allowed)
      else done(null, first.address, first.family)
    })
  }
}

function forbidden(text: string): string {
  return plainAnswer('403 Forbidden', text)
}

function badGateway(text: string): string {
  return plainAnswer('502 Bad Gateway', `${text}\n`)
}

function plainAnswer(status: string, text: string): string {
  const bytes = Buffer.byteLength(text)
  return `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: ${bytes}\r\nconnection: close\r\n\r\n${text}`
}
