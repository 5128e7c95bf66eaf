import { connect, type Socket } from 'node:net'
import type { Ending } from './line.ts'

/** An HTTP response. */
export interface Answer {
  readonly status: number
  readonly session: string | undefined
  readonly text: string
}

/** One keep-alive connection that sends one request at a time, and reconnects after it is closed. */
export class HttpConnection {
  readonly #port: number
  #socket: Socket | undefined
  #received = ''
  #pending: PromiseWithResolvers<Answer> | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Listeners on its socket. */
  get listeners(): number {
    const socket = this.#socket
    return socket === undefined ? 0 : listenersOf(socket)
  }

  /** Sends bytes and returns the response. */
  async exchange(bytes: string): Promise<Answer> {
    const socket = await this.#open()
    const pending = Promise.withResolvers<Answer>()
    this.#pending = pending
    socket.write(bytes)
    return pending.promise
  }

  /** Sends bytes without waiting for a response. */
  async send(bytes: string): Promise<void> {
    const socket = await this.#open()
    socket.write(bytes)
  }

  /** Closes the connection like a client that stops waiting. */
  async close(how: Ending = 'FIN'): Promise<void> {
    const socket = this.#socket
    this.#socket = undefined
    this.#pending = undefined
    if (socket === undefined || socket.closed) return
    const closed = new Promise((resolve) => socket.once('close', resolve))
    if (how === 'RST') socket.resetAndDestroy()
    else socket.destroy()
    await closed
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return this.#socket
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    this.#socket = socket
    this.#received = ''
    socket.on('data', (chunk) => this.#receive(chunk, socket))
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#socket === socket)
        this.#pending?.reject(new Error(`The connection was closed: ${this.#received}`))
    })
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return socket
  }

  #receive(chunk: Buffer, from: Socket): void {
    if (this.#socket !== from) return
    this.#received += chunk.toString('latin1')
    const answer = complete(this.#received)
    if (answer === undefined) return
    this.#received = ''
    const pending = this.#pending
    this.#pending = undefined
    if (/\r\nconnection: close\r\n/i.test(answer.head)) from.destroy()
    const session = /^mcp-session-id: *(.+?)\r?$/im.exec(answer.head)?.[1]
    pending?.resolve({ status: Number(answer.head.slice(9, 12)), session, text: answer.body })
  }
}

/** The response, once it is complete. */
function complete(text: string): { head: string; body: string } | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = text.slice(0, end + 2)
  const body = text.slice(end + 4)
  if (/\r\ntransfer-encoding: *chunked/i.test(head))
    return body.endsWith('0\r\n\r\n') ? { head, body } : undefined
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  return body.length >= length ? { head, body } : undefined
}

/** All listeners of a socket. */
export function listenersOf(socket: Socket): number {
  return socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0)
}
