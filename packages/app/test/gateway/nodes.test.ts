import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
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

/** Starts a gateway as two processes that share a Redis, each with a store of its own. */
async function nodes(): Promise<[GatewayNode, GatewayNode]> {
  const { url } = await RedisServer.start()
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
      env: { JACKFIELD_BACKPLANE: url },
    })
    onTestFinished(() => void running.child.kill('SIGKILL'))
    await running.says('Users: ann')
    return { port: Number(/:(\d+)\/mcp/.exec(running.said())?.[1]), running }
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
    const [first, second] = await nodes()
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
