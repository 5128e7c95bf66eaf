import express from 'express'
import { mounted } from './app.ts'

// Under a prefix: a router cuts it off `url`, and the servers find their public path all the same.
const router = express.Router()
for (const { path, handler } of mounted('/api')) router.all(path.slice('/api'.length), handler.node)
const app = express()
app.use('/api', router)
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/`)
})
