import { connect as connectTo, type NetConnectOpts, type Socket } from 'node:net'
import { McpError } from '../../jsonrpc/error.ts'
import { LineSource } from '../../jsonrpc/line-source.ts'
import { requireKnown } from '../../request/known-members.ts'
import { limits } from '../../request/limits.ts'
import type { SocketAddress } from '../server/socket.ts'
import { type Channel, type ChannelEvents, DuplexTransport, LineSender } from './duplex.ts'
import type { ClientTransport, ClientTransportFactory } from './transport.ts'

export type { ClientTransport, ClientTransportFactory, SocketAddress }

/** Limits of `socket`. */
export interface SocketTransportOptions {
  /** Maximum bytes of one message. Default 4 MiB. */
  maxFrameBytes?: number
  /** Maximum bytes queued while the server does not read. Default 16 MiB. */
  maxQueuedBytes?: number
}

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

class SocketChannel implements Channel {
  readonly #socket: Socket
  readonly #sender: LineSender
  readonly #lines: LineSource
  readonly #events: ChannelEvents
  #over = false

  static async open(
    address: SocketAddress,
    options: SocketTransportOptions,
    events: ChannelEvents,
    signal: AbortSignal,
  ): Promise<SocketChannel> {
    const to: NetConnectOpts =
      'path' in address ? { path: address.path } : { port: address.port, host: address.host ?? '127.0.0.1' }
    const socket = connectTo({ ...to, noDelay: true })
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        socket.destroy()
        reject(signal.reason)
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
      const settle = (how: () => void): void => {
        signal.removeEventListener('abort', abort)
        how()
      }
      socket.once('connect', () => settle(resolve))
      socket.once('error', (cause) => settle(() => reject(connectError(address, cause))))
    })
    return new SocketChannel(socket, options, events)
  }

  private constructor(socket: Socket, options: SocketTransportOptions, events: ChannelEvents) {
    this.#socket = socket
    this.#events = events
    this.#sender = new LineSender(socket, options.maxQueuedBytes ?? 4 * limits.messageBytes)
    const maxBytes = options.maxFrameBytes ?? limits.messageBytes
    this.#lines = new LineSource(socket, {
      maxBytes,
      onLine: (text) => events.text(text),
      onTooLong: () => this.#lose(tooLong(maxBytes)),
      onNotUtf8: (bytes) => events.unreadable(bytes.length),
      onEnd: () => this.#lose(new McpError('CONNECTION_CLOSED', 'The server closed the connection')),
    })
    socket.on('error', (cause) => this.#lose(broken(cause)))
    socket.once('close', () => {
      this.#lines.drain()
      this.#lose(new McpError('CONNECTION_CLOSED', 'The connection to the server was lost'))
    })
  }

  send(text: string): Promise<void> {
    return this.#sender.send(text)
  }

  async close(): Promise<void> {
    this.#over = true
    this.#lines.stop()
    this.#sender.fail(new McpError('CONNECTION_CLOSED', 'The connection was closed by this client'))
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

  #lose(error: McpError): void {
    if (this.#over) return
    this.#over = true
    this.#lines.stop()
    this.#sender.fail(error)
    this.#events.lost(error)
  }
}

function connectError(address: SocketAddress, cause: Error): McpError {
  const where = 'path' in address ? address.path : `${address.host ?? '127.0.0.1'} port ${address.port}`
  const details = 'code' in cause ? { code: cause.code } : {}
  return new McpError('CONNECT_FAILED', `Could not connect to ${where}: ${cause.message}`, { cause, details })
}

function broken(cause: Error): McpError {
  const details = 'code' in cause ? { code: cause.code } : {}
  return new McpError('CONNECTION_CLOSED', `The connection to the server failed: ${cause.message}`, {
    cause,
    details,
  })
}

function tooLong(maxBytes: number): McpError {
  return new McpError(
    'LIMIT',
    `The server sent a message of more than ${maxBytes} bytes, so the connection was closed`,
  )
}
