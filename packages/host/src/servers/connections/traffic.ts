import type { JsonRpcMessage } from '@jackfield/sdk'

const longestMs = 4_200_000
const standing: ReadonlySet<string> = new Set(['subscriptions/listen'])

/** Watches the messages of one connection: when the last one was, and whether anybody waits for an answer. */
export class Traffic {
  readonly #now: () => number
  /** When each open request began, by who asked and its id. */
  readonly #open = new Map<string, number>()
  #lastMs: number

  constructor(now: () => number) {
    this.#now = now
    this.#lastMs = now()
  }

  /** When the last message was. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** Whether a request of either side waits for its answer; a watch does not count. */
  get busy(): boolean {
    for (const [key, since] of this.#open) if (this.#now() - since > longestMs) this.#open.delete(key)
    return this.#open.size > 0
  }

  see(direction: 'sent' | 'received', message: JsonRpcMessage): void {
    this.#lastMs = this.#now()
    const other = direction === 'sent' ? 'received' : 'sent'
    if (!('method' in message)) {
      this.#open.delete(`${other} ${JSON.stringify(message.id)}`)
      return
    }
    if ('id' in message && !standing.has(message.method)) {
      this.#open.set(`${direction} ${JSON.stringify(message.id)}`, this.#now())
    } else if (message.method === 'notifications/cancelled') {
      this.#open.delete(`${direction} ${JSON.stringify(message.params?.['requestId'])}`)
    }
  }
}
