import { McpServer, StreamableHttpTransport } from 'mcp-lite'
import { z } from 'zod'
import { listenFetch } from './fetch.ts'
import { echoInput, otherInput, others } from './host.ts'

const server = new McpServer({
  name: 'mcp-lite-bench',
  version: '1.0.0',
  schemaAdapter: (schema) => (schema instanceof z.ZodType ? z.toJSONSchema(schema) : {}),
})
server.tool('echo', {
  description: 'Says it again',
  inputSchema: echoInput,
  handler: ({ text }) => ({ content: [{ type: 'text', text }] }),
})
for (const name of others) {
  server.tool(name, {
    description: 'Looks something up',
    inputSchema: otherInput,
    handler: ({ query }) => ({ content: [{ type: 'text', text: query }] }),
  })
}

listenFetch({ fetch: new StreamableHttpTransport().bind(server) })
