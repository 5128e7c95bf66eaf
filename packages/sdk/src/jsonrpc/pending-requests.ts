import type { JsonRpcResponse, RequestId } from './message.ts'
import { RotatingMap } from './rotating-map.ts'

interface PendingRequest {
  resolve(response: JsonRpcResponse): void
  reject(error: Error): void
}

/** Requests without a response yet. The id 1 and the id "1" are different requests. */
export class PendingRequests {
  readonly #requests = new RotatingMap<RequestId, PendingRequest>()

  open(id: RequestId): Promise<JsonRpcResponse> {
    return new Promise((resolve, reject) => {
      this.#requests.set(id, { resolve, reject })
    })
  }

  /** Settles the request of a response; false if there is none. */
  settle(response: JsonRpcResponse): boolean {
    if (response.id === undefined) return false
    const request = this.#requests.get(response.id)
    if (request === undefined) return false
    this.#requests.delete(response.id)
    request.resolve(response)
    return true
  }

  /** Rejects one request; false if there is none. */
  reject(id: RequestId, error: Error): boolean {
    const request = this.#requests.get(id)
    if (request === undefined) return false
    this.#requests.delete(id)
    request.reject(error)
    return true
  }

  /** Stops waiting for a response; a late one is ignored. */
  delete(id: RequestId): void {
    this.#requests.delete(id)
  }

  rejectAll(error: Error): void {
    const requests = this.#requests.values()
    this.#requests.clear()
    for (const request of requests) request.reject(error)
  }
}
