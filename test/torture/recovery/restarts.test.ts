import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { McpError } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { expect, onTestFinished } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { balancer } from './balancer.ts'
import { Node } from './nodes.ts'

const pauseMs = 150

/** What the clients of a service did while its nodes came and went. */
class Callers {
  readonly paid: number[] = []
  safe = 0
  unknown = 0
  over = false
  readonly #random: Random
  /** How many calls each client has made. */
  readonly #done: number[] = []
  #order = 0

  readonly #maxPauseMs: number

  constructor(random: Random, maxPauseMs: number) {
    this.#random = random
    this.#maxPauseMs = maxPauseMs
  }

  async run(client: Client): Promise<void> {
    const mine = this.#done.push(0) - 1
    try {
      for (let done = 1; !this.over; done++) {
        await pause(this.#random.between(1, this.#maxPauseMs))
        await this.#pick(client)()
        this.#done[mine] = done
      }
    } finally {
      this.over = true
    }
  }

  /** Waits until each client has finished a call, so that no call spans two restarts. */
  async round(): Promise<void> {
    const before = [...this.#done]
    while (!this.over && this.#done.some((done, nth) => done === before[nth])) await pause(10)
  }

  #pick(client: Client): () => Promise<void> {
    const read = (send: () => Promise<unknown>) => async (): Promise<void> => {
      await send()
      this.safe++
    }
    return this.#random.pick([
      read(() => client.tools({ cache: 'bypass' })),
      read(() => client.read('shop://terms', { cache: 'bypass' })),
      read(() => client.call('look', {}, { repeatable: true })),
      () => this.#pay(client),
    ])
  }

  async #pay(client: Client): Promise<void> {
    const order = ++this.#order
    try {
      const { isError } = await client.call('pay', { order })
      if (isError !== true) this.paid.push(order)
    } catch (error) {
      if (!(error instanceof McpError) || error.code !== 'OUTCOME_UNKNOWN') throw error
      this.unknown++
    }
  }
}

campaign(
  {
    id: 'rolling-restarts',
    chapter: 'Sessions and streams',
    claim:
      'Killing three nodes one after the other fails no call that may be repeated, and no order is paid twice',
    trial: 'node killed and started anew under 50 clients, or 1,000 with --long',
    trials: { test: 2, change: 6, long: 300 },
    longMinutes: 120,
  },
  async ({ trials, long, seed, measured }) => {
    const crowd = long ? 1_000 : 50
    const folder = mkdtempSync(join(tmpdir(), 'restarts-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const ledger = join(folder, 'ledger')
    writeFileSync(ledger, '')
    const nodes = [new Node(ledger), new Node(ledger), new Node(ledger)]
    await Promise.all(nodes.map((node) => node.start()))
    const url = await balancer(nodes)
    let begun = 0
    const clients = await Promise.all(
      Array.from({ length: crowd }, (_, nth) =>
        connect(url, {
          revisions: [nth % 5 === 0 ? '2026-07-28' : '2025-11-25'],
          onMessage: (direction, message) => {
            if (direction === 'sent' && 'method' in message && message.method === 'initialize') begun++
          },
        }),
      ),
    )
    onTestFinished(() => Promise.all(clients.map((client) => client.close())).then(() => {}))
    const callers = new Callers(new Random(seed), (2 * pauseMs * crowd) / 50)
    const running = Promise.all(clients.map((client) => callers.run(client)))
    const restarts = async (): Promise<void> => {
      for (let trial = 0; trial < trials && !callers.over; trial++) {
        const node = nodes[trial % nodes.length]
        await node?.kill()
        await pause(pauseMs)
        await node?.start()
        await callers.round()
      }
      callers.over = true
    }
    running.catch(() => {})
    await restarts()
    await running
    const orders = readFileSync(ledger, 'utf8').trim().split('\n').map(Number)
    const done = new Set(orders)
    expect(orders, 'no order is paid twice').toHaveLength(done.size)
    expect(
      callers.paid.filter((order) => !done.has(order)),
      'what was answered was paid',
    ).toEqual([])
    expect(begun, 'a session is begun only where one was lost').toBeLessThanOrEqual(
      0.8 * crowd * (trials + 1),
    )
    expect(callers.paid.length, 'all but the unknown ones were paid').toBeGreaterThan(trials)
    measured('calls that may be repeated', callers.safe, '')
    measured('orders', orders.length, '')
    measured('orders whose outcome was reported as unknown', callers.unknown, '')
    measured('sessions begun', begun, '')
  },
)
