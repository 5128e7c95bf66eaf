import { defineServer, type JsonObject, MetaKey, type ProtocolVersion, tool } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, type Fetch, http } from '@jackfield/sdk/client'
import { tasksClient } from '@jackfield/sdk/client/tasks'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isObject } from '../../../../../test/setup/json.ts'
import { able, gate, textIn } from './support.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function served() {
  const go = gate()
  const server = defineServer({
    name: 'far',
    version: '1',
    tools: {
      patient: tool({
        task: 'required',
        async run(_args, ctx) {
          await go.opened
          return ctx.signal.aborted ? 'stopped' : 'done'
        },
      }),
      ask: tool({
        task: 'required',
        run: async (_args, ctx) =>
          (await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })).action,
      }),
    },
    extensions: [tasks({ pollIntervalMs: 50 })],
  })
  const handler = serveHttp(server, { keys: ['k'.repeat(32)] })
  const { url, close } = await handler.listen({ port: 0 })
  closing.push(close)
  return { url, go }
}

/** One request a client sent, with what came back. */
interface Trip {
  readonly method: string
  readonly taskId: unknown
  readonly name: string | null
  readonly type: string | null
}

interface Reached {
  readonly client: Client
  readonly trips: Trip[]
}

/** Connects with a fetch that fails as often as `fails` gives, by method. */
async function reach(
  url: string,
  revision: ProtocolVersion,
  options: ConnectOptions = {},
  fails: Record<string, (() => Response)[]> = {},
): Promise<Reached> {
  const trips: Trip[] = []
  const send: Fetch = async (to, init) => {
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : {}
    const { method, params } = isObject(body) ? body : {}
    const failing = fails[String(method)]?.shift()
    if (failing !== undefined) return failing()
    const response = await fetch(to, init)
    trips.push({
      method: String(method),
      taskId: isObject(params) ? params['taskId'] : undefined,
      name: new Headers(init.headers).get('mcp-name'),
      type: response.headers.get('content-type'),
    })
    return response
  }
  const client = await connect(http(url, { fetch: send }), {
    revisions: [revision],
    extensions: [extension],
    ...options,
  })
  closing.push(() => client.close())
  return { client, trips }
}

const extension = tasksClient()
const broken = (): Response => {
  throw new TypeError('fetch failed')
}
const busy = (): Response => new Response('', { status: 503 })

describe('tasks over HTTP', () => {
  it('are in the Mcp-Name header of every request about them', async () => {
    const { url, go } = await served()
    const { client, trips } = await reach(url, '2026-07-28')
    const started = await extension.start(client, 'patient')
    if (!('task' in started)) throw new Error('no task')
    const { task } = started
    await task.state()
    await task.update({})
    await task.cancel()
    go.open()
    const about = trips.filter(({ method }) => method.startsWith('tasks/'))
    expect(about.map(({ method, name }) => [method, name])).toEqual([
      ['tasks/get', task.id],
      ['tasks/update', task.id],
      ['tasks/cancel', task.id],
    ])
  })

  it.each([
    ['another task', 'Mcp-Name', 'another'],
    ['another method', 'Mcp-Method', 'tasks/cancel'],
    ['no task', 'Mcp-Name', undefined],
  ])('are rejected with a header that names %s', async (_what, header, value) => {
    const { url } = await served()
    const headers = new Headers({
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tasks/get',
      'Mcp-Name': 'mine',
    })
    if (value === undefined) headers.delete(header)
    else headers.set(header, value)
    const params: JsonObject = {
      taskId: 'mine',
      _meta: { [MetaKey.protocolVersion]: '2026-07-28', [MetaKey.clientCapabilities]: able },
    }
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params }),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32020 } })
  })

  it.each(['2025-11-25', '2026-07-28'] as const)('are polled without a stream, on %s', async (revision) => {
    const { url, go } = await served()
    const { client, trips } = await reach(url, revision)
    const call = client.call('patient')
    await expect.poll(() => trips.some(({ method }) => method === 'tasks/get'), { timeout: 5000 }).toBe(true)
    go.open()
    expect(textIn(await call)).toBe('done')
    const looks = trips.filter(({ method }) => method === 'tasks/get')
    expect(new Set(looks.map(({ type }) => type))).toEqual(new Set(['application/json']))
  })

  it('outlive their connection', async () => {
    const { url, go } = await served()
    const first = await reach(url, '2026-07-28')
    const started = await extension.start(first.client, 'patient')
    if (!('task' in started)) throw new Error('no task')
    await first.client.close()
    go.open()
    const second = await reach(url, '2026-07-28')
    expect(textIn(await extension.resume(second.client, started.task.id).result())).toBe('done')
  })

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'are polled again when a poll fails, on %s',
    async (revision) => {
      const { url, go } = await served()
      const { client } = await reach(url, revision, {}, { 'tasks/get': [busy, broken, busy] })
      go.open()
      expect(textIn(await client.call('patient'))).toBe('done')
    },
  )

  it('are answered again, but not asked again, when a response is lost', async () => {
    const { url } = await served()
    let asked = 0
    const options: ConnectOptions = {
      onElicit: () => {
        asked++
        return { action: 'decline' }
      },
    }
    const { client } = await reach(url, '2026-07-28', options, { 'tasks/update': [broken, busy] })
    expect(textIn(await client.call('ask'))).toBe('decline')
    expect(asked).toBe(1)
  })

  it('ask on the stream that waits for their result, on 2025-11-25', async () => {
    const { url } = await served()
    const { client } = await reach(url, '2025-11-25', { onElicit: () => ({ action: 'decline' }) })
    expect(textIn(await client.call('ask'))).toBe('decline')
  })
})
