import { defineServer, type JsonObject, MetaKey, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { initialize, initialized, meta } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const callsEach = { change: 30, long: 500 }
const revision = '2025-11-25'

/** What a client sends with every request besides its message. */
type Headers = Readonly<Record<string, string>>

campaign(
  {
    id: 'equal-ids',
    chapter: 'Sessions and streams',
    claim: 'Concurrent clients that use the same request ids each get their own responses',
    trial: 'call among many with its id',
    trials: { change: 40 * callsEach.change, long: 200 * callsEach.long },
  },
  async (campaignRun) => {
    const each = campaignRun.long ? callsEach.long : callsEach.change
    const url = await served(campaignRun.seed)
    const clients = Array.from({ length: campaignRun.trials / each }, (_, at) => client(url, at, each))
    const answered = await Promise.all(clients)
    expect(answered.reduce((sum, one) => sum + one, 0)).toBe(campaignRun.trials)
  },
)

/** A server that answers late with the caller and the text. */
async function served(seed: number): Promise<string> {
  const random = new Random(seed)
  const server = defineServer({
    name: 'echo',
    version: '1.0.0',
    tools: {
      echo: tool({
        input: z.object({ text: z.string() }),
        async run({ text }, ctx) {
          const reply = `${ctx.peer.principal} said ${text}`
          if (random.fraction() < 0.3) ctx.progress(1, 2, reply)
          const turns = random.between(0, 5)
          for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
          return reply
        },
      }),
    },
  })
  const handler = serveHttp(server, {
    keys: ['k'.repeat(32)],
    authenticate: async (request) => ({ principal: request.header('authorization') ?? '' }),
  })
  const { url, close } = await handler.listen()
  onTestFinished(close)
  return url
}

/** Makes calls with the ids 1, 2, 3 … in a session, without one, or both by turns; gives how many were answered. */
async function client(url: string, at: number, calls: number): Promise<number> {
  const name = `client-${at}`
  const headers: Headers = { authorization: name }
  const kind = ['session', 'stateless', 'both'][at % 3]
  const own = kind === 'stateless' ? {} : await begun(url, headers)
  const ways: ((id: number) => Promise<unknown>)[] = []
  if (kind !== 'stateless') ways.push((id) => inSession(url, { ...headers, ...own }, id))
  if (kind !== 'session') ways.push((id) => stateless(url, headers, id))
  let answered = 0
  for (let first = 1; first <= calls; first += 5) {
    const ids = Array.from({ length: Math.min(5, calls - first + 1) }, (_, i) => first + i)
    await Promise.all(
      ids.map(async (id) => {
        const all = await Promise.all(ways.map((way) => way(id)))
        for (const text of all) expectOwn(text, name, id)
        answered++
      }),
    )
  }
  return answered
}

/** Holds everything that came back for a call to who made it. */
function expectOwn(body: unknown, name: string, id: number): void {
  const text = String(body)
  const messages = text.startsWith('{')
    ? [JSON.parse(text)]
    : [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
  const expected = `${name} said ${id}`
  expect(messages.at(-1)).toMatchObject({ id, result: { content: [{ text: expected }] } })
  for (const message of messages.slice(0, -1)) {
    expect(message).toMatchObject({ params: { progressToken: id, message: expected } })
  }
}

async function begun(url: string, headers: Headers): Promise<Headers> {
  const first = await post(url, headers, initialize(revision))
  await first.text()
  const own = {
    'mcp-session-id': first.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': revision,
  }
  await (await post(url, { ...headers, ...own }, initialized)).text()
  return own
}

function call(id: number, _meta: JsonObject): JsonObject {
  const params = { name: 'echo', arguments: { text: String(id) }, _meta: { ..._meta, progressToken: id } }
  return { jsonrpc: '2.0', id, method: 'tools/call', params }
}

async function inSession(url: string, headers: Headers, id: number): Promise<string> {
  return (await post(url, headers, call(id, {}))).text()
}

async function stateless(url: string, headers: Headers, id: number): Promise<string> {
  const more = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  const _meta = Object(meta({ [MetaKey.clientCapabilities]: {} }))
  return (await post(url, { ...headers, ...more }, call(id, _meta))).text()
}

function post(url: string, headers: Headers, body: JsonObject): Promise<Response> {
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  }
  return fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) })
}
