import express from 'express'
import { mounted } from './app.ts'

// Behind a parser that reads every body first.
const app = express()
app.use(express.json())
for (const { path, handler } of mounted()) app.all(path, handler.node)
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/`)
})
