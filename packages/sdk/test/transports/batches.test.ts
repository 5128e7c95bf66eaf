import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import type { JsonObject } from '@jackfield/sdk'
import { connect, type Target } from '@jackfield/sdk/client'
import { serveSocket } from '@jackfield/sdk/socket'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { programFile } from '../../../../test/setup/program-file.ts'
import { RemoteMessages } from '../../../../test/setup/remote-messages.ts'
import { child } from '../client/support/child.ts'
import { begun, json, scripted, sse } from '../client/support/http.ts'
import { nodeAdapter, session } from '../serve/http-support.ts'
import { initialize, initialized, settle, testServer, until } from '../serve/support.ts'

const program = programFile(new URL('../serve/stdio-program.ts', import.meta.url))
const slow = () => settle(20).then(() => 'slow')

/** One client of a real server: `exchange` sends one array and gives the array that comes back. */
interface Wire {
  exchange(batch: unknown[]): Promise<JsonObject[]>
}

/** Begins a session at a revision on a channel of lines. */
async function onLines(input: Readable, write: (text: string) => void, version: string): Promise<Wire> {
  let text = ''
  input.on('data', (chunk) => {
    text += chunk
  })
  const lines = (): unknown[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const sendLine = (value: unknown): void => write(`${JSON.stringify(value)}\n`)
  sendLine(initialize(version))
  await until(() => lines().length === 1)
  sendLine(initialized)
  return {
    async exchange(batch) {
      sendLine(batch)
      await until(() => lines().length > 1)
      const answer = lines()[1]
      return Array.isArray(answer) ? answer : [answer]
    },
  }
}

const wires: [string, (version: string) => Promise<Wire>][] = [
  [
    'stdio',
    async (version) => {
      const server = spawn(process.execPath, ['--no-warnings', program], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      onTestFinished(() => {
        server.kill('SIGKILL')
      })
      const remote = new RemoteMessages()
      return onLines(server.stdout, (text) => server.stdin.write(remote.sent(text)), version)
    },
  ],
  [
    'a unix socket',
    async (version) => {
      const folder = await mkdtemp(join(tmpdir(), 'jackfield-'))
      const path = join(folder, 's')
      const served = await serveSocket(testServer({ slow }), { path })
      const end: Duplex = dial(path)
      onTestFinished(async () => {
        end.destroy()
        await served.close()
        await rm(folder, { recursive: true })
      })
      return onLines(end, (text) => end.write(text), version)
    },
  ],
  [
    'tcp',
    async (version) => {
      const served = await serveSocket(testServer({ slow }), { port: 0 })
      const end: Duplex = dial('port' in served.address ? served.address.port : 0, '127.0.0.1')
      onTestFinished(async () => {
        end.destroy()
        await served.close()
      })
      return onLines(end, (text) => end.write(text), version)
    },
  ],
  [
    'streamable http',
    async (version) => {
      const mounted = await nodeAdapter(testServer({ slow }))
      onTestFinished(() => mounted.close())
      const { post } = await session(mounted, version)
      return {
        async exchange(batch) {
          const answer = JSON.parse(await (await post(batch)).text())
          return Array.isArray(answer) ? answer : [answer]
        },
      }
    },
  ],
  [
    'http+sse',
    async (version) => {
      const mounted = await nodeAdapter(testServer({ slow }), { sse: '/sse' })
      onTestFinished(() => mounted.close())
      const stream = await mounted.send({ method: 'GET', path: '/sse' })
      await until(() => stream.events.length === 1)
      const send = (body: unknown) => mounted.send({ path: stream.events[0]?.data ?? '', body })
      await send(initialize(version))
      await until(() => stream.events.length === 2)
      await send(initialized)
      return {
        async exchange(batch) {
          expect((await send(batch)).status).toBe(202)
          await until(() => stream.events.length === 3)
          const answer = JSON.parse(stream.events[2]?.data ?? '')
          return Array.isArray(answer) ? answer : [answer]
        },
      }
    },
  ],
]

describe.each(wires)('a batch over %s', (_over, open) => {
  it('is served at once and answered as one batch, with a response to each request', async () => {
    faultyPeer('a message whose method is a number')
    const { exchange } = await open('2025-03-26')
    const answers = await exchange([
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: {} } },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } },
      { jsonrpc: '2.0', id: 99, result: {} },
      { jsonrpc: '2.0', id: 'two', method: 'ping' },
      { jsonrpc: '2.0', id: 3, method: 'no/such' },
      { jsonrpc: '2.0', id: 4, method: 5 },
    ])
    const byId = new Map(answers.map((answer) => [answer['id'], answer]))
    expect(byId.size).toBe(4)
    expect(byId.get(1)).toMatchObject({ result: { content: [{ text: 'slow' }] } })
    expect(byId.get('two')).toEqual({ jsonrpc: '2.0', id: 'two', result: {} })
    expect(byId.get(3)).toMatchObject({ error: { code: -32601 } })
    expect(byId.get(4)).toMatchObject({ error: { code: -32600 } })
  })

  it.each([
    ['of a revision without batches', '2025-06-18', [{ jsonrpc: '2.0', id: 1, method: 'ping' }]],
    ['that is empty', '2025-03-26', []],
    [
      'that is too long',
      '2025-03-26',
      Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
    ],
  ])('%s is refused as a whole', async (_, version, batch) => {
    if (version !== '2025-03-26') faultyPeer('a batch, which its revision does not have')
    const { exchange } = await open(version)
    const answers = await exchange(batch)
    expect(answers).toMatchObject([{ error: { code: -32600 } }])
    expect(answers[0]).not.toHaveProperty('id')
  })
})

describe('a client of 2025-03-26 accepts batched responses', () => {
  const connectTo = async (target: Target) => {
    const logs: unknown[] = []
    const client = await connect(target, { revisions: ['2025-03-26'], onLog: ({ data }) => logs.push(data) })
    onTestFinished(() => client.close())
    return { client, logs }
  }
  const batch = (ids: unknown[]): unknown[] => [
    { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'batched' } },
    ...ids.map((id) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `${id}` }] } })),
  ]

  it('over stdio', async () => {
    const { client, logs } = await connectTo(
      child(`
        const waiting = []
        each((message) => {
          if (message.method === 'initialize') {
            const result = { protocolVersion: '2025-03-26', capabilities: { tools: {}, logging: {} }, serverInfo: info }
            return send({ id: message.id, result })
          }
          if (message.method !== 'tools/call') return
          waiting.push(message.id)
          if (waiting.length < 2) return
          const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'batched' } }
          const answers = waiting.map((id) => ({ jsonrpc: '2.0', id, result: text(String(id)) }))
          process.stdout.write(JSON.stringify([log, ...answers]) + '\\n')
        })`),
    )
    const answers = await Promise.all([client.call('a'), client.call('b')])
    const texts = answers.map(({ content }) => content[0])
    expect(new Set(texts.map((text) => JSON.stringify(text))).size).toBe(2)
    expect(logs).toEqual(['batched'])
  })

  it.each(['JSON', 'an event stream'])('over Streamable HTTP, as %s', async (how) => {
    const server = await scripted((one) => {
      if (one.message.method === 'initialize') {
        const info = { name: 'hand', version: '1' }
        const capabilities = { tools: {}, logging: {} }
        const result = { protocolVersion: '2025-03-26', capabilities, serverInfo: info }
        json(one.res, { jsonrpc: '2.0', id: one.message.id, result })
      } else if (one.method === 'GET') one.res.writeHead(405).end()
      else if (one.message.method !== 'tools/call') begun(one)
      else if (how === 'JSON') json(one.res, batch([one.message.id]))
      else {
        sse(one.res)({ data: batch([one.message.id]) })
        one.res.end()
      }
    })
    const { client, logs } = await connectTo(server.url)
    await expect(client.call('a')).resolves.toMatchObject({ content: [{ type: 'text' }] })
    expect(logs).toEqual(['batched'])
  })
})
