import { McpError } from '../jsonrpc/error.ts'
import type { Link, LinkFactory } from '../links/link.ts'
import { latestLegacy } from '../protocol/eras.ts'
import type { AnswerBook } from './answer-book.ts'
import type { McpClient } from './client.ts'
import { Inbox } from './inbox.ts'
import { orAborted, type Scope } from './scope.ts'
import type { ConnectOptions } from './types.ts'
import { Wire } from './wire.ts'

/** Opens wires to one server, and routes what comes in before and after the client stands. */
export class Door {
  readonly #links: LinkFactory | Link
  readonly #options: ConnectOptions
  readonly #answers: AnswerBook
  #wire: Wire | undefined
  #client: McpClient | undefined

  constructor(links: LinkFactory | Link, options: ConnectOptions, answers: AnswerBook) {
    this.#links = links
    this.#options = options
    this.#answers = answers
  }

  /** A started wire; a second one takes the place of the first, where links can be made anew. */
  async open(scope: Scope): Promise<Wire> {
    const last = this.#wire
    await last?.link.close()
    const wire = new Wire(this.#link(last), this.#options)
    this.#wire = wire
    const inbox = new Inbox(wire, this.#answers)
    const started = wire.start({
      request: (message, cause) => {
        const facts = this.#client?.server
        if (facts?.era === 'stateless') {
          wire.warn(`Ignored the request ${message.method}: revision ${facts.revision} has none from servers`)
        } else {
          inbox.take(message, cause, facts?.revision ?? latestLegacy)
        }
      },
      notice: (message) => {
        if (message.method === 'notifications/cancelled') inbox.cancel(message)
        else this.#client?.notice(message)
      },
      log: (message) => this.#options.onLog?.(message),
      over: (id, error) => inbox.over(id, error),
    })
    await orAborted(started, scope.signal)
    return wire
  }

  enter(client: McpClient): void {
    this.#client = client
  }

  async close(): Promise<void> {
    await this.#wire?.link.close()
  }

  #link(last: Wire | undefined): Link {
    if (typeof this.#links === 'function') return this.#links()
    if (last === undefined) return this.#links
    throw new McpError(
      'CONNECT_FAILED',
      'The server ended the connection on server/discover, and this link cannot be opened again. Give connect a function that makes links, or allow only older revisions in "revisions".',
    )
  }
}
