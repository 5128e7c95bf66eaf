import { StdioTransport } from '@tmcp/transport-stdio'
import { McpServer } from 'tmcp'

const server = new McpServer(
  { name: 'first', version: '1.0.0', description: 'Measured' },
  { capabilities: { tools: { listChanged: true } } },
)
server.tool({ name: 'echo', description: 'Says hello' }, () => ({
  content: [{ type: 'text', text: 'Hello' }],
}))

new StdioTransport(server).listen()
