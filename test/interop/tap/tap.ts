import { isObject } from '../../setup/json.ts'

export type Side = 'client' | 'server'

/** One message as it was sent. */
export interface Tapped {
  readonly from: Side
  readonly message: unknown
  /** The method of the request it answers. */
  readonly answers: string | undefined
}

/** Keeps the messages of one connection, and knows which request each answer belongs to. */
export class Tap {
  #tapped: Tapped[] = []
  readonly #methods: Record<Side, Map<unknown, string>> = { client: new Map(), server: new Map() }
  /** How often each method was sent by the client. */
  readonly asked = new Map<string, number>()
  /** How often the client asked for the rest of a stream. */
  resumed = 0
  /** Text that is no JSON, by who sent it. */
  readonly garbage: { from: Side; text: string }[] = []

  text(from: Side, text: string): void {
    if (text.trim() === '') return
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      this.garbage.push({ from, text })
      return
    }
    this.#tapped.push({ from, message, answers: this.#answered(from, message) })
  }

  /** What came since the last time. */
  take(): Tapped[] {
    return this.#tapped.splice(0)
  }

  #answered(from: Side, message: unknown): string | undefined {
    if (!isObject(message)) return undefined
    if (typeof message['method'] === 'string') {
      const { method } = message
      if (from === 'client') this.asked.set(method, (this.asked.get(method) ?? 0) + 1)
      if ('id' in message) this.#methods[from].set(message['id'], message['method'])
      return undefined
    }
    return this.#methods[from === 'client' ? 'server' : 'client'].get(message['id'])
  }
}
