import { McpError } from '../../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcResponse } from '../../jsonrpc/message.ts'
import type { Peer } from '../../request/exchange.ts'
import { Later } from '../../request/later.ts'
import type { serveBatch } from './batch.ts'
import { cancelCall } from './calls.ts'
import { report } from './options.ts'
import type { Session, SessionOptions, Unusable } from './session.ts'

/** A session, and what serves the batches that come to it. */
export interface OpenSession {
  readonly session: Session
  readonly serveBatch: typeof serveBatch
}

/**
 * The session a connection may come to have. What serves it is loaded with the first request that needs it; messages that
 * come meanwhile wait in line.
 */
export class LateSession {
  readonly #options: SessionOptions
  readonly #opened: Later<OpenSession>
  #closed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#opened = new Later(async () => {
      const { serveBatch, Session } = await import('./session-room.ts')
      return { session: new Session(options), serveBatch }
    })
  }

  /** Who is on the other end, once `initialize` was answered. */
  get peer(): Peer | undefined {
    return this.#opened.value?.session.peer
  }

  /** How many messages wait in line. */
  get waiting(): number {
    return this.#opened.waiting
  }

  /** Settles when no message waits in line; undefined where none does. */
  get settled(): Promise<void> | undefined {
    return this.#opened.settled
  }

  /** Has a message wait in line, so that it overtakes none. Where its client goes away meanwhile it is dropped instead. */
  line(take: () => void, drop: () => void): void {
    const taken = (): void => (this.#closed ? drop() : take())
    this.#opened.use(taken, taken)
  }

  /**
   * Serves what needs the session: at once where it is there.
   * @returns a promise of the end where that is not now
   */
  use(
    serve: (opened: OpenSession) => Promise<void> | undefined,
    failed: (error: unknown) => void,
  ): Promise<void> | undefined {
    const { value } = this.#opened
    if (value !== undefined) return serve(value)
    return new Promise((resolve) =>
      this.#opened.use(
        (opened) => resolve(this.#closed ? undefined : serve(opened)),
        (error) => {
          failed(error)
          resolve()
        },
      ),
    )
  }

  /** Takes a notice; one that means nothing here is ignored. */
  notification(message: JsonRpcNotification): void {
    const { value } = this.#opened
    if (value !== undefined) value.session.notification(message)
    else cancelCall(this.#options.calls, message)
  }

  /** Takes the answer to a question; one that nobody waits for is ignored. */
  response(message: JsonRpcResponse): void {
    this.#opened.value?.session.response(message)
  }

  /** Takes what wants no answer and cannot be used. */
  unusable(invalid: Unusable): void {
    const { value } = this.#opened
    if (value !== undefined) value.session.unusable(invalid)
    else report(this.#options.server, invalid.error, 'a message')
  }

  /** The client is gone: takes back what runs, settles what waits. */
  close(reason: string): void {
    this.#closed = true
    const { value } = this.#opened
    if (value !== undefined) value.session.close(reason)
    else this.#options.calls.cancelAll(new McpError('CONNECTION_CLOSED', reason))
  }
}
