import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import {
  type Address,
  callOf,
  dial,
  mirrored,
  opening,
  postOf,
  received,
  serveMeasured,
  watched,
} from './served.ts'

const MiB = 1024 * 1024

/** The HTTP and line endpoints of a server. */
interface Endpoints {
  readonly web: Address
  readonly lines: Address
}

/** How a client of each transport starts a tool: over a connection that it reads or does not. */
const transports: Readonly<Record<string, (to: Endpoints, name: string, reads: boolean) => Promise<Socket>>> =
  {
    HTTP: async (to, name, reads) => {
      const socket = await dial(to.web)
      if (!reads) socket.pause()
      socket.write(postOf(callOf(name, 1, { progressToken: 'p' }), mirrored(name)))
      return socket
    },
    'HTTP session': async (to, name, reads) => {
      const first = await dial(to.web)
      const begun = received(first)
      first.write(postOf(opening[0] ?? '', {}))
      await begun.until('"serverInfo"')
      const id = /mcp-session-id: (\S+)/i.exec(begun.text())?.[1] ?? ''
      first.destroy()
      const socket = await dial(to.web)
      if (!reads) socket.pause()
      socket.write(postOf(sessionCall(name), { 'Mcp-Session-Id': id }))
      return socket
    },
    'HTTP+SSE': async (to, name, reads) => {
      const socket = await dial(to.web)
      const named = received(socket)
      socket.write('GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n')
      await named.until('sessionId=')
      const inbox = /\/sse\?sessionId=\S+/.exec(named.text())?.[0] ?? ''
      const sender = await dial(to.web)
      const sent = received(sender)
      sender.write(postOf(opening[0] ?? '', {}, inbox))
      await sent.until('202')
      if (reads) await named.until('"serverInfo"')
      else socket.pause()
      sender.write(postOf(opening[1] ?? '', {}, inbox))
      sender.write(postOf(sessionCall(name), { Connection: 'close' }, inbox))
      return socket
    },
    socket: async (to, name, reads) => {
      const socket = await dial(to.lines)
      if (!reads) socket.pause()
      socket.write(`${callOf(name, 1, { progressToken: 'p' })}\n`)
      return socket
    },
  }

function sessionCall(name: string): string {
  const params = { name, arguments: {}, _meta: { progressToken: 'p' } }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

campaign(
  {
    id: 'readers-that-stall',
    chapter: 'Bytes and limits',
    claim:
      'Clients that read nothing cost little memory, are disconnected in time, and delay no other client',
    trial: 'client that reads nothing of 20 MB',
    trials: { test: 16, change: 52, long: 1_000 },
  },
  async (campaignRun) => {
    const each = campaignRun.trials / Object.keys(transports).length
    for (const [name, start] of Object.entries(transports)) {
      const served = await serveMeasured({ streamStallMs: 500, connections: 2 * each + 10 })
      const endpoints = { web: { port: served.port }, lines: { path: served.path } }
      const first = await start(endpoints, 'echo', true)
      await answered(first)
      first.destroy()
      const before = await served.begin()
      const stalled = await Promise.all(Array.from({ length: each }, () => start(endpoints, 'flood', false)))
      let slowest = 0
      for (let healthy = 0; healthy < each; healthy++) {
        const began = performance.now()
        const socket = await start(endpoints, 'echo', true)
        await answered(socket)
        socket.destroy()
        slowest = Math.max(slowest, performance.now() - began)
      }
      await watched(`those over ${name} that read nothing are cut`, async () => {
        const { running, sockets } = await served.now()
        return running === 0 && sockets <= before.sockets
      })
      const grown = ((await served.now()).maxBytes - before.rss) / MiB
      campaignRun.measured(`memory for ${each} over ${name}`, Math.round(grown), 'MiB')
      campaignRun.measured(`slowest call of another over ${name}`, Math.round(slowest), 'ms')
      // Each may have 1 MiB and one message waiting, a session 16 MiB stored; the rest a busy process has anyway.
      expect(grown, name).toBeLessThan(100 + (name === 'HTTP session' ? 20 : 4) * each)
      for (const socket of stalled) socket.destroy()
    }
  },
)

campaign(
  {
    id: 'host-that-stalls',
    chapter: 'Bytes and limits',
    claim: 'A server whose output is no longer read exits without buffering its output',
    trial: 'server whose standard output is not read',
    trials: { change: 2, long: 100 },
  },
  async (campaignRun) => {
    let grown = 0
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const served = await serveMeasured({ streamStallMs: 500, stdio: true })
      const before = await served.begin()
      for (let id = 0; id < 10; id++) served.stdin.write(`${callOf('flood', id, { progressToken: id })}\n`)
      await watched('the server that is not read has ended', async () => {
        const now = await served.now().catch(() => undefined)
        if (now !== undefined) grown = Math.max(grown, now.maxBytes - before.rss)
        return now === undefined
      })
    }
    campaignRun.measured('memory at most, of 200 MB to say', Math.round(grown / MiB), 'MiB')
    expect(grown / MiB).toBeLessThan(50)
  },
)

campaign(
  {
    id: 'readers-that-are-slow',
    chapter: 'Bytes and limits',
    claim: 'A slow client is not disconnected while it reads what is queued within the stall time',
    trial: 'client that takes a little, again and again',
    trials: { test: 4, change: 8, long: 200 },
  },
  async (campaignRun) => {
    const each = campaignRun.trials / Object.keys(transports).length
    // What waits for one of them takes longer to read than the stall time: it counts that some of it is taken.
    const limits = { streamStallMs: stallMs, streamQueueBytes: 3 * MiB, connections: 2 * each + 10 }
    const served = await serveMeasured(limits)
    // Of a TCP connection the system shows only in steps of megabytes what its reader took.
    const endpoints = { web: { path: served.webPath }, lines: { path: served.path } }
    const all: Promise<number>[] = []
    for (const [name, start] of Object.entries(transports)) {
      const read = Array.from({ length: each }, () =>
        readSlowly(() => start(endpoints, 'flood', false), name),
      )
      all.push(...read)
      // This many concurrent responses need more memory than the server has.
      if (campaignRun.long) await Promise.all(read)
    }
    const attempts = await Promise.all(all)
    const again = attempts.reduce((sum, made) => sum + made - 1, 0)
    campaignRun.measured(
      'clients that this machine kept from reading in time, and that began again',
      again,
      '',
    )
  },
)

const stallMs = 2000

/** Reads a little again and again until the answer came. Gives how often it had to be tried. */
async function readSlowly(start: () => Promise<Socket>, name: string): Promise<number> {
  for (let attempt = 1; attempt <= 10; attempt++) {
    const socket = await start()
    const { cut, longestPauseMs } = await sipped(socket, name)
    socket.destroy()
    if (!cut) return attempt
    if (longestPauseMs < stallMs / 4) {
      throw new Error(`${name} cut a client that paused for ${Math.round(longestPauseMs)} ms at most`)
    }
  }
  throw new Error(`This machine lets nobody read over ${name} every ${stallMs / 4} ms`)
}

/** Whether a slow reader was cut, and the longest time in which it took nothing. */
async function sipped(socket: Socket, name: string): Promise<{ cut: boolean; longestPauseMs: number }> {
  let tail = ''
  let cut = false
  let longestPauseMs = 0
  let last = performance.now()
  socket.on('close', () => {
    cut = !tail.includes('"done"')
  })
  socket.on('data', (chunk) => {
    tail = (tail + chunk).slice(-200_000)
    socket.pause()
  })
  await watched(`${name} gave its answer to a slow reader`, async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    longestPauseMs = Math.max(longestPauseMs, performance.now() - last)
    last = performance.now()
    if (cut || tail.includes('"done"')) return true
    socket.resume()
    return false
  })
  return { cut, longestPauseMs }
}

function answered(socket: Socket): Promise<void> {
  return received(socket).until('"echo"')
}
