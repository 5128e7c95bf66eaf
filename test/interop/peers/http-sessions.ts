import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { announce } from './contract.ts'

/** One session's end of a transport. */
interface SessionTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** Sessions over HTTP by their id, as the official packages leave it to their users. */
export class Sessions<T extends SessionTransport> {
  readonly #known = new Map<string, T>()
  readonly #begin: () => Promise<T>

  /** `begin` makes a transport with a server behind it, and calls `add` when it has its id. */
  constructor(begin: () => Promise<T>) {
    this.#begin = begin
  }

  add(id: string, transport: T): void {
    this.#known.set(id, transport)
  }

  remove(id: string): void {
    this.#known.delete(id)
  }

  /** Knows none of them any more; streams that are open stay open. */
  forget(): void {
    this.#known.clear()
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? this.#known.get(id) : undefined
    if (id !== undefined && known === undefined) {
      response.writeHead(404).end()
      return
    }
    await (known ?? (await this.#begin())).handleRequest(request, response)
  }
}

/** Listens on a free port and prints it for the tests. */
export function listen(handle: RequestListener, path = '/mcp'): void {
  const server = createServer(handle)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object' && address !== null) announce(`http://127.0.0.1:${address.port}${path}`)
  })
}
