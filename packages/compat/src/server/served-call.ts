/** One request of a client, as the handlers of an official server see it while they run. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Exchange,
  type JsonObject,
  type LoggingLevel,
  loggingLevels,
  type Peer,
  type Question,
  type RequestId,
} from '@jackfield/sdk'
import type { SuspendedCall } from '@jackfield/sdk/internal'
import { httpRequest, type ServedHttpRequest } from './http-context.ts'

export type Notification = Parameters<Exchange['notify']>[0]

export const currentCall: AsyncLocalStorage<ServedCall> = new AsyncLocalStorage()

/** The call whose handler runs now, in this asynchronous context. */
export function runningCall(): ServedCall | undefined {
  return currentCall.getStore()
}

/** The parts of an exchange that a handler uses. */
export type CallExchange = Pick<
  Exchange,
  'id' | 'method' | 'params' | 'peer' | 'signal' | 'session' | 'detach' | 'notify'
> & {
  readonly inputStrategy: Pick<Exchange['inputStrategy'], 'relay'>
}

export type Suspended = SuspendedCall<JsonObject, CallExchange>

/** One request of a client, while its handler runs. */
export class ServedCall {
  readonly id: RequestId
  readonly method: string
  /** The params without the members by which 2026-07-28 retries a request. */
  readonly params: JsonObject
  readonly http: ServedHttpRequest | undefined
  readonly #exchange: CallExchange
  readonly #suspended: Suspended | undefined
  #isEnded = false

  constructor(exchange: CallExchange, suspended?: Suspended, http?: ServedHttpRequest) {
    const { requestState: _state, inputResponses: _responses, ...params } = exchange.params
    this.id = exchange.id
    this.method = exchange.method
    this.params = params
    this.http = http ?? httpRequest.getStore()
    this.#exchange = exchange
    this.#suspended = suspended
  }

  get peer(): Peer {
    return this.#exchange.peer
  }

  get signal(): AbortSignal {
    return this.#suspended?.signal ?? this.#exchange.signal
  }

  get sessionId(): string | undefined {
    return this.#exchange.session?.id
  }

  /** The request's `_meta`. */
  get meta(): JsonObject | undefined {
    const { _meta } = this.params
    return isObject(_meta) ? _meta : undefined
  }

  /** Whether requests can be sent to the client with this call now. */
  get canAsk(): boolean {
    return (
      !this.#isEnded && (this.#suspended !== undefined || this.#exchange.inputStrategy.relay !== undefined)
    )
  }

  /** Closes its stream, so that the client reconnects; undefined if that is not possible. */
  get detach(): (() => void) | undefined {
    return this.#exchange.detach
  }

  /** The handler has finished: later requests and notifications are not sent. */
  end(): void {
    this.#isEnded = true
  }

  /** Sends a request to the client. */
  ask(question: Question, signal: AbortSignal): Promise<unknown> {
    const { inputStrategy, peer } = this.#exchange
    if (this.#suspended !== undefined) return this.#suspended.ask(question, signal)
    if (inputStrategy.relay === undefined)
      return Promise.reject(new TypeError('This request cannot send requests to the client'))
    return inputStrategy.relay(question.method, peer.revision.question(question), { signal })
  }

  /** Sends a notification about this request; ignored after `end`. */
  notify(notification: Notification): void {
    const exchange = this.#suspended === undefined ? this.#exchange : this.#suspended.listener
    if (this.#isEnded || exchange === undefined) return
    if (notification.method === 'notifications/message') {
      const { level } = notification.params
      if (isAtLeast(level, exchange.peer.logLevel)) exchange.notify(notification)
    } else if (notification.method === 'notifications/progress') {
      // A retry of 2026-07-28 has a progress token of its own.
      const token = progressTokenOf(exchange)
      if (token === undefined) return
      const isOwnToken = notification.params.progressToken === progressTokenOf(this.#exchange)
      exchange.notify(
        isOwnToken
          ? { ...notification, params: { ...notification.params, progressToken: token } }
          : notification,
      )
    } else exchange.notify(notification)
  }
}

function progressTokenOf({ params }: CallExchange): string | number | undefined {
  const meta = params['_meta']
  const token = isObject(meta) ? meta['progressToken'] : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : undefined
}

function isAtLeast(level: LoggingLevel, minimum: LoggingLevel | undefined): boolean {
  return minimum !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(minimum)
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
