import { createServer } from 'node:net'
import { server } from './fastmcp-server.ts'
import { ready } from './host.ts'

// It does not report its port, so a free one is chosen.
const port = await new Promise<number>((resolve) => {
  const probe = createServer()
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address()
    probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
  })
})
await server.start({
  transportType: 'httpStream',
  httpStream: { port, host: '127.0.0.1', endpoint: '/mcp' },
})
ready(port)
