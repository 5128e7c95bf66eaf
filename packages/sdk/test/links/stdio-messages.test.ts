import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JsonObject, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { child } from '../client/support/child.ts'
import { tick, until } from '../client/support/http.ts'
import { checkWire } from '../schema/wire.ts'

/** A client of one revision over a process that writes down every byte it is sent. */
async function connectTo(version: ProtocolVersion, code: string, options: ConnectOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'stdin')
  const warnings: string[] = []
  const client = await connect(
    child(`
      import { appendFileSync } from 'node:fs'
      appendFileSync(${JSON.stringify(path)}, '')
      let rest = ''
      const decoder = new TextDecoder()
      const eachLine = (handle) => process.stdin.on('data', (bytes) => {
        appendFileSync(${JSON.stringify(path)}, bytes)
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\\n')
        rest = lines.pop()
        for (const line of lines) handle(JSON.parse(line))
      })
      const greet = (message) => {
        if (message.method === 'server/discover') modern(message)
        else if (message.method === 'initialize') send({ id: message.id, result: {
          protocolVersion: message.params.protocolVersion, capabilities: { tools: {} }, serverInfo: info } })
        else return false
        return true
      }
      const gives = ${version === '2026-07-28' ? 'done' : 'text'}
      ${code}`),
    { revisions: [version], onWarning: (text) => warnings.push(text), ...options },
  )
  onTestFinished(() => client.close())
  expect(client.server.revision).toBe(version)
  return { client, warnings, bytes: () => readFileSync(path) }
}

const asking = `
  eachLine((message) => {
    if (greet(message)) return
    console.error('just so you know: ' + message.method)
    if (message.method === 'ping') send({ id: message.id, result: {} })
    else if (message.method === 'tools/call' && message.params.name !== 'slow') {
      send({ id: 'q', method: 'roots/list' })
      setTimeout(() => send({ id: message.id, result: gives(JSON.stringify(message.params.arguments)) }), 50)
    }
  })`

const messagesIn = (bytes: Buffer): JsonObject[] =>
  new TextDecoder('utf-8', { fatal: true })
    .decode(bytes)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe.each(protocolVersions)('the messages from a client of %s to a process', (version) => {
  const stray = 'a request, which servers of that revision do not send'
  const args = { text: 'one\ntwo\r\nthree\u2028four\u2029 – 漢字 🎉 \u0000' }

  it('are one valid message a line, in UTF-8, for any arguments', async () => {
    if (version === '2026-07-28') faultyPeer(stray)
    const { client, bytes } = await connectTo(version, asking, { onRoots: [{ uri: 'file:///a' }] })
    const { content } = await client.call('t', args)
    expect(content).toEqual([{ type: 'text', text: JSON.stringify(args) }])
    await client.rootsChanged()
    const stop = new AbortController()
    const slow = client.call('slow', {}, { signal: stop.signal })
    await until(() => bytes().includes('"slow"'))
    stop.abort()
    await expect(slow).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => bytes().includes('notifications/cancelled'))
    await client.close()

    const raw = bytes()
    expect(raw.at(-1)).toBe(0x0a)
    expect(raw.includes('\r')).toBe(false)
    const messages = messagesIn(raw)
    for (const message of messages) {
      const answers = 'method' in message ? undefined : 'roots/list'
      expect([message, checkWire(version, 'client', message, answers)]).toEqual([message, []])
    }
    const calls = messages.filter(({ method }) => method === 'tools/call')
    expect(messages.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: calls[1]?.['id'] },
    })
    const responses = messages.filter((message) => !('method' in message))
    if (version === '2026-07-28') expect(responses).toEqual([])
    else expect(responses).toMatchObject([{ id: 'q', result: { roots: [{ uri: 'file:///a' }] } }])
  })

  it('are not affected by stderr output, which is no failure', async () => {
    if (version === '2026-07-28') faultyPeer(stray)
    const { client, warnings } = await connectTo(version, asking)
    await expect(client.call('t')).resolves.toMatchObject({ content: [{ text: '{}' }] })
    expect(warnings.filter((warning) => warning.includes('just so'))).toEqual([])
  })
})

describe('subscriptions on one channel', () => {
  it('are distinguished by their subscription id', async () => {
    const { client } = await connectTo(
      '2026-07-28',
      `
      const open = []
      const about = (id) => ({ 'io.modelcontextprotocol/subscriptionId': id })
      eachLine((message) => {
        if (greet(message)) return
        if (message.method === 'subscriptions/listen') {
          open.push(message.id)
          send({ method: 'notifications/subscriptions/acknowledged',
            params: { notifications: message.params.notifications, _meta: about(message.id) } })
        } else if (message.method === 'tools/call') {
          const [first, second] = open
          send({ method: 'notifications/tools/list_changed', params: { _meta: about(second) } })
          send({ method: 'notifications/resources/updated', params: { uri: 'a:b', _meta: about(first) } })
          send({ method: 'notifications/resources/updated', params: { uri: 'a:c', _meta: about(4711) } })
          send({ id: message.id, result: gives('told') })
        }
      })`,
    )
    const received: unknown[] = []
    const filter = { toolsListChanged: true, resourceSubscriptions: ['a:b', 'a:c'] }
    await client.watch(filter, (change) => received.push(['first', change]))
    await client.watch(filter, (change) => received.push(['second', change]))
    await client.call('tell')
    await tick(20)
    expect(received).toEqual([
      ['second', { type: 'tools' }],
      ['first', { type: 'resource', uri: 'a:b' }],
    ])
  })
})
