import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from '@jackfield/sdk/client'
import { memory, runTwice } from '@jackfield/sdk/testing'
import { createServer } from '../src/server.ts'

test('adds and lists notes', async () => {
  const client = await connect(memory(createServer()))
  await client.call('add', { text: 'Buy milk' })
  const { structuredContent } = await client.call('list')
  deepEqual(structuredContent, { notes: ['Buy milk'] })
  await client.close()
})

test('refuses an empty note', async () => {
  const client = await connect(memory(createServer()))
  const { isError } = await client.call('add', { text: '' })
  equal(isError, true)
  await client.close()
})

test('keeps the notes if the person declines', async () => {
  const client = await connect(memory(createServer()), { onElicit: () => ({ action: 'decline' }) })
  await client.call('add', { text: 'Buy milk' })
  const { content } = await client.call('clear')
  deepEqual(content, [{ type: 'text', text: 'Nothing was deleted.' }])
  await client.close()
})

test('clear has no effect twice, on any protocol revision', async () => {
  const server = createServer()
  const { differences } = await runTwice(server, {
    tool: 'clear',
    effects: () => 0,
    onElicit: () => ({ action: 'accept', content: { confirm: true } }),
  })
  deepEqual(differences, [])
})
