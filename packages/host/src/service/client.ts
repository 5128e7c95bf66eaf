import type { Fix } from '../types/index.ts'
import type { MethodName, Methods, TopicRow } from './contract.ts'
import type { Channel, ClientFrame, Fault, HostFrame, Welcome } from './frames.ts'
import type { Position } from './topic.ts'
import { changed, type View } from './view.ts'

const firstDelayMs = 250
const maxDelayMs = 8_000

/** Whether the client is connected to its host now. */
export type ClientState =
  | ({ readonly state: 'connected' } & Welcome)
  | { readonly state: 'connecting'; readonly reason: string }
  | { readonly state: 'closed'; readonly reason: string }

/** How a client connects to its host, and its name. */
export interface ClientOptions {
  /** Opens a connection. Called again after each loss, with growing pauses, until the client is closed. */
  connect: () => Channel | Promise<Channel>
  /** The client's name, as shown to users: `jackfield chat`, `Firefox`. */
  name: string
  /** Identifies the build of the client, which the host compares with its own. Default empty. */
  build?: string
  /** Called after each state change. */
  onState?: (state: ClientState) => void
  /** Creates the error of a failed call. Default a HostError. */
  errorOf?: (fault: Fault) => Error
}

/** Callbacks of a topic subscriber. */
export interface TopicListener<Row> {
  /** Called with the rows after each change. */
  rows(view: View<Row>): void
  /** The topic does not exist, or ended. */
  ended?(error: Error): void
}

/** A host as seen by its surfaces: in the same process, over a local socket or in a browser. */
export interface HostClient {
  /** Whether it is connected, and why not. */
  readonly state: ClientState
  /** Calls `listener` after each state change, until the returned function is called. */
  onState(listener: (state: ClientState) => void): () => void
  /**
   * Calls a method of the host. Calls that were sent before a connection was lost are sent again; the host runs each only once.
   * @throws HostError with the code of the host's error; 'CONNECTION_CLOSED' once the client is closed; 'OUTCOME_UNKNOWN' if the
   * host ended before it responded and was replaced
   */
  call<M extends MethodName>(
    method: M,
    params: Methods[M]['params'],
    options?: { signal?: AbortSignal },
  ): Promise<Methods[M]['result']>
  /** Subscribes to a topic, also across reconnects, until the returned function is called. */
  subscribe<T extends string>(topic: T, listener: TopicListener<TopicRow<T>>): () => void
  /** Resolves when connected. @throws HostError 'CONNECTION_CLOSED' if the client was closed before */
  ready(): Promise<void>
  /** Closes the connection for good; pending calls are rejected with 'CONNECTION_CLOSED'. */
  close(): void
}

interface Pending {
  readonly frame: Extract<ClientFrame, { call: number }>
  isSent: boolean
  resolve(result: unknown): void
  reject(error: Error): void
}

interface Subscription {
  position: Position | undefined
  rows: View<unknown>
  readonly listeners: Set<TopicListener<unknown>>
}

/** Creates a client. It connects at once and reconnects until it is closed. */
export function createHostClient(options: ClientOptions): HostClient {
  return new Client(options)
}

class Client implements HostClient {
  state: ClientState = { state: 'connecting', reason: 'not connected yet' }
  readonly #options: ClientOptions
  readonly #client = globalThis.crypto.randomUUID()
  readonly #pending = new Map<number, Pending>()
  readonly #topics = new Map<string, Subscription>()
  readonly #listeners = new Set<(state: ClientState) => void>()
  #connected = Promise.withResolvers<void>()
  #channel: Channel | undefined
  #calls = 0
  #delayMs = firstDelayMs
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    this.#connected.promise.catch(() => {})
    this.#connect()
  }

  get #isClosed(): boolean {
    return this.state.state === 'closed'
  }

  ready(): Promise<void> {
    return this.#connected.promise
  }

  call<M extends MethodName>(
    method: M,
    params: Methods[M]['params'],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Methods[M]['result']> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      if (this.state.state === 'closed') throw this.#closedError(this.state.reason)
      this.#calls += 1
      const id = this.#calls
      const stop = (): void => {
        if (!this.#pending.delete(id)) return
        this.#send({ stop: id })
        reject(signal?.reason)
      }
      const removeAbortListener = (): void => signal?.removeEventListener('abort', stop)
      this.#pending.set(id, {
        frame: { call: id, method, params },
        isSent: this.state.state === 'connected',
        resolve(result: Methods[M]['result']) {
          removeAbortListener()
          resolve(result)
        },
        reject(error) {
          removeAbortListener()
          reject(error)
        },
      })
      signal?.addEventListener('abort', stop, { once: true })
      if (this.state.state === 'connected') this.#send({ call: id, method, params })
    })
  }

  subscribe<T extends string>(topic: T, listener: TopicListener<TopicRow<T>>): () => void {
    let subscription = this.#topics.get(topic)
    if (subscription === undefined) {
      subscription = { position: undefined, rows: new Map(), listeners: new Set() }
      this.#topics.set(topic, subscription)
      if (this.state.state === 'connected') this.#send({ subscribe: topic })
    }
    const subscriber: TopicListener<unknown> = listener
    const { listeners } = subscription
    listeners.add(subscriber)
    if (subscription.position !== undefined) subscriber.rows(subscription.rows)
    return () => {
      if (!listeners.delete(subscriber) || listeners.size > 0) return
      this.#topics.delete(topic)
      if (this.state.state === 'connected') this.#send({ unsubscribe: topic })
    }
  }

  onState(listener: (state: ClientState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#closeForGood('the client was closed')
  }

  #closeForGood(reason: string): void {
    if (this.state.state === 'closed') return
    clearTimeout(this.#timer)
    this.#setState({ state: 'closed', reason })
    this.#connected.reject(this.#closedError(reason))
    for (const { reject } of this.#pending.values()) reject(this.#closedError(reason))
    this.#pending.clear()
    for (const { listeners } of this.#topics.values())
      for (const listener of listeners) listener.ended?.(this.#closedError(reason))
    this.#topics.clear()
    this.#send({ bye: true })
    this.#channel?.close(reason)
  }

  #errorOf(fault: Fault): Error {
    return this.#options.errorOf?.(fault) ?? new HostError(fault)
  }

  #closedError(reason: string): Error {
    return this.#errorOf(connectionClosed(reason))
  }

  #setState(state: ClientState): void {
    this.state = state
    this.#options.onState?.(state)
    for (const listener of [...this.#listeners]) listener(state)
  }

  async #connect(): Promise<void> {
    let channel: Channel
    try {
      channel = await this.#options.connect()
    } catch (error) {
      // The host is unreachable: the creator of the client decides whether to retry.
      this.#scheduleReconnect(error instanceof Error ? error.message : String(error))
      return
    }
    if (this.#isClosed) {
      channel.close()
      return
    }
    this.#channel = channel
    channel.listen(
      (text) => this.#onFrame(text),
      (reason) => {
        if (this.#channel === channel) this.#scheduleReconnect(reason)
      },
    )
    const { name, build = '' } = this.#options
    channel.send(JSON.stringify({ hello: { client: this.#client, name, build } } satisfies ClientFrame))
  }

  #scheduleReconnect(reason: string): void {
    this.#channel = undefined
    if (this.state.state === 'closed') return
    if (this.state.state === 'connected') {
      this.#connected = Promise.withResolvers()
      this.#connected.promise.catch(() => {})
    }
    this.#setState({ state: 'connecting', reason })
    const jitter = 0.75 + Math.random() / 2
    this.#timer = setTimeout(() => this.#connect(), this.#delayMs * jitter)
    this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs)
  }

  #send(frame: ClientFrame): void {
    this.#channel?.send(JSON.stringify(frame))
  }

  #onFrame(text: string): void {
    const frame: HostFrame = JSON.parse(text)
    if ('welcome' in frame) this.#onWelcome(frame.welcome)
    else if ('call' in frame) this.#onResponse(frame)
    else this.#onTopicFrame(frame)
  }

  #onWelcome(welcome: Welcome): void {
    this.#delayMs = firstDelayMs
    // A replacement host, or one that forgot this client, would repeat calls that already ran.
    if (!welcome.isKnown) this.#rejectSentCalls()
    this.#setState({ state: 'connected', ...welcome })
    for (const [subscribe, { position }] of this.#topics)
      this.#send({ subscribe, ...(position !== undefined && { have: position }) })
    for (const pending of this.#pending.values()) {
      pending.isSent = true
      this.#send(pending.frame)
    }
    this.#connected.resolve()
  }

  #rejectSentCalls(): void {
    for (const [id, { isSent, frame, reject }] of this.#pending) {
      if (!isSent) continue
      this.#pending.delete(id)
      const message = `The host ended before it answered ${frame.method}. What it did before that is not undone.`
      reject(this.#errorOf({ code: 'OUTCOME_UNKNOWN', message }))
    }
  }

  #onResponse(frame: Extract<HostFrame, { call: number }>): void {
    const pending = this.#pending.get(frame.call)
    if (pending === undefined) return
    this.#pending.delete(frame.call)
    if ('fault' in frame) pending.reject(this.#errorOf(frame.fault))
    else pending.resolve(frame.result)
  }

  #onTopicFrame(frame: Extract<HostFrame, { topic: string }>): void {
    const subscription = this.#topics.get(frame.topic)
    if (subscription === undefined) return
    if ('fault' in frame) {
      this.#topics.delete(frame.topic)
      for (const listener of subscription.listeners) listener.ended?.(this.#errorOf(frame.fault))
      return
    }
    subscription.rows = 'rows' in frame ? new Map(frame.rows) : changed(subscription.rows, frame.changes)
    subscription.position = { epoch: frame.epoch, seq: frame.seq }
    for (const listener of [...subscription.listeners]) listener.rows(subscription.rows)
  }
}

/** An error of the host or of the connection. */
export class HostError extends Error {
  override readonly name: string = 'HostError'
  /** A host error code (`INVALID`, `UNAUTHORIZED`, `CONNECTION_CLOSED` …), or a JSON-RPC error number. */
  readonly code: string | number
  /** As in `Fault`. */
  readonly data: unknown
  /** What the user can do about it; empty if nothing is known. */
  readonly fixes: readonly Fix[]

  constructor({ code, message, data, fixes = [] }: Fault) {
    super(message)
    this.code = code
    this.data = data
    this.fixes = fixes
  }
}

function connectionClosed(reason: string): Fault {
  return { code: 'CONNECTION_CLOSED', message: `The host cannot be reached: ${reason}` }
}
