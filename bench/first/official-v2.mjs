import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

serveStdio(() => {
  const server = new McpServer({ name: 'first', version: '1.0.0' })
  server.registerTool('echo', { description: 'Says hello' }, () => ({
    content: [{ type: 'text', text: 'Hello' }],
  }))
  return server
})
