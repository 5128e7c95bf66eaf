import { once } from 'node:events'
import { chmodSync, lstatSync, type Stats, unlinkSync } from 'node:fs'
import { connect, createServer, isIPv4, type Server as NetServer, type Socket } from 'node:net'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'
import { internalError, McpError, messageOf } from '../../jsonrpc/error.ts'
import { runOnce } from '../../jsonrpc/promises.ts'
import { memoryBackplane } from '../../request/backplane.ts'
import { anonymousCaller, localCaller } from '../../request/exchange.ts'
import { requireKnown } from '../../request/object-members.ts'
import { requireStateKeys } from '../../request/state.ts'
import type { Server } from '../../server/server.ts'
import { LineConnection } from './line-connection.ts'
import { MemoryBudget } from './memory-budget.ts'
import {
  bounds,
  listenError,
  requirePort,
  requireServer,
  type SocketLimits,
  type StateOptions,
  stateOptionNames,
} from './options.ts'
import { failure } from './served-request.ts'

const onWindows = process.platform === 'win32'
const ownerOnly = 0o600
/** Timeout in milliseconds for the probe whether a server listens. */
const probeMs = 1000

/**
 * Removes a stale socket file.
 * @throws McpError 'CONNECT_FAILED' if a server listens on it, or it is not a socket
 */
async function clearStale(path: string): Promise<void> {
  if (onWindows) return
  const before = statOf(path)
  if (before === undefined) return
  if (!before.isSocket()) {
    throw refused(path, 'a file that is not a socket exists there. Move it away, or choose another path')
  }
  if (await isServed(path)) throw refused(path, 'another server listens there')
  const now = statOf(path)
  if (now !== undefined && now.ino === before.ino && now.ctimeMs === before.ctimeMs) unlinkSync(path)
}

/** Binds a server to a socket file that only its owner can use, from its creation on. */
function bindPrivately(server: NetServer, path: string): void {
  if (onWindows) {
    server.listen({ path })
    return
  }
  // `listen` creates the file synchronously, so no other file of this process gets this mask.
  const mask = isMainThread ? process.umask(0o777 & ~ownerOnly) : undefined
  try {
    server.listen({ path, exclusive: true })
  } finally {
    if (mask !== undefined) process.umask(mask)
  }
  if (mask === undefined && server.listening) chmodSync(path, ownerOnly)
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw refused(path, messageOf(error), error)
  }
}

/** Whether a server may be listening: true unless the connection is refused. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    const settle = (served: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(served)
    }
    const timer = setTimeout(() => settle(true), probeMs)
    socket.once('connect', () => settle(true))
    socket.once('error', (error) => settle(!('code' in error && error.code === 'ECONNREFUSED')))
  })
}

function refused(path: string, reason: string, cause?: unknown): McpError {
  return new McpError('CONNECT_FAILED', `Cannot listen on ${path}: ${reason}`, { cause })
}

/** The address of a server: a Unix domain socket (a named pipe on Windows), or a TCP port. */
export type SocketAddress =
  | {
      /** Path of the socket file, or the name of a named pipe on Windows. */
      readonly path: string
    }
  | {
      /** 0 in `serveSocket`: any free port. */
      readonly port: number
      /** Default 127.0.0.1. */
      readonly host?: string
    }

/** Options of `serveSocket`. */
export interface ServeSocketOptions extends StateOptions {
  /** Overrides of the default limits; `connections` is the maximum number of clients. */
  limits?: Partial<SocketLimits>
  /** Called with the error of a broken connection. Default: ignored, because clients may disconnect. */
  onError?: (error: Error) => void
  /**
   * Allows a host that is not a loopback address. Sockets have no authentication and no encryption, so every program that reaches
   * the port may use the server. Default false.
   */
  dangerouslyListenBeyondLoopback?: boolean
}

/** A server on a socket. */
export interface SocketServer {
  /** Its address, with the actual port. */
  readonly address: { readonly path: string } | { readonly port: number; readonly host: string }
  /** Number of open connections. */
  readonly connections: number
  /** Stops listening and closes every connection; responses within 0.9 s are sent. */
  close(): Promise<void>
}

const optionNames = Object.keys({
  ...stateOptionNames,
  limits: true,
  onError: true,
  dangerouslyListenBeyondLoopback: true,
} satisfies Record<keyof ServeSocketOptions, true>)

/** Milliseconds for a client to read the last messages after its connection was closed. */
const lingerMs = 1000
/** Milliseconds for the client to close its own end afterwards. */
const goodbyeMs = 250
const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }

/**
 * Serves any number of clients on a Unix domain socket or a TCP port, in every revision, with the framing of stdio:
 * one message per line. A socket file can be used by its owner only, and a stale one is removed; on TCP every program of this
 * machine may connect, without authentication.
 * @throws TypeError for a host that is not a loopback address, unless that is allowed
 * @throws McpError 'CONNECT_FAILED' if it cannot listen on the address
 */
export async function serveSocket(
  server: Server,
  address: SocketAddress,
  options: ServeSocketOptions = {},
): Promise<SocketServer> {
  requireServer(server, 'serveSocket')
  requireKnown('The address of serveSocket', address, ['path', 'port', 'host'])
  requireKnown('The options object of serveSocket', options, optionNames)
  if ('port' in address) requirePort('serveSocket', address.port)
  if ('port' in address && !isLoopback(hostOf(address)) && options.dangerouslyListenBeyondLoopback !== true) {
    throw new TypeError(
      `host: "${hostOf(address)}" is reached from other machines, and sockets have no authentication. Serve HTTP there, ` +
        'or set dangerouslyListenBeyondLoopback.',
    )
  }
  if ('path' in address) await clearStale(address.path)
  const limits = bounds(options.limits)
  const { keys = [], backplane = memoryBackplane(limits) } = options
  requireStateKeys(keys)
  const usedKeys = keys.length > 0 ? keys : [crypto.getRandomValues(new Uint8Array(32))]
  const shared = { ...options, limits, backplane, keys: usedKeys }
  const memory = new MemoryBudget(limits.memoryBytes)
  const open = new Set<LineConnection>()
  const net = createServer(socketOptions, (socket) => {
    if (open.size >= limits.connections) {
      socket.on('error', () => {})
      const full = internalError('Too many clients are connected: try again later')
      socket.end(`${JSON.stringify(failure(undefined, full))}\n`)
      linger(socket)
      return
    }
    const connection = new LineConnection(server, {
      ...shared,
      input: socket,
      output: socket,
      memory: memory.account(undefined, { held: 0 }),
      caller: 'path' in address ? localCaller : anonymousCaller,
      transport: 'path' in address ? 'unix' : 'tcp',
      strict: true,
      onOver: () => {
        open.delete(connection)
        socket.end()
        linger(socket)
      },
    })
    open.add(connection)
  })
  const listening = once(net, 'listening')
  if ('path' in address) bindPrivately(net, address.path)
  else net.listen({ port: address.port, host: hostOf(address), exclusive: true })
  await listening.catch((cause) => {
    if ('path' in address) throw refused(address.path, messageOf(cause), cause)
    throw listenError(hostOf(address), address.port, cause)
  })
  net.on('error', (error) => options.onError?.(error))
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => net.close(() => resolve()))
    await Promise.all([...open].map((connection) => connection.close()))
    await closed
  }
  return {
    get address() {
      if ('path' in address) return address
      const bound = net.address()
      const { port } = typeof bound === 'object' && bound !== null ? bound : address
      return { port, host: hostOf(address) }
    },
    get connections() {
      return open.size
    },
    close: runOnce(close),
  }
}

/** Closes a socket when the client read everything, or after a timeout. */
function linger(socket: Socket): void {
  socket.resume()
  let timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('finish', () => {
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), goodbyeMs)
  })
  socket.once('close', () => clearTimeout(timer))
}

function hostOf(address: { readonly host?: string }): string {
  return address.host ?? '127.0.0.1'
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
