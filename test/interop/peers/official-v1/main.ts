import { randomUUID } from 'node:crypto'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Events } from '../events.ts'
import { listen, Sessions } from '../http-sessions.ts'
import { createFixture } from './definition.ts'

/** The fixture on `@modelcontextprotocol/sdk` 1: `main.ts stdio|http|sse`. */
const [how] = process.argv.slice(2)

if (how === 'http') serveHttp()
else if (how === 'sse') serveSse()
else await createFixture(() => {}).connect(new StdioServerTransport())

function serveHttp(): void {
  const sessions = new Sessions(async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      retryInterval: 50,
      onsessioninitialized: (id) => sessions.add(id, transport),
      onsessionclosed: (id) => sessions.remove(id),
    })
    await createFixture(() => sessions.forget()).connect(transport)
    return transport
  })
  listen((request, response) => sessions.handle(request, response))
}

function serveSse(): void {
  const open = new Map<string, SSEServerTransport>()
  listen(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response)
      open.set(transport.sessionId, transport)
      await createFixture(() => {}).connect(transport)
    } else if (request.method === 'POST' && url.pathname === '/messages') {
      await open.get(url.searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response)
    } else {
      response.writeHead(404).end()
    }
  }, '/sse')
}
