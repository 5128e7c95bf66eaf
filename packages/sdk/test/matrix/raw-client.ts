import { type JsonObject, MetaKey, type ProtocolVersion, type RequestId } from '@jackfield/sdk'
import { expect } from 'vitest'
import { isObject } from '../../../../test/setup/json.ts'
import type { RawConnection, Receive } from '../transports/dial.ts'

export interface RawOptions {
  /** What this client declares. Default: everything the revision knows. */
  readonly capabilities?: JsonObject
  /** Answers what the server asks of a session. Default: nothing is answered. */
  readonly onRequest?: (message: JsonObject) => JsonObject | undefined
  /** Whether to begin the session. Default true. */
  readonly begin?: boolean
}

export interface RawRequest {
  /** Default: one that was not used before. */
  readonly id?: RequestId
  /** Further members of the `_meta`. */
  readonly meta?: JsonObject
  /** What this request declares (2026-07-28). */
  readonly capabilities?: JsonObject
}

/** One value from the server, and the request on whose stream it came. */
export interface Received {
  readonly message: JsonObject
  readonly cause: RequestId | undefined
}

export const info = { name: 'tester', version: '1' }

/** Every capability a client of a revision can declare. */
export function everyCapability(version: ProtocolVersion): JsonObject {
  return {
    ...(version >= '2025-06-18' && { elicitation: {} }),
    ...(version >= '2025-11-25' && { elicitation: { form: {}, url: {} } }),
    sampling: version >= '2025-11-25' ? { tools: {}, context: {} } : {},
    roots: {},
  }
}

/** A client whose messages are written by the test. */
export class RawClient {
  /** All received messages, in order. */
  readonly received: Received[] = []
  /** What `initialize` was answered with. */
  initializeResult: JsonObject = {}
  readonly #version: ProtocolVersion
  readonly #capabilities: JsonObject
  readonly #onRequest: RawOptions['onRequest']
  readonly #waiting = new Set<() => void>()
  #connection: RawConnection | undefined
  #last = 0

  constructor(version: ProtocolVersion, options: RawOptions) {
    this.#version = version
    this.#capabilities = options.capabilities ?? everyCapability(version)
    this.#onRequest = options.onRequest
  }

  /** Discards the messages received so far. */
  forget(): void {
    this.received.length = 0
  }

  get stateless(): boolean {
    return this.#version === '2026-07-28'
  }

  async open(dial: (receive: Receive) => Promise<RawConnection>, begin = true): Promise<void> {
    this.#connection = await dial((value, cause) => this.#receive(value, cause))
    if (this.stateless || !begin) return
    const { result } = await this.send('initialize', {
      protocolVersion: this.#version,
      capabilities: this.#capabilities,
      clientInfo: info,
    })
    this.initializeResult = isObject(result) ? result : {}
    await this.post({ method: 'notifications/initialized' })
  }

  /** Sends a request and gives its id; its response is for `answer` to wait for. */
  async begin(method: string, params: JsonObject = {}, how: RawRequest = {}): Promise<RequestId> {
    const { id = `raw ${++this.#last}` } = how
    const meta = { ...this.meta(how), ...how.meta }
    const all = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta }
    await this.post({ id, method, params: all })
    return id
  }

  /** The response to a request, whatever it is. `since` skips messages received before. */
  async answer(id: RequestId, since = 0): Promise<JsonObject> {
    const isIt = ({ message }: Received): boolean => !('method' in message) && message['id'] === id
    await this.until((received) => received.slice(since).some(isIt))
    return this.received.slice(since).find(isIt)?.message ?? {}
  }

  /** The response to one request. */
  async send(method: string, params: JsonObject = {}, how: RawRequest = {}): Promise<JsonObject> {
    const since = this.received.length
    return this.answer(await this.begin(method, params, how), since)
  }

  /** The result of one request, which must have one. */
  async ask(method: string, params: JsonObject = {}, how: RawRequest = {}): Promise<JsonObject> {
    const answer = await this.send(method, params, how)
    expect(answer).toHaveProperty('result')
    return isObject(answer['result']) ? answer['result'] : {}
  }

  /** The text that a tool gives. */
  async call(name: string, args: JsonObject = {}, how: RawRequest = {}): Promise<string> {
    return textOf(await this.ask('tools/call', { name, arguments: args }, how))
  }

  /** Sends a notification. */
  async notify(method: string, params: JsonObject = {}): Promise<void> {
    const meta = this.meta()
    await this.post({ method, params: Object.keys(meta).length === 0 ? params : { ...params, _meta: meta } })
  }

  /** Sends a message of any kind, right or wrong. */
  async post(message: JsonObject): Promise<void> {
    await this.sendValue({ jsonrpc: '2.0', ...message })
  }

  /** Sends any JSON value. */
  async sendValue(value: unknown): Promise<void> {
    // A connection closed on purpose is no failure.
    await this.#connection?.send(value).catch((error: unknown) => {
      if (!(error instanceof Error) || error.name !== 'AbortError') throw error
    })
  }

  /** Cancels a request, in the way of the transport. */
  async cancel(requestId: RequestId, reason = 'No longer wanted'): Promise<void> {
    if (this.stateless && this.#connection?.hangUp !== undefined) this.#connection.hangUp(requestId)
    else await this.notify('notifications/cancelled', { requestId, reason })
  }

  /** Sends a request that every server answers at once: its response shows that all earlier messages were handled. */
  async settle(): Promise<void> {
    await this.send(this.stateless ? 'server/discover' : 'ping')
  }

  /** Waits until a condition on the received messages is true. */
  until(condition: (received: readonly Received[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this.received)) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** The received notifications of a method. */
  notifications(method: string): JsonObject[] {
    return this.received.flatMap(({ message }) =>
      message['method'] === method && !('id' in message) ? [message] : [],
    )
  }

  /** The requests that the server sent. */
  get asked(): JsonObject[] {
    return this.received.flatMap(({ message }) => ('method' in message && 'id' in message ? [message] : []))
  }

  /** Has the server end the connection, where it can end one alone; false where it cannot. */
  async endByServer(): Promise<boolean> {
    if (this.#connection?.end === undefined) return false
    await this.#connection.end()
    return true
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }

  /** The `_meta` of every request of 2026-07-28; empty in a session. */
  meta({ capabilities = this.#capabilities }: RawRequest = {}): JsonObject {
    if (!this.stateless) return {}
    return {
      [MetaKey.protocolVersion]: this.#version,
      [MetaKey.clientInfo]: info,
      [MetaKey.clientCapabilities]: capabilities,
    }
  }

  #receive(value: unknown, cause: RequestId | undefined): void {
    for (const message of Array.isArray(value) ? value : [value]) {
      if (!isObject(message)) throw new TypeError('The server said something that is no message')
      this.received.push({ message, cause })
      const answer = 'method' in message && 'id' in message ? this.#onRequest?.(message) : undefined
      if (answer !== undefined) this.post({ id: message['id'], ...answer })
    }
    for (const check of this.#waiting) check()
  }
}

/** The text of a result's first content block. */
export function textOf({ content }: JsonObject): string {
  const [first]: unknown[] = Array.isArray(content) ? content : []
  return isObject(first) ? String(first['text']) : ''
}
