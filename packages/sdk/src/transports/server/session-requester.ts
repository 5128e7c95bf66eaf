import { McpError, resultOf } from '../../jsonrpc/error.ts'
import type { JsonObject, JsonRpcRequest, JsonRpcResponse, RequestId } from '../../jsonrpc/message.ts'
import type { PendingRequests } from '../../jsonrpc/pending-requests.ts'
import type { QuestionMethod } from '../../protocol/server-requests.ts'
import type { Exchange, HandlerRun, InputStrategy } from '../../request/exchange.ts'
import { type LiveRequest, liveInput, type StepMemory } from '../../request/live-run.ts'
import type { Outlet } from './served-request.ts'

/** Sends messages that belong to one request of a session, including requests to the client. */
export interface SessionOutlet extends Outlet {
  /** Sends a request to the client; false if it can never arrive. */
  request(message: JsonRpcRequest): boolean
  /** The stored questions and steps of the run; absent if no other node can run the handler again. */
  readonly memory?: RunMemory | undefined
}

/** The questions and steps of a request whose handler another node may run again. */
export interface RunMemory extends StepMemory {
  question(method: string, params: JsonObject): RememberedQuestion
}

export interface RememberedQuestion {
  /** The same question of an earlier run. Undefined in a first run. */
  readonly earlier: Promise<EarlierQuestion | undefined> | undefined
  /** Records the id of a question before it is sent. */
  sent(id: RequestId): void
  /** Stores a response before the handler has it. */
  answered(id: RequestId, response: JsonRpcResponse): Promise<void>
}

/** A question of an earlier run, with the response if it had one. */
export interface EarlierQuestion {
  readonly id: string
  readonly response?: JsonRpcResponse
  /** Whether the client may not have received it, because its event was not stored. It is sent again with the same id. */
  readonly isUncertain?: boolean
}

const requestOver = 'The request that sent it has ended'

/** The ids of requests to the client. */
export interface QuestionIds {
  next(requester: SessionRequester, method: string, params: JsonObject): RequestId
  /** Waits for the response to a question that an earlier run asked. */
  reuse(requester: SessionRequester, id: string): void
  /** Called when a request was answered or withdrawn. */
  release(id: RequestId): void
}

/** Sends requests to the client on behalf of one request of a session. */
export class SessionRequester implements InputStrategy {
  readonly #pending: PendingRequests
  readonly #ids: QuestionIds
  readonly #outlet: SessionOutlet
  #inputStrategy: InputStrategy | undefined
  #open: Map<RequestId, (error: Error) => void> | undefined
  #over = false

  constructor(pending: PendingRequests, ids: QuestionIds, outlet: SessionOutlet) {
    this.#pending = pending
    this.#ids = ids
    this.#outlet = outlet
  }

  begin(exchange: Exchange): HandlerRun {
    return this.#live().begin(exchange)
  }

  resume(exchange: Exchange): Promise<HandlerRun> {
    return this.#live().resume(exchange)
  }

  get relay(): LiveRequest {
    return (method, params, { signal }) => this.#ask(method, params, signal)
  }

  get isWaiting(): boolean {
    return this.#open !== undefined && this.#open.size > 0
  }

  #live(): InputStrategy {
    this.#inputStrategy ??= liveInput(this.relay, this.#outlet.memory)
    return this.#inputStrategy
  }

  async #ask(method: QuestionMethod, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#over) throw new McpError('CANCELLED', requestOver)
    const remembered = this.#outlet.memory?.question(method, params)
    // A first run sends its questions synchronously, in the order of the handler.
    const earlier = remembered?.earlier === undefined ? undefined : await remembered.earlier
    if (earlier?.response !== undefined) return resultOf(earlier.response)
    const id = earlier?.id ?? this.#ids.next(this, method, params)
    const answered = this.#pending.open(id)
    this.#open ??= new Map()
    const open = this.#open
    const withdrawn = new Promise<never>((_, reject) => open.set(id, reject))
    const onAbort = (): void => this.#withdraw(id, 'The request that sent it was cancelled')
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      remembered?.sent(id)
      if (earlier !== undefined) this.#ids.reuse(this, earlier.id)
      const isSent = earlier !== undefined && earlier.isUncertain !== true
      if (!isSent && !this.#outlet.request({ jsonrpc: '2.0', id, method, params })) {
        throw new McpError('CONNECTION_CLOSED', 'the connection was lost')
      }
      const response = await Promise.race([answered, withdrawn])
      if (remembered !== undefined) await remembered.answered(id, response)
      return resultOf(response)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#pending.delete(id)
      open.delete(id)
      this.#ids.release(id)
      answered.catch(() => {})
    }
  }

  /** Cancels all pending requests to the client, and rejects further ones. */
  close(): void {
    this.#over = true
    if (this.#open === undefined) return
    for (const id of [...this.#open.keys()]) this.#withdraw(id, requestOver)
  }

  #withdraw(id: RequestId, reason: string): void {
    const reject = this.#open?.get(id)
    if (reject === undefined) return
    this.#open?.delete(id)
    this.#pending.delete(id)
    const params = { requestId: id, reason }
    this.#outlet.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    reject(new McpError('CANCELLED', reason))
  }
}
