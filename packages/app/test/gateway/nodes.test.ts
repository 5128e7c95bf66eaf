import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect, http } from '@jackfield/sdk/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../../test/setup/ports.ts'
import { isInstalled, PostgresServer } from '../../../postgres/test/support/postgres-server.ts'
import { isThere, left, RedisServer } from '../../../redis/test/support/redis-server.ts'
import { sendingTo } from '../../../sdk/test/serve/http-support.ts'
import { begin, jsonFile, type Running, run, tempFolder } from '../cli/jackfield.ts'

const asking = fileURLToPath(new URL('../cli/asking-server.ts', import.meta.url))
const ann = 'ann-has-a-long-token'
const bob = 'bob-has-another-token'

interface GatewayNode {
  readonly port: number
  readonly running: Running
}

function keyFile(key: string): string {
  const file = join(tempFolder(), 'keys')
  writeFileSync(file, `${key}\n`)
  return file
}

/** Starts a gateway as two processes that share a backplane, each with a store of its own. */
async function nodes(backplane: string): Promise<[GatewayNode, GatewayNode]> {
  const users = jsonFile({ ann, bob })
  const keys = keyFile('k'.repeat(32))
  const config = jsonFile({
    mcpServers: { booking: { command: process.execPath, args: [asking, 'session'] } },
    jackfield: { defaultVerdict: 'allow' },
  })
  const start = async (): Promise<GatewayNode> => {
    const store = join(tempFolder(), 'activity.db')
    const shared = ['--users', users, '--keys', keys, '--config', config, '--health', '/healthz']
    const running = begin(['gateway', '--http', '127.0.0.1:0', '--store', store, ...shared], {
      env: { JACKFIELD_BACKPLANE: backplane },
    })
    onTestFinished(() => void running.child.kill('SIGKILL'))
    await running.waitForOutput('Users: ann')
    return { port: Number(/:(\d+)\/mcp/.exec(running.output())?.[1]), running }
  }
  return Promise.all([start(), start()])
}

/** A `fetch` that gives each request to the next of the nodes. */
function inTurn(ports: readonly number[]) {
  let turn = 0
  let session = ''
  const send = async (input: URL | string | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    url.port = String(ports[turn++ % ports.length])
    const response = await fetch(url, init)
    session = response.headers.get('mcp-session-id') ?? session
    return response
  }
  return { fetch: send, session: () => session }
}

describe.skipIf(!isThere)(`a gateway on two nodes over Redis${left}`, () => {
  it('serves the sessions of its users on both nodes, also when one of them drains', async () => {
    const [first, second] = await nodes((await RedisServer.start()).url)
    const ports = [first.port, second.port]
    const balancer = inTurn(ports)
    const client = await connect(
      http(`http://127.0.0.1:${first.port}/mcp`, {
        headers: { authorization: `Bearer ${ann}` },
        fetch: balancer.fetch,
      }),
      {
        revisions: ['2025-11-25'],
        onElicit: () => ({ action: 'accept', content: { seat: '7a' } }),
      },
    )
    onTestFinished(() => client.close())
    for (let call = 0; call < 4; call++) {
      expect(await client.call('booking__book')).toMatchObject({
        content: [{ text: '{"action":"accept","content":{"seat":"7a"}}' }],
      })
    }

    const ofBob = { authorization: `Bearer ${bob}`, 'mcp-session-id': balancer.session() }
    for (const port of ports) {
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      expect((await sendingTo(port)({ headers: ofBob, body: list })).status).toBe(404)
    }

    first.running.child.kill('SIGTERM')
    const ready = `http://127.0.0.1:${first.port}/healthz/ready`
    await vi.waitFor(async () => expect((await fetch(ready)).status).toBe(503))
    ports.shift()
    expect((await client.tools()).map(({ name }) => name)).toEqual(['booking__book'])
    expect(await client.call('booking__book')).toMatchObject({ content: [{}] })
  })
})

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0

/** Starts an HAProxy with the backend of the documentation. Returns the URL of its endpoint. */
async function balance(ports: readonly [number, number]): Promise<string> {
  const page = fileURLToPath(new URL('../../../../docs/host/gateway.md', import.meta.url))
  const backend = /^backend gateways\n(?: .*\n)+/m.exec(readFileSync(page, 'utf8'))?.[0] ?? ''
  const servers = backend
    .replace('10.0.0.1:8080', `127.0.0.1:${ports[0]}`)
    .replace('10.0.0.2:8080', `127.0.0.1:${ports[1]}`)
  expect(servers.match(/127\.0\.0\.1/g)).toHaveLength(2)
  const port = await freePort()
  const timeouts = ['connect 5s', 'client 60s', 'server 60s'].map((timeout) => `  timeout ${timeout}`)
  const entry = ['frontend entry', `  bind 127.0.0.1:${port}`, '  default_backend gateways']
  const file = join(tempFolder(), 'haproxy.cfg')
  writeFileSync(file, ['defaults', '  mode http', ...timeouts, ...entry, servers].join('\n'))
  const child = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'inherit' })
  onTestFinished(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  const origin = `http://127.0.0.1:${port}`
  await vi.waitFor(async () => expect((await fetch(`${origin}/healthz/ready`)).status).toBe(200), 20_000)
  return `${origin}/mcp`
}

describe.skipIf(!hasHaproxy || !isInstalled)('a gateway on two nodes over PostgreSQL, behind HAProxy', () => {
  it('serves an official client on the node of its user, and on the other one after that drained', async () => {
    const postgres = await PostgresServer.start()
    onTestFinished(() => postgres.stop())
    const both = await nodes(postgres.url())
    const url = await balance([both[0].port, both[1].port])
    const client = new Client(
      { name: 'official', version: '1' },
      { capabilities: { elicitation: { form: {} } } },
    )
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { seat: '7a' } }))
    const requestInit = { headers: { authorization: `Bearer ${ann}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    onTestFinished(() => client.close())
    const book = () => client.callTool({ name: 'booking__book' })
    const booked = { content: [{ text: '{"action":"accept","content":{"seat":"7a"}}' }] }
    for (let call = 0; call < 4; call++) expect(await book()).toMatchObject(booked)
    // A node opens the servers of a user at their first request.
    const [user, ...others] = both.filter(({ running }) => running.output().includes('1 tool of 1 server'))
    expect(others).toEqual([])
    const ended = once(user?.running.child ?? process, 'exit')
    user?.running.child.kill('SIGTERM')
    let isOver = false
    ended.then(() => {
      isOver = true
    })
    while (!isOver) {
      expect(await book()).toMatchObject(booked)
      await setTimeout(100)
    }
    for (let call = 0; call < 4; call++) expect(await book()).toMatchObject(booked)
  })
})

it('needs keys and users that all nodes of a gateway have', async () => {
  const over = ['gateway', '--http', '127.0.0.1:0', '--config', jsonFile({ mcpServers: {} })]
  const ended = await run([...over, '--backplane', 'redis://127.0.0.1:1'])
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('needs --users and --keys') })
  const short = await run([...over, '--keys', keyFile('short')])
  expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining('32 bytes or more') })
  const shared = ['--users', jsonFile({ ann }), '--keys', keyFile('k'.repeat(32))]
  const other = await run([...over, ...shared, '--backplane', 'mysql://127.0.0.1'])
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('redis://') })
})
