import type { Traffic } from './traffic.ts'

const conversationMs = 3_600_000

/** Says when a lazy server may be ended: nothing runs, nothing came for a while, and no conversation counts on it. */
export class Sleep {
  readonly #afterMs: number
  readonly #now: () => number
  /** When a conversation last used the server. One that is silent for an hour is taken to be over. */
  readonly #conversations = new Map<string, number>()
  #usedMs: number

  constructor(afterMs: number, now: () => number) {
    this.#afterMs = afterMs
    this.#now = now
    this.#usedMs = now()
  }

  use(conversation: string | undefined): void {
    this.#usedMs = this.#now()
    if (conversation !== undefined) this.#conversations.set(conversation, this.#usedMs)
  }

  leave(conversation: string): void {
    this.#conversations.delete(conversation)
  }

  /** Milliseconds until it is worth looking again; 0 where it may sleep now. */
  dueMs(traffic: Traffic): number {
    const now = this.#now()
    for (const [id, since] of this.#conversations) {
      if (now - since >= conversationMs) this.#conversations.delete(id)
    }
    if (traffic.busy) return this.#afterMs
    const latest = Math.max(this.#usedMs, traffic.lastMs)
    const idle = latest + this.#afterMs - now
    const held = [...this.#conversations.values()].map((since) => since + conversationMs - now)
    return Math.max(0, idle, ...held)
  }
}
