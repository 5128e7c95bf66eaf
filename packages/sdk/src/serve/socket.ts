import { type AddressInfo, createServer, isIPv4, type Server as NetServer, type Socket } from 'node:net'
import type { Backplane } from '../core/backplane.ts'
import { local, nobody } from '../core/exchange.ts'
import { requireKnown } from '../core/known-members.ts'
import { memoryBackplane } from '../core/memory-backplane.ts'
import { stateKeys } from '../core/state-keys.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { Server } from '../server/server.ts'
import { type Bounds, bounds } from './bounds.ts'
import { LineConnection } from './line-connection.ts'
import { MemoryBudget } from './memory.ts'
import { failure } from './message.ts'
import { requirePort, requireServer } from './require-server.ts'
import { bindPrivately, clearStale } from './socket-file.ts'

/** Where a server listens: a Unix domain socket (a named pipe on Windows), or a TCP port. */
export type SocketAddress =
  | { readonly path: string }
  | {
      /** 0 takes any free one. */
      readonly port: number
      /** Default 127.0.0.1. */
      readonly host?: string
    }

/** How a server is mounted on a socket. All of it has safe defaults. */
export interface SocketOptions {
  /**
   * Secrets of at least 32 bytes that seal `requestState`; the first seals, all open. Default, also for an empty list: a random one for this
   * server and all its connections.
   */
  keys?: readonly (string | Uint8Array)[]
  /**
   * Where state shared between requests is kept. Default: memory, so that a question of another process is not answered with the
   * same `keys` either.
   */
  backplane?: Backplane
  /**
   * Accepts a `requestState` that another process sealed, or this one before it was started anew, also without a `backplane`
   * that knows whether it was used: its answer may then count once in each process. Only for servers whose handlers may run twice
   * without harm, or hand the key of `ctx.step` on. Default false: it is refused, and the client starts its request over.
   */
  acceptUnknownStates?: boolean
  /** Other limits than the default ones; `connections` is how many clients may be connected at once. */
  limits?: Partial<Bounds>
  /** Hears why a connection broke. Default: says nothing, because a client that goes away is no fault. */
  onError?: (error: Error) => void
  /**
   * Listens on a host other than the loopback ones. Nobody is authenticated and nothing is encrypted on a socket, so
   * whoever reaches the port may use the server. Default false.
   */
  dangerouslyListenBeyondLoopback?: boolean
}

/** A server on a socket. */
export interface SocketServer {
  /** Where it listens, with the port it was given. */
  readonly address: { readonly path: string } | { readonly port: number; readonly host: string }
  /** How many clients are connected. */
  readonly connections: number
  /** Stops listening and ends every connection: what handlers still answer within 0.9 s is sent. */
  close(): Promise<void>
}

const optionNames = Object.keys({
  keys: true,
  backplane: true,
  acceptUnknownStates: true,
  limits: true,
  onError: true,
  dangerouslyListenBeyondLoopback: true,
} satisfies Record<keyof SocketOptions, true>)

/** Milliseconds a client has to take the last of what it was sent, once its connection is over. */
const lingerMs = 1000
/** Milliseconds it then has to close its own end. */
const goodbyeMs = 250
const keepAliveMs = 30_000

/**
 * Serves any number of clients on a Unix domain socket or a TCP port, in every revision, with the framing of stdio:
 * one message a line. A socket file can be used by its owner alone, and a stale one is cleared away; on TCP every
 * program of this machine may connect, and nobody is told apart.
 * @throws TypeError for a host that is not a loopback one, unless that is allowed
 * @throws McpError CONNECT_FAILED when the address cannot be had
 */
export async function serveSocket(
  server: Server,
  address: SocketAddress,
  options: SocketOptions = {},
): Promise<SocketServer> {
  requireServer(server, 'serveSocket')
  requireKnown('The address of serveSocket', address, ['path', 'port', 'host'])
  requireKnown('The options object of serveSocket', options, optionNames)
  if ('port' in address) requirePort('serveSocket', address.port)
  if ('port' in address && !isLoopback(hostOf(address)) && options.dangerouslyListenBeyondLoopback !== true) {
    throw new TypeError(
      `host: "${hostOf(address)}" is reached from other machines, and a socket authenticates nobody. Serve HTTP there, ` +
        'or set dangerouslyListenBeyondLoopback.',
    )
  }
  if ('path' in address) await clearStale(address.path)
  const listening = new ListeningServer(server, address, options)
  await listening.start()
  return listening
}

class ListeningServer implements SocketServer {
  readonly #server: Server
  readonly #address: SocketAddress
  readonly #options: SocketOptions
  readonly #limits: Bounds
  readonly #keys: readonly (string | Uint8Array)[]
  readonly #backplane: Backplane
  readonly #memory: MemoryBudget
  readonly #net: NetServer
  readonly #open = new Set<LineConnection>()
  #closing: Promise<void> | undefined

  constructor(server: Server, address: SocketAddress, options: SocketOptions) {
    this.#server = server
    this.#address = address
    this.#options = options
    this.#limits = bounds(options.limits)
    stateKeys(options.keys)
    const { keys = [] } = options
    this.#keys = keys.length > 0 ? keys : [crypto.getRandomValues(new Uint8Array(32))]
    this.#backplane = options.backplane ?? memoryBackplane(this.#limits)
    this.#memory = new MemoryBudget(this.#limits.memoryBytes)
    const shared = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }
    this.#net = createServer(shared, (socket) => this.#accept(socket))
  }

  get address(): SocketServer['address'] {
    if ('path' in this.#address) return this.#address
    const bound = this.#net.address()
    return { port: isAddressInfo(bound) ? bound.port : this.#address.port, host: hostOf(this.#address) }
  }

  get connections(): number {
    return this.#open.size
  }

  async start(): Promise<void> {
    const address = this.#address
    await new Promise<void>((resolve, reject) => {
      this.#net.once('error', (cause) => reject(notBound(address, cause)))
      this.#net.once('listening', resolve)
      if ('path' in address) bindPrivately(this.#net, address.path)
      else this.#net.listen({ port: address.port, host: hostOf(address), exclusive: true })
    })
    this.#net.on('error', (error) => this.#options.onError?.(error))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()))
    await Promise.all([...this.#open].map((connection) => connection.close()))
    await closed
  }

  #accept(socket: Socket): void {
    if (this.#open.size >= this.#limits.connections) {
      socket.on('error', ignore)
      const full = new RpcError(ErrorCode.InternalError, 'Too many clients are connected: try again later')
      socket.end(`${JSON.stringify(failure(undefined, full))}\n`)
      linger(socket)
      return
    }
    const connection = new LineConnection(this.#server, {
      input: socket,
      output: socket,
      limits: this.#limits,
      keys: this.#keys,
      backplane: this.#backplane,
      memory: this.#memory.account(undefined, { held: 0 }),
      caller: 'path' in this.#address ? local : nobody,
      transport: 'path' in this.#address ? 'unix' : 'tcp',
      strict: true,
      acceptUnknownStates: this.#options.acceptUnknownStates,
      ...(this.#options.onError === undefined ? {} : { onError: this.#options.onError }),
      onOver: () => {
        this.#open.delete(connection)
        socket.end()
        linger(socket)
      },
    })
    this.#open.add(connection)
  }
}

/** Gives the far end a moment to take what was sent, and then closes whatever it does. */
function linger(socket: Socket): void {
  socket.resume()
  let timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('finish', () => {
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), goodbyeMs)
  })
  socket.once('close', () => clearTimeout(timer))
}

function ignore(): void {}

function hostOf(address: { readonly host?: string }): string {
  return address.host ?? '127.0.0.1'
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null
}

function notBound(address: SocketAddress, cause: Error): McpError {
  const where = 'path' in address ? address.path : `${hostOf(address)} port ${address.port}`
  return new McpError('CONNECT_FAILED', `Cannot listen on ${where}: ${cause.message}`, { cause })
}
