import { freePort } from '../../../setup/ports.ts'
import { announce } from '../contract.ts'
import { createFixture } from './definition.ts'

/** The fixture on fastmcp: `main.ts stdio|http`. */
const [how] = process.argv.slice(2)
const server = createFixture()

if (how === 'http') {
  // It does not report its port, so a free one is chosen before.
  const port = await freePort()
  await server.start({
    transportType: 'httpStream',
    httpStream: { port, host: '127.0.0.1', endpoint: '/mcp' },
  })
  announce(`http://127.0.0.1:${port}/mcp`)
} else {
  await server.start({ transportType: 'stdio' })
}
