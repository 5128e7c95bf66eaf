import { once } from 'node:events'
import { connect as connectTo, type NetConnectOpts, type Socket } from 'node:net'
import { McpError, messageOf } from '../../jsonrpc/error.ts'
import { requireKnown } from '../../request/object-members.ts'
import type { SocketAddress } from '../server/socket.ts'
import { type ChannelEvents, closedByClient, DuplexTransport } from './duplex.ts'
import { LineChannel, type LineLimits } from './line-channel.ts'
import type { ClientTransport, ClientTransportFactory } from './transport.ts'

export type { ClientTransport, ClientTransportFactory, SocketAddress }

/** Options of `socket`: limits of messages. All have defaults. */
export type SocketTransportOptions = LineLimits

/** Milliseconds for the server to close its end before the socket is destroyed. */
const graceMs = 100

/**
 * A transport to a server that listens on a socket, for `connect`: one message per line, as over stdio. The connection is
 * neither authenticated nor encrypted.
 */
export function socket(address: SocketAddress, options: SocketTransportOptions = {}): ClientTransportFactory {
  requireKnown('The address of socket', address, ['path', 'port', 'host'])
  requireKnown('The options object of socket', options, ['maxFrameBytes', 'maxQueuedBytes'])
  return () =>
    new DuplexTransport('socket', (events, signal) => SocketChannel.open(address, options, events, signal))
}

class SocketChannel extends LineChannel {
  readonly #socket: Socket

  static async open(
    address: SocketAddress,
    options: SocketTransportOptions,
    events: ChannelEvents,
    signal: AbortSignal,
  ): Promise<SocketChannel> {
    const to: NetConnectOpts =
      'path' in address ? { path: address.path } : { port: address.port, host: address.host ?? '127.0.0.1' }
    const socket = connectTo({ ...to, noDelay: true })
    try {
      await once(socket, 'connect', { signal })
    } catch (cause) {
      socket.destroy()
      throw signal.aborted ? signal.reason : connectError(address, cause)
    }
    return new SocketChannel(socket, options, events)
  }

  private constructor(socket: Socket, options: SocketTransportOptions, events: ChannelEvents) {
    super(socket, socket, options, events)
    this.#socket = socket
    socket.on('error', (cause) => {
      const details = 'code' in cause ? { code: cause.code } : {}
      const message = `The connection to the server failed: ${cause.message}`
      this.lose(new McpError('CONNECTION_CLOSED', message, { cause, details }))
    })
    socket.once('close', () => {
      this.lines.drain()
      this.lose(new McpError('CONNECTION_CLOSED', 'The connection to the server was lost'))
    })
  }

  protected onEnd(): void {
    this.lose(new McpError('CONNECTION_CLOSED', 'The server closed the connection'))
  }

  async close(): Promise<void> {
    this.lose(closedByClient(), false)
    this.#socket.resume()
    if (this.#socket.closed) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#socket.destroy(), graceMs)
      this.#socket.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
      this.#socket.end()
    })
  }
}

function connectError(address: SocketAddress, cause: unknown): McpError {
  const where = 'path' in address ? address.path : `${address.host ?? '127.0.0.1'} port ${address.port}`
  const details = cause instanceof Error && 'code' in cause ? { code: cause.code } : {}
  const message = `Could not connect to ${where}: ${messageOf(cause)}`
  return new McpError('CONNECT_FAILED', message, { cause, details })
}
