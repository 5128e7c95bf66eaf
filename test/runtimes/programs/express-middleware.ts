import compression from 'compression'
import cors from 'cors'
import express from 'express'
import { mounted, pageOrigin } from './app.ts'

// Behind middleware that answers preflights, sets headers and compresses.
const app = express()
app.use(cors({ origin: [pageOrigin, 'https://evil.example'], exposedHeaders: ['Mcp-Session-Id'] }))
app.use(compression({ threshold: 0 }))
for (const { path, handler } of mounted()) app.all(path, handler.node)
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/`)
})
