import { ToolError } from '@jackfield/sdk'
import type { Network } from './network.ts'
import { limits } from './types.ts'

/**
 * robots.txt (RFC 9309): whether a model may fetch a URL on its own. No file (4xx) allows everything; a file that cannot be read
 * (5xx, no connection) disallows everything until it can be.
 */

/** One line of a group. */
interface Rule {
  readonly allows: boolean
  /** The path pattern with `*` and `$`, percent-encoded. */
  readonly pattern: string
}

/** The rules of one origin's robots.txt for this server, and when they expire. */
interface Entry {
  /** A text: why robots.txt cannot be read. */
  readonly rules: readonly Rule[] | string
  readonly expiresAt: number
}

const maxRules = 5_000
const maxRuleChars = 2_048

/** Reads and caches robots.txt of origins. */
export class Robots {
  readonly #network: Network
  readonly #userAgent: string
  readonly #token: string
  readonly #entries = new Map<string, Entry>()
  readonly #pending = new Map<string, Promise<Entry>>()

  /** @param userAgent the header; its first product token names this server in robots.txt */
  constructor(network: Network, userAgent: string) {
    this.#network = network
    this.#userAgent = userAgent
    this.#token = /^[A-Za-z_-]*/.exec(userAgent)?.[0].toLowerCase() ?? ''
  }

  /** @throws ToolError if robots.txt disallows a URL, or cannot be read */
  async require(url: URL, signal: AbortSignal): Promise<void> {
    const { rules } = await this.#entry(url.origin, signal)
    if (typeof rules === 'string') {
      throw new ToolError(
        `${url.origin}/robots.txt cannot be read, so ${url.href} is not fetched automatically (RFC 9309). ${rules} Or ask the person to fetch the page with the prompt "fetch".`,
      )
    }
    if (isAllowed(rules, url.pathname + url.search)) return
    throw new ToolError(
      `${url.origin}/robots.txt does not allow automatic fetching of ${url.href} (user agent ${this.#token}). Ask the person to fetch the page with the prompt "fetch".`,
    )
  }

  async #entry(origin: string, signal: AbortSignal): Promise<Entry> {
    const known = this.#entries.get(origin)
    if (known !== undefined && known.expiresAt > Date.now()) return known
    const pending = this.#pending.get(origin)
    // Only the result is shared: an aborted fetch must not fail another one that waits for it.
    if (pending !== undefined) {
      await Promise.race([pending.catch(() => {}), whenAborted(signal)])
      signal.throwIfAborted()
      const entry = this.#entries.get(origin)
      if (entry !== undefined && entry.expiresAt > Date.now()) return entry
    }
    const reading = this.#read(origin, signal)
    this.#pending.set(origin, reading)
    try {
      const entry = await reading
      this.#entries.delete(origin)
      this.#entries.set(origin, entry)
      const [oldest] = this.#entries.keys()
      if (this.#entries.size > limits.robotsEntries && oldest !== undefined) this.#entries.delete(oldest)
      return entry
    } finally {
      if (this.#pending.get(origin) === reading) this.#pending.delete(origin)
    }
  }

  async #read(origin: string, signal: AbortSignal): Promise<Entry> {
    let reason = 'Try again later.'
    try {
      const { status, body } = await this.#network.get(new URL('/robots.txt', origin), {
        userAgent: this.#userAgent,
        accept: 'text/plain, */*;q=0.1',
        maxBytes: () => limits.robotsBytes,
        signal,
      })
      if (status >= 200 && status < 300) {
        const rules = rulesFor(this.#token, new TextDecoder().decode(body))
        return { rules, expiresAt: Date.now() + limits.robotsMs }
      }
      if (status >= 400 && status < 500) return { rules: [], expiresAt: Date.now() + limits.robotsMs }
      reason = `It has status ${status}. Try again later.`
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof ToolError) reason = error.message
    }
    return { rules: reason, expiresAt: Date.now() + limits.robotsRetryMs }
  }
}

/** The rules of the groups for a product token, or of the groups for `*` if there are none. */
export function rulesFor(token: string, text: string): Rule[] {
  const own: Rule[] = []
  const general: Rule[] = []
  let isNamed = false
  let targets: Rule[][] = []
  let inAgents = false
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, key = '', value = ''] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line.replace(/^\ufeff/, '')) ?? []
    const field = key.toLowerCase()
    if (field === 'user-agent') {
      if (!inAgents) targets = []
      inAgents = true
      const agent = /^(?:\*|[A-Za-z_-]*)/.exec(value.trim())?.[0].toLowerCase()
      if (agent === '*') targets.push(general)
      else if (agent === token) {
        isNamed = true
        targets.push(own)
      }
    } else if (field === 'allow' || field === 'disallow') {
      inAgents = false
      const pattern = normalize(value.trim())
      if (pattern === '' || pattern.length > maxRuleChars) continue
      for (const rules of targets)
        if (rules.length < maxRules) rules.push({ allows: field === 'allow', pattern })
    }
  }
  return isNamed ? own : general
}

/** Whether a path is allowed. The longest matching pattern decides; of two equally long ones, `allow`. */
export function isAllowed(rules: readonly Rule[], path: string): boolean {
  if (path === '/robots.txt') return true
  const wanted = normalize(path)
  let best: Rule | undefined
  for (const rule of rules) {
    const length = rule.pattern.length - (best?.pattern.length ?? -1)
    const isBetter = length > 0 || (length === 0 && rule.allows)
    if (isBetter && matches(rule.pattern, wanted)) best = rule
  }
  return best?.allows ?? true
}

/** Whether a path begins with a pattern, in which `*` is any text and `$` at the end is the end. Linear for each `*`. */
function matches(pattern: string, path: string): boolean {
  const isAnchored = pattern.endsWith('$')
  const [first = '', ...parts] = (isAnchored ? pattern.slice(0, -1) : pattern).split('*')
  if (!path.startsWith(first)) return false
  let at = first.length
  const last = isAnchored ? parts.pop() : undefined
  for (const part of parts) {
    const found = path.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  if (!isAnchored) return true
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last)
}

/** Normalizes percent-encoding, so that equal paths are equal strings. */
function normalize(path: string): string {
  return path
    .replace(/[^\x21-\x7e]/gu, (char) => (char.isWellFormed() ? encodeURIComponent(char) : char))
    .replace(/%[0-9a-f]{2}/gi, (escaped) => {
      const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
      return /[A-Za-z0-9._~-]/.test(char) ? char : escaped.toUpperCase()
    })
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
