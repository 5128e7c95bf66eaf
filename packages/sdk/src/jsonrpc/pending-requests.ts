import type { JsonRpcResponse, RequestId } from './message.ts'
import { RotatingMap } from './rotating-map.ts'

interface Waiting {
  resolve(response: JsonRpcResponse): void
  reject(error: Error): void
}

/** Requests waiting for their responses. The id 1 and the id "1" are different requests. */
export class Pending {
  readonly #waiting = new RotatingMap<RequestId, Waiting>()

  get size(): number {
    return this.#waiting.size
  }

  /** Waits for the response to a request just sent. */
  open(id: RequestId): Promise<JsonRpcResponse> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
    })
  }

  /** Hands a response to whoever waits for it; false when nobody does. */
  settle(response: JsonRpcResponse): boolean {
    if (response.id === undefined) return false
    const waiting = this.#waiting.get(response.id)
    if (waiting === undefined) return false
    this.#waiting.delete(response.id)
    waiting.resolve(response)
    return true
  }

  /** Tells whoever waits for a response that none will come; false when nobody does. */
  refuse(id: RequestId, error: Error): boolean {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    this.#waiting.delete(id)
    waiting.reject(error)
    return true
  }

  /** Stops waiting for one response; one that comes later is ignored. */
  delete(id: RequestId): void {
    this.#waiting.delete(id)
  }

  /** Rejects everything that waits. */
  fail(error: Error): void {
    const all = this.#waiting.values()
    this.#waiting.clear()
    for (const waiting of all) waiting.reject(error)
  }
}
