import type { LiveRequest } from '../core/live.ts'
import { McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from '../jsonrpc/message.ts'
import type { Pending } from '../jsonrpc/pending.ts'
import type { Outlet } from './message.ts'

/** Where messages about one request of a session go, questions among them. */
export interface SessionOutlet extends Outlet {
  /** Sends a question; false when it can never arrive. */
  request(message: JsonRpcRequest): boolean
}

/** Gives every question of one session its own id. */
export interface QuestionIds {
  next(): RequestId
}

const requestOver = 'The request that asked is over'

/** The questions one request of a session has open. */
export class Asker {
  readonly #pending: Pending
  readonly #ids: QuestionIds
  readonly #outlet: SessionOutlet
  readonly #open = new Map<RequestId, (error: Error) => void>()
  #over = false

  constructor(pending: Pending, ids: QuestionIds, outlet: SessionOutlet) {
    this.#pending = pending
    this.#ids = ids
    this.#outlet = outlet
  }

  /** Whether an answer is being waited for. */
  get waiting(): boolean {
    return this.#open.size > 0
  }

  readonly ask: LiveRequest = async (method, params, { signal }) => {
    signal.throwIfAborted()
    if (this.#over) throw new McpError('CANCELLED', requestOver)
    const id = this.#ids.next()
    const answered = this.#pending.open(id)
    const withdrawn = new Promise<never>((_, reject) => this.#open.set(id, reject))
    const onAbort = (): void => this.#withdraw(id, 'The request that asked was cancelled')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (!this.#outlet.request({ jsonrpc: '2.0', id, method, params })) {
        throw new McpError('CONNECTION_CLOSED', 'the connection was lost')
      }
      const response = await Promise.race([answered, withdrawn])
      if ('result' in response) return response.result
      throw new RpcError(response.error.code, response.error.message, response.error.data)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#pending.delete(id)
      this.#open.delete(id)
      answered.catch(() => {})
    }
  }

  /** Takes back every question that is still open, and puts no more: nobody waits for the answer. */
  close(): void {
    this.#over = true
    for (const id of [...this.#open.keys()]) this.#withdraw(id, requestOver)
  }

  #withdraw(id: RequestId, reason: string): void {
    const reject = this.#open.get(id)
    if (reject === undefined) return
    this.#open.delete(id)
    this.#pending.delete(id)
    const message: JsonRpcNotification = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason },
    }
    this.#outlet.notify(message)
    reject(new McpError('CANCELLED', reason))
  }
}
