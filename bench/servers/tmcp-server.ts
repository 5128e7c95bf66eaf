import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod'
import { McpServer } from 'tmcp'
import { echoInput, otherInput, others } from './host.ts'

const server = new McpServer(
  { name: 'tmcp-bench', version: '1.0.0', description: 'Measured' },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: { listChanged: true } } },
)
server.tool({ name: 'echo', description: 'Says it again', schema: echoInput }, ({ text }) => ({
  content: [{ type: 'text', text }],
}))
for (const name of others) {
  server.tool({ name, description: 'Looks something up', schema: otherInput }, ({ query }) => ({
    content: [{ type: 'text', text: query }],
  }))
}

export { server }
