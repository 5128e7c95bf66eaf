import { connect, type Socket } from 'node:net'

/** How a connection ends: in order, or with a reset. */
export type Ending = 'FIN' | 'RST'

/** One connection whose bytes are read as they come. */
export class Line {
  readonly #socket: Socket
  #received = ''
  #onData: (() => void) | undefined

  /** Connects to a port, or to a socket file. */
  static async to(where: { port: number } | { path: string }): Promise<Line> {
    const socket = 'path' in where ? connect(where.path) : connect(where.port, '127.0.0.1')
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new Line(socket)
  }

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1')
      this.#onData?.()
    })
    socket.on('close', () => this.#onData?.())
  }

  write(text: string): void {
    this.#socket.write(text)
  }

  /** Resolves with the input up to the end of the line that contains a text. Earlier input is discarded. */
  async until(text: string): Promise<string> {
    for (;;) {
      const at = this.#received.indexOf(text)
      const end = at < 0 ? -1 : this.#received.indexOf('\n', at)
      if (end >= 0) {
        const found = this.#received.slice(0, end)
        this.#received = this.#received.slice(end + 1)
        return found
      }
      if (this.#socket.destroyed) throw new Error(`Closed before ${text} came: ${this.#received.slice(-500)}`)
      await new Promise<void>((resolve) => {
        this.#onData = resolve
      })
      this.#onData = undefined
    }
  }

  /** Ends the connection, and settles when this end of it is closed. */
  async end(how: Ending): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#socket.closed) resolve()
      else this.#socket.once('close', () => resolve())
    })
    if (how === 'RST') this.#socket.resetAndDestroy()
    else this.#socket.end(() => this.#socket.destroy())
    await closed
  }
}
