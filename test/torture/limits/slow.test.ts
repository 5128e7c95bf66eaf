import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import {
  callOf,
  dial,
  heard,
  mirrored,
  opening,
  postOf,
  type Served,
  serveMeasured,
  watched,
} from './served.ts'

const MiB = 1024 * 1024

/** How a client of each transport starts a tool: over a connection that it reads or does not. */
const transports: Readonly<
  Record<string, (served: Served, name: string, reads: boolean) => Promise<Socket>>
> = {
  HTTP: async (served, name, reads) => {
    const socket = await dial({ port: served.port })
    if (!reads) socket.pause()
    socket.write(postOf(callOf(name, 1, { progressToken: 'p' }), mirrored(name)))
    return socket
  },
  'HTTP session': async (served, name, reads) => {
    const first = await dial({ port: served.port })
    const begun = heard(first)
    first.write(postOf(opening[0] ?? '', {}))
    await begun.until('"serverInfo"')
    const id = /mcp-session-id: (\S+)/i.exec(begun.text())?.[1] ?? ''
    first.destroy()
    const socket = await dial({ port: served.port })
    if (!reads) socket.pause()
    socket.write(postOf(sessionCall(name), { 'Mcp-Session-Id': id }))
    return socket
  },
  'HTTP+SSE': async (served, name, reads) => {
    const socket = await dial({ port: served.port })
    const named = heard(socket)
    socket.write('GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n')
    await named.until('sessionId=')
    const inbox = /\/sse\?sessionId=\S+/.exec(named.text())?.[0] ?? ''
    const sender = await dial({ port: served.port })
    const sent = heard(sender)
    sender.write(postOf(opening[0] ?? '', {}, inbox))
    await sent.until('202')
    if (reads) await named.until('"serverInfo"')
    else socket.pause()
    sender.write(postOf(opening[1] ?? '', {}, inbox))
    sender.write(postOf(sessionCall(name), { Connection: 'close' }, inbox))
    return socket
  },
  socket: async (served, name, reads) => {
    const socket = await dial({ path: served.path })
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
    claim: 'Clients that read nothing cost little memory, are cut in time, and disturb nobody',
    trial: 'client that reads nothing of 20 MB',
    trials: { change: 52, long: 1_000 },
  },
  async (course) => {
    const each = course.trials / Object.keys(transports).length
    for (const [name, start] of Object.entries(transports)) {
      const served = await serveMeasured({ streamStallMs: 500, connections: 2 * each + 10 })
      const first = await start(served, 'echo', true)
      await answered(first)
      first.destroy()
      const before = await served.begin()
      const stalled = await Promise.all(Array.from({ length: each }, () => start(served, 'flood', false)))
      let slowest = 0
      for (let healthy = 0; healthy < each; healthy++) {
        const began = performance.now()
        const socket = await start(served, 'echo', true)
        await answered(socket)
        socket.destroy()
        slowest = Math.max(slowest, performance.now() - began)
      }
      await watched(`those over ${name} that read nothing are cut`, async () => {
        const { running, sockets } = await served.now()
        return running === 0 && sockets <= before.sockets
      })
      const grown = ((await served.now()).mostBytes - before.rss) / MiB
      course.measured(`memory for ${each} over ${name}`, Math.round(grown), 'MiB')
      course.measured(`slowest call of another over ${name}`, Math.round(slowest), 'ms')
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
    claim:
      'A server that a host started and no longer reads ends by itself, without collecting what it would say',
    trial: 'server whose standard output nobody reads',
    trials: { change: 2, long: 100 },
  },
  async (course) => {
    let grown = 0
    for (let trial = 0; trial < course.trials; trial++) {
      const served = await serveMeasured({ streamStallMs: 500, stdio: true })
      const before = await served.begin()
      for (let id = 0; id < 10; id++) served.stdin.write(`${callOf('flood', id, { progressToken: id })}\n`)
      await watched('a server that nobody reads is over', async () => {
        const now = await served.now().catch(() => undefined)
        if (now !== undefined) grown = Math.max(grown, now.mostBytes - before.rss)
        return now === undefined
      })
    }
    course.measured('memory at most, of 200 MB to say', Math.round(grown / MiB), 'MiB')
    expect(grown / MiB).toBeLessThan(50)
  },
)

campaign(
  {
    id: 'readers-that-are-slow',
    chapter: 'Bytes and limits',
    claim: 'A client that reads slowly is not cut while it takes what waits for it within the stall time',
    trial: 'client that takes a little, again and again',
    trials: { change: 8, long: 200 },
  },
  async (course) => {
    const each = course.trials / Object.keys(transports).length
    // What waits for one of them takes longer to read than the stall time: it counts that some of it is taken.
    const limits = { streamStallMs: 2000, streamQueueBytes: 3 * MiB, connections: each + 10 }
    const served = await serveMeasured(limits)
    const all: Promise<void>[] = []
    for (const [name, start] of Object.entries(transports)) {
      const clients = await Promise.all(Array.from({ length: each }, () => start(served, 'flood', false)))
      const read = Promise.all(clients.map((socket) => sipped(socket, name))).then(() => {})
      all.push(read)
      // So many at once are held by more memory than the server has.
      if (course.long) await read
    }
    await Promise.all(all)
  },
)

/** Reads a little again and again until the answer came. */
async function sipped(socket: Socket, name: string): Promise<void> {
  let tail = ''
  let over = false
  socket.on('close', () => {
    over = true
  })
  socket.on('data', (chunk) => {
    tail = (tail + chunk).slice(-200_000)
    socket.pause()
  })
  await watched(`${name} gave its answer to a slow reader`, async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (tail.includes('"done"')) return true
    if (over) throw new Error(`${name} cut a client that reads slowly`)
    socket.resume()
    return false
  })
  socket.destroy()
}

function answered(socket: Socket): Promise<void> {
  return heard(socket).until('"echo"')
}
