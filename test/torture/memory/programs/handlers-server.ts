import { defineServer } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { serveStdio } from '@jackfield/sdk/stdio'
import { type Ending, hardTools, hardWays } from './hard-tools.ts'

// Serves hard handlers, over HTTP or on its standard streams, and reports its state on a channel. Run with --expose-gc.

/** An order of its parent: release hanging calls or calls that keep their slot, or report its state, also after garbage collection. */
export type Order = 'open' | 'release' | 'state' | 'measure'

/** What it reports at the start, then on each order. */
export type Report =
  | { type: 'ready'; url: string; ways: { name: string; ending: Ending }[] }
  | {
      type: 'state'
      holding: number
      unhandled: string[]
      reports: number
      heap: number
      resources: Record<string, number>
    }

const { http, limits }: { http: boolean; limits: Record<string, number> } = JSON.parse(
  process.argv[2] ?? '{}',
)
const unhandled: string[] = []
const hanging = new Set<() => void>()
const pending = new Set<() => void>()
let holding = 0
let reports = 0

function wait(at: Set<() => void>): Promise<void> {
  return new Promise((resolve) => at.add(resolve))
}

function release(at: Set<() => void>): void {
  for (const resolve of at) resolve()
  at.clear()
}

async function waitForRelease(): Promise<string> {
  holding++
  await wait(pending)
  holding--
  return 'held'
}

const ways = hardWays(() => wait(hanging))
const server = defineServer({
  name: 'hard',
  version: '1.0.0',
  tools: hardTools(ways, waitForRelease),
  onError: () => {
    // Every other report fails too.
    if (reports++ % 2 === 0) throw new Error('The log is full')
  },
})

function say(report: Report): void {
  process.send?.(report)
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

async function state(collect: boolean): Promise<void> {
  for (let round = 0; collect && round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    globalThis.gc?.()
  }
  say({
    type: 'state',
    holding,
    unhandled: unhandled.slice(0, 5),
    reports,
    heap: process.memoryUsage().heapUsed,
    resources: count(process.getActiveResourcesInfo()),
  })
}

process.on('unhandledRejection', (error, promise) => {
  let text = 'something unreadable'
  try {
    text = String(error)
  } catch {
    // Then it stays that.
  }
  unhandled.push(text)
  promise.catch(() => {})
})
process.on('message', (order: Order) => {
  if (order === 'open') release(hanging)
  else if (order === 'release') release(pending)
  else state(order === 'measure')
})
process.on('disconnect', () => process.exit(0))

const listed = Array.from(ways, ([name, { ending }]) => ({ name, ending }))
if (http) {
  const handler = serveHttp(server, { keys: ['k'.repeat(32)], limits, onWarning: () => {} })
  say({ type: 'ready', url: (await handler.listen()).url, ways: listed })
} else {
  serveStdio(server, { limits })
  say({ type: 'ready', url: '', ways: listed })
}
