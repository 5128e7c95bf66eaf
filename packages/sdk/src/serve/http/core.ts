import { replay } from '../../core/asking.ts'
import type { Asking, Caller } from '../../core/exchange.ts'
import { memoryBackplane } from '../../core/memory-backplane.ts'
import { createSealer } from '../../core/seal.ts'
import { ErrorCode, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { Server } from '../../server/server.ts'
import { type Bounds, bounds } from '../bounds.ts'
import { unref } from '../timers.ts'
import type { Authenticate, HttpOptions, HttpRefusal } from './options.ts'
import { Sessions } from './sessions.ts'
import { SseSessions } from './sse.ts'

/** An answer that is still owed. */
export interface Serving {
  /** Asks the handler to stop; what it still gives is sent. */
  abort(reason: unknown): void
  /** Breaks off without an answer. */
  abandon(reason: unknown): void
  /** Half a keep-alive interval went by. */
  tick(): void
}

const graceMs = 1000

/** What every request of one mounted server shares. */
export class Core {
  readonly server: Server
  readonly bounds: Bounds
  readonly asking: Asking
  readonly sessions: Sessions
  /** Those of HTTP+SSE, where it is served. */
  readonly sse: SseSessions | undefined
  readonly #authenticate: Authenticate | undefined
  readonly #serving = new Set<Serving>()
  #subscriptions = 0
  #ticking: ReturnType<typeof setTimeout> | undefined
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(server: Server, options: HttpOptions, warn: (message: string) => void) {
    const backplane = options.backplane ?? memoryBackplane()
    this.server = server
    this.#authenticate = options.authenticate
    this.bounds = bounds(options.limits)
    this.asking = replay({
      sealer: createSealer(options.keys),
      backplane,
      audience: server.info.name,
      ttlMs: this.bounds.stateTtlMs,
      acceptUnasked: options.acceptUnaskedAnswers ?? false,
      onRefused: (reason) => warn(`A requestState was refused: ${reason}`),
    })
    this.sessions = new Sessions({ server, bounds: this.bounds, backplane })
    this.sse = options.sse === undefined ? undefined : new SseSessions(options.sse, server, this.bounds)
  }

  get closing(): boolean {
    return this.#closing !== undefined
  }

  /** How to refuse a caller who was not allowed all of this. */
  lacking(scopes: readonly string[], caller: Caller): HttpRefusal {
    return this.#authenticate?.lacking?.(scopes, caller) ?? { status: 403 }
  }

  /** Takes a stateless request in, or says why not now. One that `ticks` hears of time going by. */
  admit(serving: Serving, method: string, ticks: boolean): RpcError | undefined {
    if (method === 'subscriptions/listen') {
      if (this.#subscriptions >= this.bounds.listenStreams) {
        return new RpcError(ErrorCode.InternalError, 'Too many subscriptions are open: try again later')
      }
      this.#subscriptions++
    }
    this.#serving.add(serving)
    if (ticks) this.#ticking ??= this.#tickLater()
    return undefined
  }

  /** One timer for every answer that is owed: most are given long before it rings. */
  #tickLater(): ReturnType<typeof setTimeout> {
    return unref(
      setTimeout(() => {
        for (const serving of this.#serving) serving.tick()
        this.#ticking = this.#serving.size > 0 ? this.#tickLater() : undefined
      }, this.bounds.keepAliveMs / 2),
    )
  }

  /** A stateless request that was taken in is over. */
  done(serving: Serving, method: string): void {
    if (method === 'subscriptions/listen') this.#subscriptions--
    this.#serving.delete(serving)
    if (this.#serving.size === 0) this.#onIdle?.()
  }

  /** Ends everything: what handlers still answer within 1 s is sent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const reason = new McpError('CONNECTION_CLOSED', 'The server is shutting down')
    clearTimeout(this.#ticking)
    this.sessions.close(reason.message)
    const sse = this.sse?.close(reason.message)
    for (const serving of this.#serving) serving.abort(reason)
    if (this.#serving.size > 0) await this.#idle()
    await sse
    for (const serving of this.#serving) serving.abandon(reason)
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
