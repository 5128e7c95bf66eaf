import { deepEqual, equal, rejects } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect, http } from '@jackfield/sdk/client'
import { createHandler } from '../src/handler.ts'

const issuer = 'https://issuer.invalid'
const resource = 'https://notes.example.com/mcp'
/** Tokens of this test, with the user and scope of each. */
const tokens: Readonly<Record<string, { sub: string; scope: string }>> = {
  ada: { sub: 'ada', scope: 'notes:write' },
  grace: { sub: 'grace', scope: 'notes:write' },
  reader: { sub: 'reader', scope: 'notes:read' },
}

const handler = createHandler({
  resource,
  issuer,
  async verify(token) {
    const found = tokens[token]
    return found && { ...found, iss: issuer, aud: resource, exp: Math.floor(Date.now() / 1000) + 60 }
  },
})
let endpoint: { url: string; close(): Promise<void> }
before(async () => {
  endpoint = await handler.listen({ port: 0 })
})
after(() => endpoint.close())

function connectAs(token: string) {
  return connect(http(endpoint.url, { headers: { Authorization: `Bearer ${token}` } }))
}

test('every user has their own notes', async () => {
  const [ada, grace] = [await connectAs('ada'), await connectAs('grace')]
  await ada.call('add', { text: 'Buy milk' })
  deepEqual((await ada.call('list')).structuredContent, { notes: ['Buy milk'] })
  deepEqual((await grace.call('list')).structuredContent, { notes: [] })
  await Promise.all([ada.close(), grace.close()])
})

test('a token without the scope cannot add notes', async () => {
  const reader = await connectAs('reader')
  await rejects(reader.call('add', { text: 'Buy milk' }))
  await reader.close()
})

test('a request without a valid token gets 401 and the metadata', async () => {
  for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
    const response = await fetch(endpoint.url, { method: 'POST', headers, body: '{}' })
    equal(response.status, 401)
    equal(response.headers.get('WWW-Authenticate')?.includes('resource_metadata='), true)
  }
})
