import { McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonObject, JsonRpcNotification, JsonRpcRequest, RequestId } from '../../jsonrpc/message.ts'
import type { PendingRequests } from '../../jsonrpc/pending-requests.ts'
import type { Exchange, HandlerRun, InputStrategy } from '../../request/exchange.ts'
import { type LiveRequest, liveInput } from '../../request/live-run.ts'
import type { Outlet } from './served-request.ts'

/** Where messages about one request of a session go, questions among them. */
export interface SessionOutlet extends Outlet {
  /** Sends a question; false when it can never arrive. */
  request(message: JsonRpcRequest): boolean
}

/** What the questions of one session share. */
export interface SessionRequests {
  readonly pending: PendingRequests
  /** Hears of a question before it is put, and gives it an id of its own. */
  next(asker: SessionRequester, method: string, params: JsonObject): RequestId
}

const requestOver = 'The request that asked is over'

/** How one request of a session asks, and what it has open. Nearly all of it is made with the first question. */
export class SessionRequester implements InputStrategy {
  readonly #inquiry: SessionRequests
  readonly #outlet: SessionOutlet
  #asking: InputStrategy | undefined
  #open: Map<RequestId, (error: Error) => void> | undefined
  #over = false

  constructor(inquiry: SessionRequests, outlet: SessionOutlet) {
    this.#inquiry = inquiry
    this.#outlet = outlet
  }

  begin(exchange: Exchange): HandlerRun {
    return this.#live().begin(exchange)
  }

  resume(exchange: Exchange): Promise<HandlerRun> {
    return this.#live().resume(exchange)
  }

  get relay(): LiveRequest {
    return (...question) => this.#ask(...question)
  }

  /** Whether an answer is being waited for. */
  get waiting(): boolean {
    return this.#open !== undefined && this.#open.size > 0
  }

  #live(): InputStrategy {
    this.#asking ??= liveInput(this.relay)
    return this.#asking
  }

  async #ask(...[method, params, { signal }]: Parameters<LiveRequest>): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#over) throw new McpError('CANCELLED', requestOver)
    const { pending } = this.#inquiry
    const id = this.#inquiry.next(this, method, params)
    const answered = pending.open(id)
    this.#open ??= new Map()
    const open = this.#open
    const withdrawn = new Promise<never>((_, reject) => open.set(id, reject))
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
      pending.delete(id)
      open.delete(id)
      answered.catch(() => {})
    }
  }

  /** Takes back every question that is still open, and puts no more: nobody waits for the answer. */
  close(): void {
    this.#over = true
    if (this.#open === undefined) return
    for (const id of [...this.#open.keys()]) this.#withdraw(id, requestOver)
  }

  #withdraw(id: RequestId, reason: string): void {
    const reject = this.#open?.get(id)
    if (reject === undefined) return
    this.#open?.delete(id)
    this.#inquiry.pending.delete(id)
    const message: JsonRpcNotification = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason },
    }
    this.#outlet.notify(message)
    reject(new McpError('CANCELLED', reason))
  }
}
