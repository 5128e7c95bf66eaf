import { deepEqual } from 'node:assert/strict'
import { connect, http } from '@jackfield/sdk/client'
import { manual, oauth } from '@jackfield/sdk/client/auth'
import { startAuthorizationServer } from '../../packages/sdk/test/auth-support/authorization-server.ts'
import { startNotes } from './server.ts'

const as = await startAuthorizationServer()
const notes = await startNotes(as.issuer)
as.addResource(notes.url, { scopes: ['notes:read', 'notes:write'] })

// Instead of a browser: this authorization server signs in every user immediately.
const redirect = manual({
  redirectUri: 'http://127.0.0.1/callback',
  async ask(loginUrl) {
    const { headers } = await fetch(loginUrl, { redirect: 'manual' })
    return headers.get('location') ?? ''
  },
})

const auth = oauth({ client: { name: 'A note taker' }, redirect })
const client = await connect(http(notes.url, { auth }))

const before = await client.tools()
const { content } = await client.call('write', { text: 'Buy milk.' })
const after = await client.tools({ cache: 'refresh' })
const read = await client.call('read', {})
await client.close()
await notes.close()
await as.close()

const names = (tools: typeof before): string[] => tools.map(({ name }) => name)
deepEqual(names(before), ['read'])
deepEqual(content, [{ type: 'text', text: 'Written.' }])
deepEqual(names(after), ['read', 'write'])
deepEqual(read.content, [{ type: 'text', text: 'alice: Buy milk.' }])
deepEqual(
  as.grants.map(({ scope }) => scope),
  ['notes:read', 'notes:read notes:write'],
)
console.log('Signed in to read, signed in again to write, and wrote.')
