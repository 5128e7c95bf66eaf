import type { Change } from '../core/changes.ts'
import type { Exchange } from '../core/exchange.ts'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { readJson } from '../jsonrpc/reread.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { isAtLeast, loggingLevels, MetaKey, type ProgressToken } from '../protocol/meta.ts'
import type { ServerNotifications } from '../protocol/methods.ts'

const burst = 100
const perSecond = 20

type Progress = Omit<ServerNotifications['notifications/progress'], 'progressToken'>

/** Progress and log messages of one request: at a bounded pace, progress only forward, and its newest value never lost. */
export class Notices {
  readonly #exchange: Exchange
  #last = Number.NEGATIVE_INFINITY
  #tokens = burst
  #refilled = 0
  #held: Progress | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #leftOut = 0
  #closed = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  progress(report: Progress): void {
    const { progress } = report
    if (this.#closed || this.#token === undefined || !(progress > this.#last)) return
    // What JSON has no number for would be no progress to its reader.
    if (!Number.isFinite(progress)) return
    this.#last = progress
    if (this.#timer === undefined && this.#mayTell()) {
      this.#tell(report)
      return
    }
    this.#held = report
    this.#timer ??= setTimeout(() => this.#release(), 1000 / perSecond)
  }

  log(level: LoggingLevel, data: unknown, logger: string | undefined): void {
    if (this.#closed || !isAtLeast(level, this.#exchange.peer.logLevel)) return
    if (!this.#mayTell()) {
      this.#leftOut++
      return
    }
    const params = { level, ...(logger === undefined ? {} : { logger }), data: loggable(data) }
    this.#exchange.notify({ method: 'notifications/message', params })
  }

  /** Tells what was held back, and nothing more from then on. */
  close(): void {
    clearTimeout(this.#timer)
    if (this.#held !== undefined) this.#tell(this.#held)
    const wanted = this.#exchange.peer.logLevel
    if (this.#leftOut > 0 && wanted !== undefined) {
      const level = isAtLeast('warning', wanted) ? 'warning' : wanted
      const data = `${this.#leftOut} log messages were left out: at most ${perSecond} a second are sent`
      this.#exchange.notify({ method: 'notifications/message', params: { level, data } })
    }
    this.#closed = true
  }

  #release(): void {
    this.#timer = undefined
    if (this.#held !== undefined && !this.#closed) this.#tell(this.#held)
  }

  #tell(report: Progress): void {
    this.#held = undefined
    const progressToken = this.#token
    if (progressToken === undefined) return
    const { total, ...rest } = report
    const known = total !== undefined && Number.isFinite(total) ? { total } : {}
    this.#exchange.notify({ method: 'notifications/progress', params: { progressToken, ...rest, ...known } })
  }

  get #token(): ProgressToken | undefined {
    const meta = this.#exchange.params['_meta']
    const token = isObject(meta) ? meta[MetaKey.progressToken] : undefined
    return typeof token === 'string' || (typeof token === 'number' && Number.isSafeInteger(token))
      ? token
      : undefined
  }

  #mayTell(): boolean {
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilled) * perSecond) / 1000)
    this.#refilled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}

/**
 * A log message that belongs to no request, with its data as it is now.
 * @throws McpError 'INVALID' for a level that is none
 */
export function logOf(level: LoggingLevel, data: unknown, logger: string | undefined): Change {
  if (!loggingLevels.includes(level)) {
    throw new McpError(
      'INVALID',
      `There is no log level ${JSON.stringify(level)}: use one of ${loggingLevels.join(', ')}`,
    )
  }
  return { type: 'log', level, data: readJson(JSON.stringify(loggable(data))), logger }
}

/** The data as JSON can carry it. */
function loggable(data: unknown): unknown {
  if (data instanceof Error) return `${data.name}: ${data.message}`
  try {
    return JSON.stringify(data) === undefined ? String(data) : data
  } catch {
    return String(data)
  }
}
