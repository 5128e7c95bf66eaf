import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { serve, url } from './host.ts'

const client = new Client(
  { name: 'bench', version: '1.0.0' },
  { versionNegotiation: { mode: { pin: '2026-07-28' } } },
)
await client.connect(new StreamableHTTPClientTransport(new URL(url)))

serve(() => client.callTool({ name: 'echo', arguments: { text: 'Hello' } }))
