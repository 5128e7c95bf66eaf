import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { defineServer, limits, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { serveSocket } from '@jackfield/sdk/socket'
import { serveStdio } from '@jackfield/sdk/stdio'
import { heldBytes, input } from './meter.ts'

const big = 'x'.repeat(50_000)
let running = 0
let maxRunning = 0
let maxBytes = 0

const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

/** Counts the handlers that are at work. */
async function counted<T>(work: () => Promise<T>): Promise<T> {
  running++
  maxRunning = Math.max(maxRunning, running)
  try {
    return await work()
  } finally {
    running--
  }
}

const server = defineServer({
  name: 'measured',
  version: '1.0.0',
  tools: {
    echo: tool({ run: () => 'echo' }),
    /** Reports progress of 20 MB, a little at a time. */
    flood: tool({
      run: (_, ctx) =>
        counted(async () => {
          for (let sent = 0; sent < 400 && !ctx.signal.aborted; sent++) {
            ctx.progress(sent, 400, big)
            // Slowly enough that the buffers of the system are full before the end, whatever their size.
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
          return 'done'
        }),
    }),
    /** Stops shortly after it is aborted. */
    slow: tool({
      run: (_, ctx) =>
        counted(async () => {
          await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
          await later()
          return 'stopped'
        }),
    }),
  },
})

const given = input((all) => all)
const changed = Object.fromEntries(
  Object.entries(given).filter((entry): entry is [keyof typeof limits, number] => entry[0] in limits),
)

async function ports() {
  const handler = serveHttp(server, { sse: '/sse', limits: changed, onWarning: () => {} })
  const { port } = await handler.listen()
  const path = join(tmpdir(), `jackfield-limits-${process.pid}.sock`)
  await serveSocket(server, { path }, { limits: changed })
  const webPath = join(tmpdir(), `jackfield-limits-${process.pid}-web.sock`)
  await new Promise<void>((resolve) => createServer(handler.node).listen(webPath, resolve))
  return { port, path, webPath }
}

/** Connections that clients have to this process. */
function socketsOpen(): number {
  const kinds = ['TCPSocketWrap', 'PipeWrap']
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind)).length
}

/** Memory of buffers is given back a few turns after they were collected. */
async function heldBytesAfterTurns(): Promise<number> {
  let bytes = heldBytes()
  for (let turn = 0; turn < 10; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    bytes = Math.min(bytes, heldBytes())
  }
  return bytes
}

/** Answers what the campaign asks, beside the protocol. */
process.on('message', async (asked) => {
  if (asked === 'begin') {
    heldBytes()
    maxBytes = process.memoryUsage().rss
    maxRunning = 0
  }
  const held = asked === 'end' ? await heldBytesAfterTurns() : 0
  process.send?.({
    rss: process.memoryUsage().rss,
    maxBytes,
    running,
    sockets: socketsOpen(),
    maxRunning,
    heldBytes: held,
  })
})
setInterval(() => {
  maxBytes = Math.max(maxBytes, process.memoryUsage().rss)
}, 5).unref()
process.on('disconnect', () => process.exit())

process.send?.(await ports())
if (given['stdio'] === true) serveStdio(server, { limits: changed })
