import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { echoInput, listen, otherInput, others } from './host.ts'

function createServer(): McpServer {
  const server = new McpServer({ name: 'official-v1-bench', version: '1.0.0' })
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

// Its documentation asks for a new server and transport per request where there are no sessions.
listen(async (request, response) => {
  const server = createServer()
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.on('close', () => {
    void transport.close()
    void server.close()
  })
  await server.connect(transport)
  await transport.handleRequest(request, response)
})
