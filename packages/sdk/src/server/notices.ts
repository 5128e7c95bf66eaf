import type { Exchange } from '../core/exchange.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { loggingLevels, MetaKey } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'

const burst = 100
const perSecond = 20

type Progress = Omit<ServerNotifications['notifications/progress'], 'progressToken'>

/** Progress and log messages of one request: kept in order, at a bounded pace, and the newest progress never lost. */
export class Notices {
  readonly #exchange: Exchange
  readonly #token: unknown
  #last = Number.NEGATIVE_INFINITY
  #tokens = burst
  #refilled = Date.now()
  #held: Progress | undefined
  #leftOut = 0

  constructor(exchange: Exchange, token: unknown) {
    this.#exchange = exchange
    this.#token = token
  }

  progress(report: Progress): void {
    if (!isToken(this.#token) || !(report.progress > this.#last)) return
    this.#last = report.progress
    if (this.#mayTell()) this.#tell(report)
    else this.#held = report
  }

  log(level: LoggingLevel, data: unknown, logger: string | undefined): void {
    const wanted = this.#exchange.peer.logLevel
    if (wanted === undefined || loggingLevels.indexOf(level) < loggingLevels.indexOf(wanted)) return
    if (!this.#mayTell()) {
      this.#leftOut++
      return
    }
    const params = logger === undefined ? { level, data } : { level, logger, data }
    this.#exchange.notify({ method: 'notifications/message', params })
  }

  /** Tells what was held back; call it when the handler is done. */
  flush(): void {
    if (this.#held !== undefined) this.#tell(this.#held)
    if (this.#leftOut === 0) return
    const data = `${this.#leftOut} log messages were left out: at most ${perSecond} a second are sent`
    this.#leftOut = 0
    this.#exchange.notify({ method: 'notifications/message', params: { level: 'warning', data } })
  }

  #tell(report: Progress): void {
    this.#held = undefined
    if (!isToken(this.#token)) return
    this.#exchange.notify({
      method: 'notifications/progress',
      params: { progressToken: this.#token, ...report },
    })
  }

  #mayTell(): boolean {
    const now = Date.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilled) * perSecond) / 1000)
    this.#refilled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}

function isToken(token: unknown): token is string | number {
  return typeof token === 'string' || Number.isSafeInteger(token)
}

/** The token under which a request wants to hear of its progress. */
export function progressTokenOf(meta: Readonly<Record<string, unknown>>): unknown {
  return meta[MetaKey.progressToken]
}
