import { McpServer } from '@modelcontextprotocol/server'
import { echoInput, otherInput, others } from './host.ts'

export function createServer(): McpServer {
  const server = new McpServer({ name: 'official-v2-bench', version: '1.0.0' })
  server.registerTool('echo', { description: 'Says it again', inputSchema: echoInput }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  for (const name of others) {
    server.registerTool(
      name,
      { description: 'Looks something up', inputSchema: otherInput },
      ({ query }) => ({
        content: [{ type: 'text', text: query }],
      }),
    )
  }
  return server
}
