import { deepEqual } from 'node:assert/strict'
import { connect, sse } from '@jackfield/sdk/client'
import { startGreeter } from './server.ts'

const { url, close } = await startGreeter()

const old = await connect(sse(new URL('/sse', url)))
// Streamable HTTP is tried first, with an automatic fallback to HTTP+SSE.
const found = await connect(new URL('/sse', url))
const recent = await connect(url)

for (const client of [old, found, recent]) {
  const { content } = await client.call('greet', { name: 'Ada' })
  deepEqual(content, [{ type: 'text', text: 'Good day, Ada.' }])
}
deepEqual(
  [old, found, recent].map(({ server }) => server.era),
  ['session', 'session', 'stateless'],
)
for (const client of [old, found, recent]) await client.close()
await close()
console.log('One server answered over HTTP+SSE, by name and by discovery, and over Streamable HTTP.')
