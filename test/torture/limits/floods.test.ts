import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import {
  callOf,
  dial,
  mirrored,
  opening,
  postOf,
  received,
  type Served,
  serveMeasured,
  watched,
} from './served.ts'

const MiB = 1024 * 1024
const cap = 256

/** Starts tools and cancels each at once; resolves when all were answered. */
type Flood = (served: Served, trials: number) => Promise<void>

function lines(opened: readonly string[], call: (id: number) => string): Flood {
  return async (served, trials) => {
    const socket = await dial({ path: served.path })
    const output = received(socket)
    for (const line of opened) socket.write(`${line}\n`)
    for (let id = 1; id <= trials; id++) {
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }
      await written(socket, `${call(id)}\n${JSON.stringify(cancelled)}\n`)
    }
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'ping' })}\n`)
    await output.until('"last"')
    socket.destroy()
  }
}

function sessionCall(id: number): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'slow', arguments: {} } })
}

const floods: Readonly<Record<string, Flood>> = {
  'a session': lines(opening, sessionCall),
  'stateless lines': lines(opening, (id) => callOf('slow', id)),
  'stateless HTTP': async (served, trials) => {
    const one = async (id: number): Promise<void> => {
      const socket = await dial({ port: served.port })
      await written(socket, postOf(callOf('slow', id), mirrored('slow')))
      socket.destroy()
    }
    for (let id = 0; id < trials; id += 20) {
      await Promise.all(Array.from({ length: Math.min(20, trials - id) }, (_, more) => one(id + more)))
    }
  },
}

campaign(
  {
    id: 'rapid-cancel',
    chapter: 'Bytes and limits',
    claim: 'Calls that are cancelled right after they start neither accumulate nor leave anything behind',
    trial: 'call taken back at once',
    trials: { test: 400, change: 2400, long: 300_000 },
  },
  async (campaignRun) => {
    const each = campaignRun.trials / Object.keys(floods).length
    for (const [name, flood] of Object.entries(floods)) {
      const served = await serveMeasured({ inFlight: cap, inFlightPerNode: cap })
      await flood(served, Math.min(each, 200))
      await watched(`calls of ${name} are over`, async () => (await served.now()).running === 0)
      await served.begin()
      const before = await served.end()
      await flood(served, each)
      await watched(`calls of ${name} are over`, async () => (await served.now()).running === 0)
      const after = await served.end()
      const left = (after.heldBytes - before.heldBytes) / each
      campaignRun.measured(`handlers of ${name} at once, at most`, after.maxRunning, 'handlers')
      campaignRun.measured(`kept of a call over ${name}`, Math.max(0, Math.round(left)), 'bytes')
      expect(after.maxRunning, name).toBeGreaterThan(0)
      expect(after.maxRunning, name).toBeLessThanOrEqual(cap)
      expect(after.heldBytes - before.heldBytes, name).toBeLessThan(4 * MiB)
    }
  },
)

/** Beginnings of requests that never come to an end. */
const trickles: readonly string[] = [
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n',
  `${postOf('', { 'Content-Length': '1000000' }).trimEnd()}\r\n\r\n`,
  `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`,
]

campaign(
  {
    id: 'requests-that-trickle',
    chapter: 'Bytes and limits',
    claim: 'Connections without requests are closed, and other clients are served meanwhile',
    trial: 'connection that sends a byte at a time',
    trials: { test: 25, change: 150, long: 2000 },
  },
  async (campaignRun) => {
    const served = await serveMeasured({ headersMs: 500, requestMs: 1000 })
    const before = await served.begin()
    const sockets = await Promise.all(
      Array.from({ length: campaignRun.trials }, async (_, index) => {
        const socket = await dial({ port: served.port })
        // A socket that does not read does not notice that the other end closed.
        socket.resume()
        const beginning = trickles[index % trickles.length] ?? ''
        socket.write(beginning)
        const chunked = beginning.includes('chunked')
        const timer = setInterval(() => socket.write(chunked ? '1\r\nx\r\n' : 'x'), 100)
        socket.once('close', () => clearInterval(timer))
        return socket
      }),
    )
    let slowest = 0
    for (let healthy = 0; healthy < 10; healthy++) {
      const began = performance.now()
      const socket = await dial({ port: served.port })
      const output = received(socket)
      socket.write(postOf(callOf('echo', 1), mirrored('echo')))
      await output.until('"echo"')
      socket.destroy()
      slowest = Math.max(slowest, performance.now() - began)
    }
    campaignRun.measured('slowest call of another', Math.round(slowest), 'ms')
    await watched('all connections are closed', () => sockets.every((socket) => socket.closed))
    await watched('and forgotten', async () => (await served.now()).sockets <= before.sockets)
  },
)

/** Bodies and lines beyond every limit, or in the smallest of pieces. */
const uploads: Readonly<Record<string, (served: Served) => Promise<string>>> = {
  'a body without end': (served) =>
    uploaded(served, '40000\r\n', `${'x'.repeat(0x40000)}\r\n40000\r\n`, '413'),
  'a body without end, byte by byte': (served) => uploaded(served, '', '1\r\nx\r\n'.repeat(20_000), '413'),
  'a line without end': async (served) => {
    const socket = await dial({ path: served.path })
    const output = received(socket)
    socket.write(`${opening[0]}\n`)
    await output.until('"serverInfo"')
    for (let sent = 0; sent < 256 * MiB; sent += 0x40000) await written(socket, 'x'.repeat(0x40000))
    socket.write(`\n${JSON.stringify({ jsonrpc: '2.0', id: 'next', method: 'ping' })}\n`)
    await output.until('"next"')
    return output.text()
  },
}

/** Attempts to read the response: the reset of a connection that is still written to may discard it on its way. */
const attempts = 5

async function uploaded(served: Served, first: string, unit: string, status: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const reply = await upload(served, first, unit, status)
    if (reply.includes(status) || attempt === attempts) return reply
  }
}

async function upload(served: Served, first: string, unit: string, status: string): Promise<string> {
  const socket = await dial({ port: served.port })
  const output = received(socket)
  socket.write(trickles[2] ?? '')
  socket.write(first)
  let over = false
  socket.on('close', () => {
    over = true
  })
  const end = performance.now() + 60_000
  while (!over && !output.text().includes(status) && performance.now() < end) await written(socket, unit)
  await watched('the connection is closed', () => over)
  return output.text()
}

campaign(
  {
    id: 'requests-without-end',
    chapter: 'Bytes and limits',
    claim: 'A server refuses a message over its limit, however it arrives, and keeps serving',
    trial: 'message larger than the limit',
    trials: { change: 3, long: 60 },
  },
  async (campaignRun) => {
    const served = await serveMeasured({ messageBytes: MiB / 2 })
    const { heldBytes } = await served.end()
    const before = await served.begin()
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const [name, upload] = Object.entries(uploads)[trial % Object.keys(uploads).length] ?? []
      expect(await upload?.(served), name).toMatch(/may have at most 524288 bytes/)
    }
    const after = await served.end()
    const grown = (after.maxBytes - before.rss) / MiB
    campaignRun.measured('memory at most', Math.max(0, Math.round(grown)), 'MiB')
    // Much less than what was sent, with room for what is not collected yet.
    expect(grown).toBeLessThan(160)
    // Modules that were loaded meanwhile, and what loads them, take a few megabytes.
    expect(after.heldBytes - heldBytes).toBeLessThan(16 * MiB)
  },
)

/** Writes, and waits where the other end is behind. Settles too when it is gone. */
function written(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed || socket.write(text)) {
      setImmediate(resolve)
      return
    }
    const go = (): void => {
      socket.off('drain', go)
      socket.off('close', go)
      resolve()
    }
    socket.on('drain', go)
    socket.on('close', go)
  })
}
