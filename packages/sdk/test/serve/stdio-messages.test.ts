import { PassThrough } from 'node:stream'
import { type JsonObject, type ProtocolVersion, protocolVersions } from '@jackfield/sdk'
import { serveStdio } from '@jackfield/sdk/stdio'
import { describe, expect, it } from 'vitest'
import { checkWire } from '../schema/wire.ts'
import {
  ask,
  echo,
  hang,
  initialize,
  initialized,
  meta,
  settle,
  type Tool,
  testServer,
  until,
} from './support.ts'

const odd = 'one\ntwo\r\nthree\u2028four\u2029 – 漢字 🎉 \u0000'
const progress: Tool = (_args, { notify }) => {
  notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
  notify({ method: 'notifications/message', params: { level: 'info', data: odd } })
  return odd
}

/** A server on a pair of streams, with a client of one revision. */
function open(version: ProtocolVersion) {
  const server = testServer({ ask, echo, hang, progress })
  const input = new PassThrough()
  const output = new PassThrough()
  const chunks: Buffer[] = []
  output.on('data', (chunk) => chunks.push(chunk))
  const connection = serveStdio(server, { input, output, keys: ['k'.repeat(32)] })
  const modern = version === '2026-07-28'
  const send = (message: JsonObject): boolean => input.write(`${JSON.stringify(message)}\n`)
  const request = (id: string | number, method: string, params: JsonObject = {}): boolean =>
    send({ jsonrpc: '2.0', id, method, params: modern ? { _meta: meta(), ...params } : params })
  const bytes = (): Buffer => Buffer.concat(chunks)
  const messages = (): JsonObject[] =>
    new TextDecoder('utf-8', { fatal: true })
      .decode(bytes())
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  if (!modern) {
    send(initialize(version))
    send(initialized)
  }
  return { server, send, request, connection, bytes, messages }
}

describe.each(protocolVersions)('the stdout of a server of %s', (version) => {
  const modern = version === '2026-07-28'
  const asks = version >= '2025-06-18'

  it('is one valid message a line, in UTF-8, for any handler output', async () => {
    const { request, send, messages, bytes, connection } = open(version)
    const methods = new Map<unknown, string>([['init', 'initialize']])
    const sendRequest = (id: string, method: string, params?: JsonObject): void => {
      methods.set(id, method)
      request(id, method, params)
    }
    sendRequest('list', 'tools/list')
    sendRequest('odd', 'tools/call', { name: 'progress' })
    sendRequest('echo', 'tools/call', { name: 'echo', arguments: { text: odd } })
    sendRequest('none', 'no/such')
    sendRequest('ask', 'tools/call', { name: 'ask' })
    const question = (): JsonObject | undefined =>
      messages().find(({ method }) => method === 'elicitation/create')
    if (asks && !modern) {
      await until(() => question() !== undefined)
      send({ jsonrpc: '2.0', id: question()?.['id'], result: { action: 'decline' } })
    }
    const answered = (): unknown[] => messages().flatMap((one) => ('method' in one ? [] : [one['id']]))
    await until(() => [...methods.keys()].every((id) => (modern && id === 'init') || answered().includes(id)))
    await connection.close()

    expect(bytes().at(-1)).toBe(0x0a)
    expect(bytes().includes('\r')).toBe(false)
    const echoed = messages().find(({ id }) => id === 'echo')
    expect(echoed).toMatchObject({ result: { content: [{ text: odd }] } })
    for (const message of messages()) {
      const method = 'method' in message ? undefined : methods.get(message['id'])
      const known = 'error' in message ? undefined : method
      expect([message, checkWire(version, 'server', message, known)]).toEqual([message, []])
    }
    const requests = messages().filter((message) => 'method' in message && 'id' in message)
    expect(requests).toHaveLength(asks && !modern ? 1 : 0)
    if (modern) {
      const asked = messages().find(({ id }) => id === 'ask')
      expect(asked).toMatchObject({ result: { resultType: 'input_required' } })
    }
  })

  it('has nothing about a cancelled request', async () => {
    const { request, send, messages, server } = open(version)
    request('gone', 'tools/call', { name: 'hang' })
    await until(() => server.ran.includes('hang'))
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'gone' } })
    request('next', 'tools/call', { name: 'echo' })
    await until(() => messages().some(({ id }) => id === 'next'))
    await settle(20)
    expect(messages().filter(({ id }) => id === 'gone')).toEqual([])
  })
})
