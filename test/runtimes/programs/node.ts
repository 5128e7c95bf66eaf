import { createServer } from 'node:http'
import { lockedHandler, lockedPath, openHandler } from './app.ts'

const open = openHandler()
const locked = lockedHandler()
const server = createServer((request, response) =>
  request.url === lockedPath ? locked.node(request, response) : open.node(request, response),
)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/`)
})
