import { createServer } from 'node:http'
import { defineServer, prompt, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'

// Serves sessions and subscriptions, and reports on request how much memory it uses. Run with --expose-gc and a channel.

/** An order of its parent: measure memory, change its tools, or change its prompts, which ends them. */
export type Order = 'measure' | 'change' | 'last change'

/** What it reports: its address, then its memory on each order to measure. */
export type Report =
  | { type: 'listening'; port: number }
  | { type: 'held'; heap: number; outside: number; resident: number; sockets: number }

const { room, keepAliveMs, bare }: { room: number; keepAliveMs: number; bare: boolean } = JSON.parse(
  process.argv[2] ?? '{}',
)
const noop = tool({ run: () => '' })
const empty = prompt({ run: () => '' })
const server = defineServer({ name: 'idle', version: '1.0.0', tools: { noop }, prompts: { empty } })
let changes = 0

function say(report: Report): void {
  process.send?.(report)
}

/** Collects garbage until nothing more is freed: objects released by finalizers can be collected only after them. */
async function measure(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc?.()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  say({ type: 'held', heap: heapUsed, outside: external, resident: rss, sockets })
}

/** Streams of Node alone, to show what of the whole is its part. */
function listenBare(): Promise<number> {
  const http = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(': open\n\n')
  })
  return new Promise((resolve) =>
    http.listen(0, '127.0.0.1', () => {
      const address = http.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    }),
  )
}

async function listen(): Promise<number> {
  const limits = { sessions: room, listenStreams: room, keepAliveMs }
  const handler = serveHttp(server, { keys: ['k'.repeat(32)], limits, onWarning: () => {} })
  return (await handler.listen()).port
}

process.on('message', (order: Order) => {
  if (order === 'measure') measure()
  else if (order === 'last change') server.add({ prompts: { another: empty } })
  else server.add({ tools: { [`tool_${changes++ % 2}`]: noop } })
})
process.on('disconnect', () => process.exit(0))
say({ type: 'listening', port: bare ? await listenBare() : await listen() })
