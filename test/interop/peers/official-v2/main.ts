import { randomUUID } from 'node:crypto'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type JSONRPCMessage, type McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { Events } from '../events.ts'
import { listen, Sessions } from '../http-sessions.ts'
import { createFixture, type Host } from './definition.ts'

/** The fixture on `@modelcontextprotocol/server` 2: `main.ts stdio|http|sessions`. */
const [how] = process.argv.slice(2)
const quiet: Host = { forget: () => {}, notify: () => {} }

if (how === 'http') serveHttp()
else if (how === 'sessions') serveSessions()
else serveStdio(({ era }) => onStdio(era))

function onStdio(era: 'legacy' | 'modern'): McpServer {
  const notify: Host['notify'] = (what) => {
    if (typeof what === 'object' && era === 'modern') void mcp.server.sendResourceUpdated(what)
  }
  const mcp = createFixture({ ...quiet, notify })
  return mcp
}

/** Both eras without sessions, the way its documentation begins. */
function serveHttp(): void {
  const notify: Host['notify'] = (what) => {
    if (what === 'tools') handler.notify.toolsChanged()
    else if (what === 'prompts') handler.notify.promptsChanged()
    else if (what === 'resources') handler.notify.resourcesChanged()
    else handler.notify.resourceUpdated(what.uri)
  }
  const handler = createMcpHandler(() => createFixture({ ...quiet, notify }), { onerror: () => {} })
  const node = toNodeHandler(handler)
  // The adapter's types leave no room for an absent method or URL; a request always has both.
  listen((request, response) =>
    node(Object.assign(request, { method: request.method ?? 'GET', url: request.url ?? '/' }), response),
  )
}

/** The legacy era with sessions. */
function serveSessions(): void {
  const sessions = new Sessions(async () => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events<JSONRPCMessage>(),
      retryInterval: 50,
      onsessioninitialized: (id) => sessions.add(id, transport),
      onsessionclosed: (id) => sessions.remove(id),
    })
    await createFixture({ ...quiet, forget: () => sessions.forget() }).connect(transport)
    return transport
  })
  listen((request, response) => sessions.handle(request, response))
}
