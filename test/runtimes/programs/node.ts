import { createServer } from 'node:http'
import { nodeApp } from './app.ts'

const server = createServer(nodeApp())
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/`)
})
