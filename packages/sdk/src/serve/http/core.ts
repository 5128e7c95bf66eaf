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
import { Shares } from './shares.ts'
import { SseSessions } from './sse.ts'

/** An answer that is still owed. */
export interface Serving {
  readonly principal: string | null
  readonly method: string
  /** Asks the handler to stop; what it still gives is sent. */
  abort(reason: unknown): void
  /** Breaks off without an answer. */
  abandon(reason: unknown): void
  /** Half a keep-alive interval went by. */
  tick(): void
}

/** Why a request cannot be served now. */
export interface Busy {
  /** 429 where its principal has too much, 503 where the node has. */
  readonly status: 429 | 503
  readonly error: RpcError
}

const graceMs = 1000
/** The request whose answer is a stream that stays open. */
export const listening = 'subscriptions/listen'

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
  readonly #shares: Shares
  readonly #listenShares: Shares
  #subscriptions = 0
  #ticking: ReturnType<typeof setTimeout> | undefined
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(server: Server, options: HttpOptions, warn: (message: string) => void) {
    const backplane = options.backplane ?? memoryBackplane()
    this.server = server
    this.#authenticate = options.authenticate
    this.bounds = bounds(options.limits)
    this.#shares = new Shares(this.bounds.inFlightPerPrincipal)
    this.#listenShares = new Shares(this.bounds.listenStreamsPerPrincipal)
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
  admit(serving: Serving, ticks: boolean): Busy | undefined {
    const busy = serving.method === listening ? this.#openListening(serving) : this.#openCall(serving)
    if (busy !== undefined) return busy
    this.#serving.add(serving)
    if (ticks) this.#ticking ??= this.#tickLater()
    return undefined
  }

  #openListening({ principal }: Serving): Busy | undefined {
    if (this.#subscriptions >= this.bounds.listenStreams) {
      return busy(503, 'Too many subscriptions are open: try again later')
    }
    if (!this.#listenShares.take(principal)) {
      const { listenStreamsPerPrincipal } = this.bounds
      return busy(429, `Too many subscriptions are open: end some of your ${listenStreamsPerPrincipal}`)
    }
    this.#subscriptions++
    return undefined
  }

  #openCall({ principal }: Serving): Busy | undefined {
    if (this.#serving.size - this.#subscriptions >= this.bounds.inFlightPerNode) {
      return busy(503, 'Too many requests in flight: try again later')
    }
    if (this.#shares.take(principal)) return undefined
    const { inFlightPerPrincipal } = this.bounds
    return busy(429, `Too many requests in flight: wait for some of your ${inFlightPerPrincipal} to finish`)
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
  done(serving: Serving): void {
    if (serving.method === listening) {
      this.#subscriptions--
      this.#listenShares.give(serving.principal)
    } else {
      this.#shares.give(serving.principal)
    }
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

function busy(status: 429 | 503, why: string): Busy {
  return { status, error: new RpcError(ErrorCode.InternalError, why) }
}
