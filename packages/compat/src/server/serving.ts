/** How a transport of this package serves an engine, and how transports of others are adapted to Jackfield's stdio connection. */
import { PassThrough, Writable } from 'node:stream'
import { serveStdio } from '@jackfield/sdk/stdio'
import type { Transport } from '../shared/transport.ts'
import { JSONRPCMessageSchema } from '../types.ts'
import type { Engine } from './engine.ts'
import { isObject } from './served-call.ts'

/** The server that a transport is connected to. */
export interface ServingHost {
  readonly engine: Engine
  /** The connection is closed. */
  closed(): void
  failed(error: unknown): void
}

/** A transport of this package. Its messages are handled by Jackfield: `onmessage` and `send` have no use. */
export interface ServingTransport extends Transport {
  '~serve'(host: ServingHost): Promise<void>
}

export function isServing(transport: Transport): transport is ServingTransport {
  return '~serve' in transport
}

/** Serves a transport that sends and receives whole messages. */
export async function serveMessages(transport: Transport, host: ServingHost): Promise<void> {
  const input = new PassThrough()
  let rest = ''
  const output = new Writable({
    decodeStrings: false,
    write(chunk: string | Uint8Array, _encoding, done) {
      const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'))).split(
        '\n',
      )
      rest = lines.pop() ?? ''
      const sent = lines.map((line) => {
        const message = JSONRPCMessageSchema.parse(JSON.parse(line))
        if (!('method' in message) && message.id !== undefined) host.engine.extras.delete(message.id)
        return transport.send(message)
      })
      Promise.all(sent).then(
        () => done(),
        (error) => {
          host.failed(error)
          done()
        },
      )
    },
  })
  const { onclose, onerror } = transport
  transport.onmessage = (message, extra) => {
    if (extra !== undefined && 'id' in message && message.id !== undefined) {
      const { headers = {}, url } = extra.requestInfo ?? {}
      host.engine.extras.set(message.id, { headers, url, authInfo: extra.authInfo })
    }
    if ('method' in message && !('id' in message)) host.engine.receive(message)
    input.write(`${JSON.stringify(message)}\n`)
  }
  transport.onclose = () => {
    onclose?.()
    input.end()
    host.closed()
  }
  transport.onerror = (error) => {
    onerror?.(error)
    host.failed(error)
  }
  serveStdio(host.engine.toServer(), { input, output, onError: (error) => host.failed(error) })
  await transport.start()
}

/** Gives the notifications among the lines of a stream to an engine; the lines are served by another reader. */
export class NotificationLines {
  readonly #engine: Engine
  readonly #decoder = new TextDecoder()
  #rest = ''

  constructor(engine: Engine) {
    this.#engine = engine
  }

  push(chunk: Uint8Array | string): void {
    if (!this.#engine.wantsNotifications) return
    const text =
      this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true }))
    const lines = text.split('\n')
    this.#rest = lines.pop() ?? ''
    // Longer lines are no notifications that handlers wait for, and the connection limits them itself.
    if (this.#rest.length > maxLineChars) this.#rest = ''
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

/** Gives a message to an engine if it is a notification. */
export function receiveNotification(engine: Engine, message: unknown): void {
  if (!isObject(message) || 'id' in message) return
  const { method, params } = message
  if (typeof method === 'string') engine.receive({ method, ...(isObject(params) ? { params } : {}) })
}
