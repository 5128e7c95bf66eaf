import { randomUUID } from 'node:crypto'

interface Stored<M> {
  stream: string
  message: M
}

/** Keeps events in memory, so that a stream can be resumed. */
export class Events<M> {
  readonly #events = new Map<string, Stored<M>>()

  async storeEvent(stream: string, message: M): Promise<string> {
    const id = randomUUID()
    this.#events.set(id, { stream, message })
    return id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.stream
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: M) => Promise<void> },
  ): Promise<string> {
    const stream = this.#events.get(last)?.stream ?? ''
    let after = false
    for (const [id, event] of this.#events) {
      if (after && event.stream === stream) await send(id, event.message)
      if (id === last) after = true
    }
    return stream
  }
}
