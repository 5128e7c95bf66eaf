import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Client, connect, type Fetch, http, type Watch } from '@jackfield/sdk/client'
import { expect, onTestFinished } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { inParallel } from './trials.ts'

const program = programFile(new URL('blocking-server.ts', import.meta.url))
const blockMs = 5_000
const patience = { timeout: 30_000 }

/** One client, and its events. */
interface WatchingClient {
  client: Client
  watch: Watch
  /** Requests of negotiation and subscription that it sent. */
  begun: string[]
  changes: number
  keepAlives: number
  /** Processes that ended by themselves. */
  lost: string[]
}

/** Reads keep-alives as they go by. */
function counting(received: () => void): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null) return response
    const decoder = new TextDecoder()
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, to) => {
        if (decoder.decode(chunk).includes(': keep-alive')) received()
        to.enqueue(chunk)
      },
    })
    return new Response(response.body.pipeThrough(count), response)
  }
}

async function connectWatching(url: string, revision: '2025-11-25' | '2026-07-28'): Promise<WatchingClient> {
  const begun: string[] = []
  const found = { changes: 0, keepAlives: 0 }
  const lost: string[] = []
  const client = await connect(
    http(url, {
      fetch: counting(() => {
        found.keepAlives++
      }),
    }),
    {
      revisions: [revision],
      onMessage: (direction, message) => {
        const begins = ['initialize', 'server/discover', 'subscriptions/listen']
        if (direction === 'sent' && 'method' in message && begins.includes(message.method)) {
          begun.push(message.method)
        }
      },
    },
  )
  onTestFinished(() => client.close())
  const watch = await client.watch({ toolsListChanged: true }, () => {
    found.changes++
  })
  watch.closed.then(() => lost.push('watch'))
  client.closed.then(() => lost.push('client'))
  return Object.assign(found, { client, watch, begun, lost })
}

/** All keep their state, are notified of changes, and see the stream alive. */
async function assertUnharmed(clients: readonly WatchingClient[], during: Promise<unknown>[]): Promise<void> {
  await expect(Promise.all(during)).resolves.toBeDefined()
  const before = clients.map(({ changes, keepAlives }) => ({ changes, keepAlives }))
  await clients[0]?.client.call('change')
  await expect
    .poll(() => clients.every((one, n) => one.changes > (before[n]?.changes ?? 0)), patience)
    .toBe(true)
  await expect
    .poll(() => clients.every((one, n) => one.keepAlives >= (before[n]?.keepAlives ?? 0) + 2), patience)
    .toBe(true)
  for (const { lost, begun } of clients) {
    expect(lost).toEqual([])
    expect(new Set(begun).size).toBe(begun.length)
  }
}

campaign(
  {
    id: 'loop-blocked',
    chapter: 'Processes',
    claim:
      'A handler that blocks its process for five seconds, or an application that blocks its own, loses no connection',
    trial: 'connection with a subscription and a call under way, held up at either end',
    trials: { change: 48, long: 400 },
  },
  async ({ trials, measured, setTrials }) => {
    const perServer = 24
    const servers = Math.ceil(trials / (2 * perServer))
    setTrials(servers * 2 * perServer)
    let keepAlives = 0
    await inParallel(servers, 1, async () => {
      const server = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
      onTestFinished(() => {
        server.kill('SIGKILL')
      })
      const [ready] = await once(server.stdout, 'data')
      const url = String(ready).trim()
      const clients = await Promise.all(
        Array.from({ length: perServer }, (_, n) =>
          connectWatching(url, n % 2 === 0 ? '2025-11-25' : '2026-07-28'),
        ),
      )
      const underWay = (): Promise<unknown>[] => clients.map(({ client }) => client.call('slow'))

      const calling = underWay()
      const blocking = clients.slice(0, 1).map(({ client }) => client.call('block', { ms: blockMs }))
      await assertUnharmed(clients, [...calling, ...blocking])

      const holding = underWay()
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs)
      await assertUnharmed(clients, holding)
      keepAlives += clients.reduce((sum, one) => sum + one.keepAlives, 0)
      server.kill('SIGKILL')
    })
    measured('keep-alives received', keepAlives, '')
  },
)
