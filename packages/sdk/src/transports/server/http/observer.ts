import type { Backplane } from '../../../request/backplane.ts'

/** The current load of a mounted server. */
export interface HttpServerLoad {
  /** Sessions of 2024-11-05 to 2025-11-25 that this process knows. On several nodes each of them may know a session. */
  readonly sessions: number
  /** Open event streams of sessions, and of `subscriptions/listen`. */
  readonly streams: { readonly session: number; readonly subscription: number }
  /** Requests in flight: their handlers run, or wait for a client's response. */
  readonly calls: { readonly running: number; readonly waiting: number }
  /** Milliseconds since this node renewed its lease; undefined where sessions are not shared. */
  readonly leaseAgeMs: number | undefined
}

/** An event in a mounted server. */
export type HttpServerEvent =
  /** A session began in this process. */
  | { readonly type: 'sessionBegun' }
  /** A session that began in this process ended. */
  | { readonly type: 'sessionEnded'; readonly durationMs: number }
  /**
   * A client resumed a stream of another node here. `followed`: its events are sent here; `taken`: its call runs here now;
   * `interrupted`: its node stopped, and its requests got an error; `lost`: the store does not have its events any more.
   */
  | { readonly type: 'takeover'; readonly outcome: 'followed' | 'taken' | 'interrupted' | 'lost' }
  /** Where sessions are shared, a client's response arrived on the node that sent the request, or on another one. */
  | { readonly type: 'answer'; readonly arrived: 'here' | 'elsewhere' }
  /** A write was refused: a second answer, a record of a session that another node changed meanwhile, a used `requestState`. */
  | { readonly type: 'writeRefused'; readonly what: 'answer' | 'record' | 'state' }
  /** The store had an entry whose message was lost. */
  | { readonly type: 'wakeMissed' }
  /** An operation of the backplane ended. */
  | {
      readonly type: 'backplane'
      /** A method of the backplane. */
      readonly operation: string
      readonly durationMs: number
      /** Why it failed. */
      readonly error?: unknown
    }

/**
 * Receives the events and the load of a mounted server, for metrics. `httpMetrics` of `@jackfield/sdk/telemetry` records them with
 * OpenTelemetry. Its functions must be fast and must not throw.
 */
export interface HttpObserver {
  /**
   * Called when the server is mounted.
   * @param load returns the current load; call it when metrics are collected
   * @returns called when the server was closed
   */
  start(load: () => HttpServerLoad): () => void
  /** Called for every event. */
  event(event: HttpServerEvent): void
}

/** A backplane whose operations are reported to an observer. */
export function observedBackplane(backplane: Backplane, observer: HttpObserver): Backplane {
  return new Proxy(backplane, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]): Promise<unknown> => {
        const operation = String(name)
        const began = performance.now()
        const ended = (): { durationMs: number } => ({ durationMs: performance.now() - began })
        try {
          const result: unknown = await Reflect.apply(value, target, args)
          observer.event({ type: 'backplane', operation, ...ended() })
          return result
        } catch (error) {
          observer.event({ type: 'backplane', operation, ...ended(), error })
          throw error
        }
      }
    },
  })
}
