import { branch } from '../client/scope.ts'
import type { AskContext, Client, ProgressReport, Relay, ServerChange } from '../client/types.ts'
import type { Changes } from '../core/changes.ts'
import { createChanges } from '../core/hub.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { Question } from '../protocol/asking.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { loggingLevels } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'
import { questionOf } from './questions.ts'
import { Upstream } from './upstream.ts'
import { Watches } from './watches.ts'

export type LogMessage = ServerNotifications['notifications/message']

/** One request on its way upstream, with who it is passed on for. */
export interface Passage {
  readonly relay: Relay
  readonly signal: AbortSignal
  /** The least severe log messages wanted; undefined for none. */
  readonly logLevel: LoggingLevel | undefined
  /** Puts a question to the client; rejects with an RpcError that the upstream server gets. */
  ask(question: Question, signal: AbortSignal): Promise<JsonObject>
  progress(report: ProgressReport): void
  log(message: LogMessage): void
}

/** What the upstream server of one seat says on its own. */
export interface SeatEvents {
  answer(
    question: { readonly method: string; readonly params: JsonObject },
    context: AskContext,
  ): Promise<JsonObject>
  log(message: LogMessage): void
  elicitationComplete(id: string): void
}

export interface SeatOptions {
  open(events: SeatEvents): Promise<Client>
  /** Whether those who use it must not hear of each other. */
  shared: boolean
  /** Milliseconds one request may take. */
  totalMs: number
  /** Resources watched at once. */
  watchedUris: number
  onWarning(text: string): void
  /** Hears that the tools are others now. */
  onTools(client: Client): void
}

/** One connection upstream, what travels on it, and what is heard on it. */
export class Seat {
  readonly upstream: Upstream
  readonly watches: Watches
  /** The changes that are heard on it. */
  readonly changes: Changes = createChanges()
  readonly #options: SeatOptions
  /** What is on its way, the newest last, each with a way to say that it is over. */
  readonly #passages = new Map<Passage, AbortController>()
  readonly #delivered = new WeakSet<LogMessage>()
  readonly #unread = new Map<string, ServerChange>()
  #level: { readonly client: Client; readonly level: LoggingLevel } | undefined

  constructor(options: SeatOptions) {
    this.#options = options
    const events: SeatEvents = {
      answer: (question, context) => this.#answer(question, context),
      log: (message) => this.#unattributed(message),
      elicitationComplete: (id) => this.changes.publish({ type: 'elicitation', id }),
    }
    this.upstream = new Upstream(() => options.open(events))
    this.watches = new Watches(this.upstream, options.watchedUris, (change) => this.#heard(change))
  }

  get idle(): boolean {
    return this.#passages.size === 0 && !this.watches.inUse
  }

  async close(): Promise<void> {
    this.watches.close()
    await this.upstream.close()
  }

  /** Sends a request and gives its result, with `resultType` where that is not complete. */
  async pass(method: string, params: JsonObject, passage: Passage): Promise<JsonObject> {
    const { relay, signal, logLevel } = passage
    const over = new AbortController()
    this.#passages.set(passage, over)
    try {
      const client = await this.upstream.get()
      signal.throwIfAborted()
      await this.#setLevel(client, logLevel)
      return await client.request(method, params, {
        relay,
        signal,
        // Whoever waits for the answer says how long: this side only ends what nobody waits for any more.
        timeoutMs: this.#options.totalMs,
        maxTotalMs: this.#options.totalMs,
        onProgress: (report) => passage.progress(report),
        ...(logLevel === undefined
          ? {}
          : {
              logLevel,
              onLog: (message) => {
                this.#delivered.add(message)
                passage.log(message)
              },
            }),
      })
    } finally {
      this.#passages.delete(passage)
      over.abort()
    }
  }

  /** On a session the level belongs to the connection; the most talkative wish counts where several share it. */
  async #setLevel(client: Client, wanted: LoggingLevel | undefined): Promise<void> {
    const { era, capabilities } = client.server
    if (wanted === undefined || era !== 'session' || capabilities.logging === undefined) return
    const level = this.#level?.client === client ? this.#level.level : undefined
    const enough = this.#options.shared
      ? level !== undefined && loggingLevels.indexOf(level) <= loggingLevels.indexOf(wanted)
      : level === wanted
    if (enough) return
    this.#level = { client, level: wanted }
    await client.setLogLevel(wanted).catch((error) => {
      this.#options.onWarning(`The upstream server did not take the log level ${wanted}: ${error}`)
    })
  }

  /**
   * Has a question answered by the client of the request it is about. Where nobody knows which one that is, the newest
   * will do, as all of them are of one person; when that is over first, the question moves on to another.
   */
  async #answer(
    { method, params }: { readonly method: string; readonly params: JsonObject },
    { cause, signal }: AskContext,
  ): Promise<JsonObject> {
    const question = questionOf(method, params)
    for (;;) {
      const passages = [...this.#passages]
      const about = cause?.relay && passages.find(([{ relay }]) => relay === cause.relay)
      const found = about ?? (this.#options.shared ? undefined : passages.at(-1))
      if (found === undefined) {
        throw new RpcError(ErrorCode.InvalidRequest, 'There is no request that this question could be about')
      }
      const [passage, { signal: over }] = found
      const asking = branch(signal)
      const moveOn = (): void => asking.abort(over.reason)
      over.addEventListener('abort', moveOn, { once: true })
      try {
        return await passage.ask(question, asking.signal)
      } catch (error) {
        if (!over.aborted || signal.aborted) throw error
      } finally {
        over.removeEventListener('abort', moveOn)
        asking.release()
      }
    }
  }

  /** A message of which nobody knows the request is told to the newest, unless it may be somebody else's. */
  #unattributed(message: LogMessage): void {
    if (this.#options.shared) return
    queueMicrotask(() => {
      if (!this.#delivered.has(message)) [...this.#passages.keys()].at(-1)?.log(message)
    })
  }

  #heard(change: ServerChange): void {
    const { current } = this.upstream
    if (change.type === 'tools' && current !== undefined) this.#options.onTools(current)
    // The same change may be heard on several ways at once.
    if (this.#unread.size === 0) queueMicrotask(() => this.#tell())
    this.#unread.set(JSON.stringify(change), change)
  }

  #tell(): void {
    const changes = [...this.#unread.values()]
    this.#unread.clear()
    for (const change of changes) this.changes.publish(change)
  }
}
