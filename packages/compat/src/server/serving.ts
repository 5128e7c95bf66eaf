/** How a transport of this package serves an engine, and how transports of others are adapted to Jackfield's stdio connection. */
import { PassThrough, Writable } from 'node:stream'
import { serveStdio } from '@jackfield/sdk/stdio'
import type { Transport } from '../shared/transport.ts'
import { JSONRPCMessageSchema } from '../types.ts'
import type { Engine } from './engine.ts'
import { isObject } from './served-call.ts'

/** The server that a transport is connected to. */
export interface ConnectedServer {
  readonly engine: Engine
  /** Called when the connection is closed. */
  onClose(): void
  /** Called with an error that no request reports. */
  onError(error: unknown): void
}

/** A transport of this package. Jackfield handles its messages: `onmessage` and `send` are not used. */
export interface ServingTransport extends Transport {
  /** Serves the server on this transport. */
  '~serve'(server: ConnectedServer): Promise<void>
}

export function isServing(transport: Transport): transport is ServingTransport {
  return '~serve' in transport
}

/** Serves a transport that sends and receives whole messages. */
export async function serveMessages(transport: Transport, server: ConnectedServer): Promise<void> {
  const input = new PassThrough()
  let incomplete = ''
  const output = new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      const lines = (
        incomplete + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'))
      ).split('\n')
      incomplete = lines.pop() ?? ''
      const sent = lines.map((line) => {
        const message = JSONRPCMessageSchema.parse(JSON.parse(line))
        if (!('method' in message) && message.id !== undefined) server.engine.extras.delete(message.id)
        return transport.send(message)
      })
      Promise.all(sent).then(
        () => done(),
        (error) => {
          server.onError(error)
          done()
        },
      )
    },
  })
  const { onclose, onerror } = transport
  transport.onmessage = (message, extra) => {
    if (extra !== undefined && 'id' in message && message.id !== undefined) {
      const { headers = {}, url } = extra.requestInfo ?? {}
      server.engine.extras.set(message.id, { headers, url, authInfo: extra.authInfo })
    }
    if ('method' in message && !('id' in message)) server.engine.receive(message)
    input.write(`${JSON.stringify(message)}\n`)
  }
  transport.onclose = () => {
    onclose?.()
    input.end()
    server.onClose()
  }
  transport.onerror = (error) => {
    onerror?.(error)
    server.onError(error)
  }
  serveStdio(server.engine.toServer(), { input, output, onError: (error) => server.onError(error) })
  await transport.start()
}

/** Passes the notifications in a stream of lines to an engine. Another reader serves the lines. */
export class NotificationLines {
  readonly #engine: Engine
  readonly #decoder = new TextDecoder()
  #incomplete = ''

  constructor(engine: Engine) {
    this.#engine = engine
  }

  push(chunk: Uint8Array | string): void {
    if (!this.#engine.wantsNotifications) return
    const text =
      this.#incomplete + (typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true }))
    const lines = text.split('\n')
    this.#incomplete = lines.pop() ?? ''
    // The connection enforces its own limit for longer lines.
    if (this.#incomplete.length > maxLineChars) this.#incomplete = ''
    for (const line of lines) if (line.includes('"notifications/')) this.#receive(line)
  }

  #receive(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      // The connection answers invalid lines.
      return
    }
    receiveNotification(this.#engine, message)
  }
}

const maxLineChars = 4_194_304

/** Passes a message to an engine if it is a notification. */
export function receiveNotification(engine: Engine, message: unknown): void {
  if (!isObject(message) || 'id' in message) return
  const { method, params } = message
  if (typeof method === 'string') engine.receive({ method, ...(isObject(params) ? { params } : {}) })
}
