import { serve, url } from './host.ts'

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
}
let id = 0

// The limit: the same request is sent and its response parsed, without a library.
serve(async () => {
  const params = { name: 'echo', arguments: { text: 'Hello' }, _meta: meta }
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params })
  const response = await fetch(url, { method: 'POST', headers, body })
  return response.json()
})
