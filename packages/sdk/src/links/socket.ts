import { connect as connectTo, type NetConnectOpts, type Socket } from 'node:net'
import { requireKnown } from '../core/known-members.ts'
import { limits } from '../core/limits.ts'
import { McpError } from '../jsonrpc/error.ts'
import { LineSource } from '../jsonrpc/line-source.ts'
import { type Channel, type ChannelEvents, DuplexLink } from './duplex.ts'
import { LineSender } from './line-sender.ts'
import type { Link, LinkFactory } from './link.ts'

export type { Link, LinkFactory }

/** Where a server listens: a Unix domain socket (a named pipe on Windows), or a TCP port. */
export type SocketAddress =
  | { readonly path: string }
  | {
      readonly port: number
      /** Default 127.0.0.1. */
      readonly host?: string
    }

/** How much crosses a socket at once. All of it has defaults. */
export interface SocketOptions {
  /** Bytes of one message. Default 4 MiB. */
  maxFrameBytes?: number
  /** Bytes that may wait while the server does not read. Default 16 MiB. */
  maxQueuedBytes?: number
}

/** Milliseconds the server has to close its end before the connection is cut. */
const graceMs = 100

/**
 * A server that listens on a socket and speaks as on standard streams: one message a line. Give it to `connect`.
 * Nothing on such a connection is authenticated or encrypted.
 */
export function socket(address: SocketAddress, options: SocketOptions = {}): LinkFactory {
  requireKnown('The address of socket', address, ['path', 'port', 'host'])
  requireKnown('The options object of socket', options, ['maxFrameBytes', 'maxQueuedBytes'])
  return () =>
    new DuplexLink('socket', (events, signal) => SocketChannel.open(address, options, events, signal))
}

class SocketChannel implements Channel {
  readonly #socket: Socket
  readonly #sender: LineSender
  readonly #lines: LineSource
  readonly #events: ChannelEvents
  #over = false

  static async open(
    address: SocketAddress,
    options: SocketOptions,
    events: ChannelEvents,
    signal: AbortSignal,
  ): Promise<SocketChannel> {
    const to: NetConnectOpts =
      'path' in address ? { path: address.path } : { port: address.port, host: address.host ?? '127.0.0.1' }
    const reached = connectTo({ ...to, noDelay: true })
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        reached.destroy()
        reject(signal.reason)
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
      const settle = (how: () => void): void => {
        signal.removeEventListener('abort', abort)
        how()
      }
      reached.once('connect', () => settle(resolve))
      reached.once('error', (cause) => settle(() => reject(notReached(address, cause))))
    })
    return new SocketChannel(reached, options, events)
  }

  private constructor(reached: Socket, options: SocketOptions, events: ChannelEvents) {
    this.#socket = reached
    this.#events = events
    this.#sender = new LineSender(reached, options.maxQueuedBytes ?? 4 * limits.messageBytes)
    const maxBytes = options.maxFrameBytes ?? limits.messageBytes
    this.#lines = new LineSource(reached, {
      maxBytes,
      onLine: (text) => events.text(text),
      onTooLong: () => this.#lose(tooLong(maxBytes)),
      onNotUtf8: (bytes) => events.unreadable(bytes.length),
      onEnd: () => this.#lose(new McpError('CONNECTION_CLOSED', 'The server closed the connection')),
    })
    reached.on('error', (cause) => this.#lose(broken(cause)))
    reached.once('close', () => {
      this.#lines.drain()
      this.#lose(new McpError('CONNECTION_CLOSED', 'The connection to the server broke off'))
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

function notReached(address: SocketAddress, cause: Error): McpError {
  const where = 'path' in address ? address.path : `${address.host ?? '127.0.0.1'} port ${address.port}`
  const details = 'code' in cause ? { code: cause.code } : {}
  return new McpError('CONNECT_FAILED', `Could not connect to ${where}: ${cause.message}`, { cause, details })
}

function broken(cause: Error): McpError {
  const details = 'code' in cause ? { code: cause.code } : {}
  return new McpError('CONNECTION_CLOSED', `The connection to the server broke: ${cause.message}`, {
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
