import { setTimeout as pause } from 'node:timers/promises'
import { defineServer, resource, type Server, tool } from '@jackfield/sdk'
import { type Client, connect, http, type ServerChange, type Watch } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { vi } from 'vitest'
import { z } from 'zod'
import { settled } from './schedules.ts'

/** How often the clock is moved for one thing: no longer than calls wait. */
const turnsOfClock = 20
/** A millisecond each, at least. */
const maxTries = 1_000

/** Lets other threads work. */
async function elsewhere(): Promise<void> {
  await pause(1)
  await vi.advanceTimersByTimeAsync(1)
  await settled()
}

export const stock = 'shop://stock'

/** The connection of one client and one server. */
export interface ShopConnection {
  readonly revision: '2025-11-25' | '2026-07-28'
  readonly overHttp: boolean
}

/** How a call of a client ended, each time it did. */
export interface Placed {
  readonly stop: AbortController
  readonly ends: string[]
}

/** A client and a server whose handlers wait for the test, with a fake clock. */
export class Shop {
  readonly calls = new Map<string, Placed>()
  /** The waiting handlers: their signals, and functions that release them. */
  readonly held = new Map<string, { signal: AbortSignal; release: () => void }>()
  /** What gives the person's answer to an open question, and the signal that takes it back. */
  readonly asked = new Map<string, { signal: AbortSignal; answer: (seat: string | undefined) => void }>()
  readonly received: ServerChange[] = []
  readonly failures: unknown[] = []
  watch: Watch | undefined
  readonly server: Server = this.#define()
  #handler = this.#serve()
  #client: Client | undefined
  readonly #place: ShopConnection

  constructor(place: ShopConnection) {
    this.#place = place
  }

  get client(): Client {
    if (this.#client === undefined) throw new Error('not connected')
    return this.#client
  }

  async connect(): Promise<void> {
    await this.#client?.close()
    this.watch = undefined
    const { revision, overHttp } = this.#place
    const connectingFetch = async (url: URL, init: RequestInit): Promise<Response> =>
      this.#handler.fetch(new Request(url, init))
    this.#client = await connect(
      overHttp ? http('http://127.0.0.1/mcp', { fetch: connectingFetch }) : this.server,
      {
        revisions: [revision],
        onElicit: ({ message }, { signal }) =>
          new Promise((resolve) => {
            const answer = (seat: string | undefined): void =>
              resolve(seat === undefined ? { action: 'decline' } : { action: 'accept', content: { seat } })
            this.asked.set(message, { signal, answer })
          }),
      },
    )
  }

  /** The node behind the address is another one from now on. */
  async restart(): Promise<void> {
    const old = this.#handler
    this.#handler = this.#serve()
    await old.close()
  }

  async close(): Promise<void> {
    await this.client.close()
    await this.#handler.close()
  }

  /** Begins a call that the test has to end. */
  begin(tool: string, key: string): void {
    const placed: Placed = { stop: new AbortController(), ends: [] }
    this.calls.set(key, placed)
    this.client.call(tool, { key }, { signal: placed.stop.signal }).then(
      ({ content: [first] }) => placed.ends.push(first?.type === 'text' ? first.text : 'no text'),
      (error) => placed.ends.push(String(error?.code ?? error)),
    )
  }

  /** Lets time pass until something is done. */
  async during<T>(doing: Promise<T>): Promise<T> {
    let over = false
    const done = (): void => {
      over = true
    }
    doing.then(done, done)
    for (let turns = 0; !over; turns++) {
      if (turns === maxTries) throw new Error('It is never done')
      if (turns < turnsOfClock) await this.quiet()
      else await elsewhere()
    }
    return doing
  }

  /** Waits for what other threads do, such as sealing, which no clock of a test has happen. */
  async until(so: () => boolean): Promise<void> {
    for (let tries = 0; !so() && tries < maxTries; tries++) {
      await elsewhere()
    }
  }

  /** Lets everything happen that is due. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      await vi.advanceTimersByTimeAsync(60)
      await settled()
    }
  }

  #serve() {
    return serveHttp(this.server, { onWarning: () => {} })
  }

  #define(): Server {
    const input = z.object({ key: z.string() })
    return defineServer({
      name: 'shop',
      version: '1',
      cache: { ttlMs: 3_600_000 },
      onError: (error) => this.failures.push(error),
      resources: { stock: resource({ uri: stock, read: () => 'some' }) },
      tools: {
        echo: tool({ input, run: ({ key }) => key }),
        hold: tool({
          input,
          run: ({ key }, { signal }) =>
            new Promise<string>((resolve) => {
              this.held.set(key, { signal, release: () => resolve(`held ${key}`) })
            }),
        }),
        ask: tool({
          input,
          run: async ({ key }, ctx) => {
            const answer = await ctx.elicit({ message: key, schema: z.object({ seat: z.string() }) })
            return answer.action === 'accept' ? answer.content.seat : answer.action
          },
        }),
      },
    })
  }
}
