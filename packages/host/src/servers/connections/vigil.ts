import { McpError } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import { Pulse } from './pulse.ts'

const pingTimeoutMs = 5_000

interface VigilOptions {
  /** How long nothing may come before the server is asked for a sign of life, in milliseconds; 0 for never. */
  readonly idlePingMs: number
  /** Does something that leaves no trace among the messages. */
  readonly quietly: (work: () => Promise<void>) => Promise<void>
  /** The connection does not stand any more. */
  readonly onLost: (client: Client, error: McpError) => void
  /** The clock jumped, as it does when the machine slept. */
  readonly onJump: () => void
}

/**
 * Finds out whether a connection over the network still stands, when it is silent and when a request failed. The end of
 * a child process is noticed without.
 */
export class Vigil {
  readonly #options: VigilOptions
  #pulse: Pulse | undefined
  #checking: Promise<void> | undefined

  constructor(options: VigilOptions) {
    this.#options = options
  }

  /** Begins with a connection, and ends with the one before. `quietMs` is how long nothing came; undefined once it is gone. */
  begin(client: Client, quietMs: () => number | undefined): void {
    this.end()
    const { idlePingMs, onJump } = this.#options
    if (idlePingMs === 0) return
    this.#pulse = new Pulse({
      everyMs: idlePingMs,
      quietMs,
      onSilence: () => this.suspect(client),
      onJump,
    })
  }

  /** Asks for a sign of life, once at a time. */
  async suspect(client: Client): Promise<void> {
    const { idlePingMs, quietly, onLost } = this.#options
    const timeoutMs = Math.min(pingTimeoutMs, idlePingMs === 0 ? pingTimeoutMs : idlePingMs)
    this.#checking ??= quietly(() => client.ping({ timeoutMs }))
      .catch((error: unknown) => {
        if (error instanceof McpError) onLost(client, error)
      })
      .finally(() => {
        this.#checking = undefined
      })
    await this.#checking
  }

  end(): void {
    this.#pulse?.end()
    this.#pulse = undefined
  }
}
