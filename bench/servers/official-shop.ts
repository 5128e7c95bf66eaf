import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createClient } from '@redis/client'
import { z } from 'zod'

// One node of the shop of test/torture/nodes/shop-program.ts with the official SDK: a transport for each session in a map, as its examples
// do it, and, where `store` is true, an event store that all nodes share. It prints its port when it is ready.

const { redis, port, store }: { redis: string; port: number; store: boolean } = JSON.parse(
  process.argv[2] ?? '{}',
)

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const inputSchema = { order: z.string() }
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
  server.registerTool('look', { inputSchema }, ({ order }) => text(`seen ${order}`))
  server.registerTool('buy', { inputSchema }, async ({ order }, extra) => {
    const { action } = await server.server.elicitInput(
      {
        message: `Buy ${order}?`,
        requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
      },
      { relatedRequestId: extra.requestId },
    )
    return text(`${action} ${order}`)
  })
  return server
}

/** Events in a stream of Redis for each stream of a session. */
async function redisEvents(url: string): Promise<EventStore> {
  const client = createClient({ url })
  await client.connect()
  return {
    async storeEvent(stream, message) {
      const id = await client.xAdd(`events:${stream}`, '*', { message: JSON.stringify(message) })
      return `${stream}_${id}`
    },
    async replayEventsAfter(last, { send }) {
      const at = last.lastIndexOf('_')
      const stream = last.slice(0, at)
      const later = await client.xRange(`events:${stream}`, `(${last.slice(at + 1)}`, '+')
      for (const { id, message } of later ?? []) {
        await send(`${stream}_${id}`, JSON.parse(String(message['message'])))
      }
      return stream
    },
  }
}

const eventStore = store ? await redisEvents(redis) : undefined
const transports = new Map<string, StreamableHTTPServerTransport>()

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? undefined : JSON.parse(text)
}

createServer(async (request, response) => {
  if (request.url?.startsWith('/healthz')) {
    response.end()
    return
  }
  const id = request.headers['mcp-session-id']
  const body = request.method === 'POST' ? await bodyOf(request) : undefined
  const known = typeof id === 'string' ? transports.get(id) : undefined
  if (known !== undefined) {
    await known.handleRequest(request, response, body)
    return
  }
  if (id !== undefined) {
    const error = { code: -32001, message: 'Session not found' }
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
    return
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (session) => {
      transports.set(session, transport)
    },
    ...(eventStore === undefined ? {} : { eventStore }),
  })
  await shop().connect(transport)
  await transport.handleRequest(request, response, body)
}).listen(port, '127.0.0.1', () => process.stdout.write(`${port}\n`))
