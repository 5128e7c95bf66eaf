import { type Client, connect, http } from '@jackfield/sdk/client'

// Many clients of one server, each with a session and its stream. It reports when all are connected; after a message that the
// server will restart, it reports when all are reconnected, and the measurements. Run with --expose-gc and a channel.

/** The report when all are reconnected. Times are milliseconds of the machine's clock. */
export interface Returned {
  /** When a client asked for its stream, until it was answered. */
  readonly attempts: readonly number[]
  /** When the server first answered each client. */
  readonly returns: readonly number[]
  /** Bytes of the heap before the server went. */
  readonly heapBefore: number
  readonly heapAfter: number
}

const atOnce = 32
const [, , url = '', count = '0'] = process.argv
const attempts: number[] = []
const returns: number[] = []
let gone = false
let served = 0

function heap(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** A client that notes when it asks for its stream while the server is gone, and when it is answered again. */
async function enter(): Promise<Client> {
  let state: 'here' | 'away' | 'back' = 'here'
  const client = await connect(
    http(url, {
      fetch: async (to, init) => {
        if (!gone || state === 'back' || init.method !== 'GET') return fetch(to, init)
        state = 'away'
        attempts.push(Date.now())
        const response = await fetch(to, init)
        state = 'back'
        returns.push(Date.now())
        // Its session is lost with the server; the next call begins another one, with a stream.
        setImmediate(() => call(client))
        return response
      },
    }),
    { revisions: ['2025-11-25'] },
  )
  return client
}

async function call(client: Client): Promise<void> {
  await client.tools({ cache: 'bypass' })
  served++
  if (served < Number(count)) return
  process.send?.({ attempts, returns, heapBefore, heapAfter: heap() } satisfies Returned)
}

const clients: Client[] = []
while (clients.length < Number(count)) {
  const some = Math.min(atOnce, Number(count) - clients.length)
  clients.push(...(await Promise.all(Array.from({ length: some }, enter))))
}
const heapBefore = heap()
process.on('message', () => {
  gone = true
})
process.on('disconnect', () => process.exit(0))
process.send?.('there')
