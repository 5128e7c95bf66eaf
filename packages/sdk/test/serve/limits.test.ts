import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  defineServer,
  type JsonObject,
  MetaKey,
  prompt,
  resource,
  type Server,
  template,
  tool,
} from '@jackfield/sdk'
import { skillsExtension } from '@jackfield/sdk/client/skills'
import { compose } from '@jackfield/sdk/compose'
import { skills } from '@jackfield/sdk/extensions/skills'
import { tasks, tasksExtension } from '@jackfield/sdk/extensions/tasks'
import { serveStdio } from '@jackfield/sdk/stdio'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Bounds } from '../../src/transports/server/options.ts'
import { modern, nodeAdapter, session } from './http-support.ts'
import { initialize, initialized, meta, until } from './support.ts'

type Era = 'session' | 'stateless'

/** One client of a server: sends requests and answers every question with `yes`. */
interface Peer {
  request(method: string, params?: JsonObject): Promise<JsonObject>
  /** Opens a subscription to resources, and gives the error that refused it; undefined where it was accepted. */
  subscribe(uris: readonly string[]): Promise<JsonObject | undefined>
}

type Open = (server: Server, limits: Partial<Bounds>, era: Era) => Promise<Peer>

const endings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

const keys = ['k'.repeat(32)]
const capabilities = { elicitation: {}, sampling: { tools: {} } }
const yes = { action: 'accept', content: { ok: true } }
const sampled = { role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'm' }

const able = meta({ [MetaKey.clientCapabilities]: capabilities })

/** The answer to a question of the server. */
function answerTo(question: unknown): JsonObject {
  const { method } = question as { method: string }
  return method === 'sampling/createMessage' ? sampled : yes
}
const subscription = (uris: readonly string[]): JsonObject => ({
  notifications: { resourceSubscriptions: uris },
})

/** Subscribes as the era does: one request for all of them, or one for each. */
async function subscribed(
  era: Era,
  uris: readonly string[],
  request: Peer['request'],
  listen: (params: JsonObject) => Promise<JsonObject | undefined>,
): Promise<JsonObject | undefined> {
  if (era === 'stateless') return listen(subscription(uris))
  for (const uri of uris) {
    const { error } = await request('resources/subscribe', { uri })
    if (error !== undefined) return error as JsonObject
  }
  return undefined
}

/** Sends a request of 2026-07-28 until it is complete. */
async function complete(
  send: (params: JsonObject) => Promise<JsonObject>,
  params: JsonObject,
): Promise<JsonObject> {
  let more: JsonObject = {}
  for (;;) {
    const response = await send({ ...params, ...more })
    const result = response['result'] as JsonObject | undefined
    if (result?.['resultType'] !== 'input_required') return response
    const asked = Object.entries((result['inputRequests'] ?? {}) as JsonObject)
    more = {
      requestState: result['requestState'],
      inputResponses: Object.fromEntries(asked.map(([key, question]) => [key, answerTo(question)])),
    }
  }
}

const overHttp: Open = async (server, limits, era) => {
  const mounted = await nodeAdapter(server, { limits })
  endings.push(() => mounted.close())
  if (era === 'stateless') {
    const send = (method: string, params: JsonObject) =>
      mounted.send(modern(method, { _meta: able, ...params }))
    const request: Peer['request'] = (method, params = {}) =>
      complete(async (all) => (await send(method, all)).json(), params)
    const listen = async (params: JsonObject): Promise<JsonObject | undefined> => {
      const answer = await send('subscriptions/listen', params)
      if (answer.status !== 200 || answer.header('content-type') === 'application/json')
        return (await answer.json())['error'] as JsonObject
      await until(() => answer.messages().length > 0)
      return undefined
    }
    return { request, subscribe: (uris) => subscribed(era, uris, request, listen) }
  }
  const { post } = await session(mounted, '2025-11-25', {}, capabilities)
  let last = 0
  const request: Peer['request'] = async (method, params = {}) => {
    const id = ++last
    const answer = await post({ jsonrpc: '2.0', id, method, params })
    if (answer.header('content-type') === 'application/json') return answer.json()
    const answered = new Set<unknown>()
    const find = (): JsonObject | undefined =>
      answer.messages().find((message) => message['id'] === id && !('method' in message))
    while (find() === undefined) {
      await until(
        () =>
          find() !== undefined ||
          answer.messages().some((one) => 'method' in one && !answered.has(one['id'])),
      )
      for (const asked of answer.messages()) {
        if (!('method' in asked) || asked['id'] === undefined || answered.has(asked['id'])) continue
        answered.add(asked['id'])
        await post({ jsonrpc: '2.0', id: asked['id'], result: answerTo(asked) })
      }
    }
    return find() ?? {}
  }
  return { request, subscribe: (uris) => subscribed(era, uris, request, async () => undefined) }
}

const overLines: Open = async (server, limits, era) => {
  const input = new PassThrough()
  const output = new PassThrough()
  const received: JsonObject[] = []
  let rest = ''
  const send = (message: JsonObject): boolean => input.write(`${JSON.stringify(message)}\n`)
  output.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line)
      received.push(message)
      if ('method' in message && 'id' in message) {
        send({ jsonrpc: '2.0', id: message.id, result: answerTo(message) })
      }
    }
  })
  const connection = serveStdio(server, { input, output, keys, limits })
  endings.push(() => connection.close())
  let last = 0
  const one = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const id = `r${++last}`
    send({ jsonrpc: '2.0', id, method, params: era === 'stateless' ? { _meta: able, ...params } : params })
    const find = (): JsonObject | undefined =>
      received.find((message) => message['id'] === id || isAcknowledged(message, id))
    await until(() => find() !== undefined)
    return find() ?? {}
  }
  if (era === 'session') {
    send(initialize('2025-11-25', 'init', capabilities))
    send(initialized)
  }
  const request: Peer['request'] = (method, params = {}) => complete((all) => one(method, all), params)
  const listen = async (params: JsonObject): Promise<JsonObject | undefined> =>
    (await one('subscriptions/listen', params))['error'] as JsonObject | undefined
  return { request, subscribe: (uris) => subscribed(era, uris, request, listen) }
}

function isAcknowledged({ method, params }: JsonObject, id: string): boolean {
  return (
    method === 'notifications/subscriptions/acknowledged' &&
    JSON.stringify(params).includes(JSON.stringify(id))
  )
}

const places: [string, Open, Era][] = [
  ['HTTP, with a session', overHttp, 'session'],
  ['HTTP, on 2026-07-28', overHttp, 'stateless'],
  ['lines, with a session', overLines, 'session'],
  ['lines, on 2026-07-28', overLines, 'stateless'],
]

const sure = z.object({ ok: z.boolean() })
const shop = () =>
  defineServer({
    name: 'shop',
    version: '1.0.0',
    pageSize: 1,
    onError: () => {},
    tools: {
      survey: tool({
        input: z.object({ questions: z.number() }),
        async run({ questions }, ctx) {
          for (let i = 1; i <= questions; i++) await ctx.elicit({ message: `Sure ${i}?`, schema: sure })
          return 'asked'
        },
      }),
      remember: tool({
        input: z.object({ chars: z.number() }),
        async run({ chars }, ctx) {
          await ctx.step('text', () => 'x'.repeat(chars))
          await ctx.elicit({ message: 'Sure?', schema: sure })
          return 'remembered'
        },
      }),
      sample: tool({
        input: z.object({ rounds: z.number() }),
        async run({ rounds }, ctx) {
          const { content } = await ctx.sample({
            maxTokens: 10,
            tools: [{ name: 'look', inputSchema: { type: 'object' } }],
            messages: [
              { role: 'user', content: { type: 'text', text: 'Look' } },
              ...Array.from({ length: rounds }, (_, at) => [
                {
                  role: 'assistant' as const,
                  content: [{ type: 'tool_use' as const, id: `${at}`, name: 'look', input: {} }],
                },
                {
                  role: 'user' as const,
                  content: [{ type: 'tool_result' as const, toolUseId: `${at}`, content: [] }],
                },
              ]).flat(),
            ],
          })
          return JSON.stringify(content)
        },
      }),
    },
    resources: {
      ...Object.fromEntries(
        ['a', 'b', 'c'].map((name) => [name, resource({ uri: `shop://${name}`, read: () => name })]),
      ),
      any: template({ uriTemplate: 'shop://any/{id}', read: ({ id }) => id }),
    },
    prompts: { one: prompt({ run: () => 'one' }), two: prompt({ run: () => 'two' }) },
  })

const messageOf = ({ error, result }: JsonObject): string => JSON.stringify(error ?? result)

describe.each(places)('limits of a server apply over %s', (_, open, era) => {
  it('subscribedUris', async () => {
    const peer = await open(shop(), { subscribedUris: 2 }, era)
    expect(await peer.subscribe(['shop://a', 'shop://b'])).toBeUndefined()
    const other = await open(shop(), { subscribedUris: 2 }, era)
    expect(await other.subscribe(['shop://a', 'shop://b', 'shop://c'])).toMatchObject({
      code: -32602,
      message: expect.stringContaining('at most 2'),
    })
  })

  it('uriChars, lower and higher than the default', async () => {
    const long = `shop://any/${'x'.repeat(90)}`
    const low = await open(shop(), { uriChars: 100 }, era)
    expect(messageOf(await low.request('resources/read', { uri: 'shop://a' }))).toContain('contents')
    expect(await low.request('resources/read', { uri: long })).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('100 characters') },
    })
    expect(await low.subscribe([long])).toMatchObject({ code: -32602 })
    const high = await open(shop(), { uriChars: 20_000 }, era)
    const longer = `shop://any/${'x'.repeat(10_000)}`
    expect(messageOf(await high.request('resources/read', { uri: longer }))).toContain('contents')
    expect(await high.subscribe([longer])).toBeUndefined()
  })

  it('cursorChars', async () => {
    const usual = await open(shop(), {}, era)
    const { result } = await usual.request('prompts/list')
    const { nextCursor: cursor } = result as { nextCursor: string }
    expect(messageOf(await usual.request('prompts/list', { cursor }))).toContain('two')
    const low = await open(shop(), { cursorChars: cursor.length - 1 }, era)
    expect(await low.request('prompts/list', { cursor })).toMatchObject({ error: { code: -32602 } })
  })

  it('questions', async () => {
    const peer = await open(shop(), { questions: 2 }, era)
    const survey = (questions: number) =>
      peer.request('tools/call', { name: 'survey', arguments: { questions } })
    expect(messageOf(await survey(2))).toContain('"asked"')
    expect(messageOf(await survey(3))).not.toContain('"asked"')
  })

  it('samplingToolRounds', async () => {
    const peer = await open(shop(), { samplingToolRounds: 2 }, era)
    const sample = (rounds: number) => peer.request('tools/call', { name: 'sample', arguments: { rounds } })
    expect(messageOf(await sample(2))).toContain('sampled')
    expect(messageOf(await sample(3))).not.toContain('sampled')
  })
})

describe.each([
  ['HTTP', overHttp],
  ['lines', overLines],
])('limits of a server apply over %s', (_, open) => {
  it('stateChars: a larger state is stored on the server, and the client gets a handle', async () => {
    const states: string[] = []
    const server = shop()
    const watched: Server = {
      ...server,
      async handle(exchange) {
        const outcome = await server.handle(exchange)
        if (outcome.type === 'input_required') states.push(outcome.state ?? '')
        return outcome
      },
    }
    const peer = await open(watched, { stateChars: 1000 }, 'stateless')
    const done = await peer.request('tools/call', { name: 'remember', arguments: { chars: 2000 } })
    expect(messageOf(done)).toContain('remembered')
    expect(states.map(({ length }) => length < 1000)).toEqual([true])
  })

  it.each(['session', 'stateless'] as const)('the parts of a composition have them too, %s', async (era) => {
    const composed = compose({ name: 'all', version: '1.0.0', pageSize: 1, servers: { shop: shop() } })
    const peer = await open(composed, { uriChars: 100, cursorChars: 3 }, era)
    expect(await peer.request('resources/read', { uri: `shop://any/${'x'.repeat(90)}` })).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('100 characters') },
    })
    const { result } = await peer.request('prompts/list')
    expect(result).not.toHaveProperty('nextCursor')
    expect(await peer.request('prompts/list', { cursor: 'shop:' })).toMatchObject({ error: { code: -32602 } })
  })

  it('skills have them too', async () => {
    const server = defineServer({ name: 's', version: '1.0.0', extensions: [skills([])] })
    const peer = await open(server, { uriChars: 10 }, 'stateless')
    expect(
      await peer.request('skills/get', {
        uri: 'skill://pdf/SKILL.md',
        _meta: meta({ [MetaKey.clientCapabilities]: { extensions: { [skillsExtension]: {} } } }),
      }),
    ).toMatchObject({ error: { code: -32602, message: expect.stringContaining('10 characters') } })
  })

  it('subscriptions to tasks have them too', async () => {
    const server = defineServer({ name: 't', version: '1.0.0', extensions: [tasks()] })
    const peer = await open(server, { subscribedUris: 1 }, 'stateless')
    expect(
      await peer.request('subscriptions/listen', {
        notifications: { taskIds: ['a', 'b'] },
        _meta: meta({ [MetaKey.clientCapabilities]: { extensions: { [tasksExtension]: {} } } }),
      }),
    ).toMatchObject({ error: { code: -32602, message: expect.stringContaining('at most 1 tasks') } })
  })

  it('a scope is required for a URI of any length that the limits allow', async () => {
    const guarded = defineServer({
      name: 'guarded',
      version: '1.0.0',
      resources: {
        secret: template({ uriTemplate: 'secret://{id}', scopes: ['secrets'], read: ({ id }) => id }),
      },
    })
    const seen: string[] = []
    const watched: Server = {
      ...guarded,
      scopesFor: (...asked) => {
        const scopes = guarded.scopesFor(...asked)
        if (asked[0] === 'resources/subscribe') seen.push(scopes.join())
        return scopes
      },
    }
    const peer = await open(watched, { uriChars: 20_000 }, 'session')
    const refused = await peer.subscribe([`secret://${'x'.repeat(10_000)}`])
    // Over lines the caller owns both ends, and is allowed everything.
    expect(refused?.['code']).toBe(open === overHttp ? -32600 : undefined)
    expect(new Set(seen)).toEqual(new Set(['secrets']))
  })
})

it('a listed URI longer than uriChars requires its scope to be seen', async () => {
  const uri = `secret://${'x'.repeat(200)}`
  const guarded = defineServer({
    name: 'guarded',
    version: '1.0.0',
    resources: {
      open: template({ uriTemplate: 'open://{id}', list: () => [{ uri, name: 'x' }], read: ({ id }) => id }),
      secret: template({ uriTemplate: 'secret://{id}', scopes: ['secrets'], read: ({ id }) => id }),
    },
  })
  const peer = await overHttp(guarded, { uriChars: 100 }, 'stateless')
  expect(await peer.request('resources/list')).toMatchObject({ result: { resources: [] } })
})

describe('the default limits', () => {
  /** Files that build defaults: of a mount, a background request, or an option. */
  const builders = [
    'extensions/skills/client/skills-client.ts',
    'extensions/tasks/engine.ts',
    'extensions/tasks/options.ts',
    'proxy/members.ts',
    'request/backplane.ts',
    'request/state.ts',
    'transports/server/options.ts',
  ]

  it('are read only when defaults are computed', async () => {
    const src = fileURLToPath(new URL('../../src/', import.meta.url))
    const files = await readdir(src, { recursive: true })
    const readers: string[] = []
    for (const file of files.filter((name) =>
      /^(request|server|transports\Wserver|proxy|extensions)\W.*\.ts$/.test(name),
    )) {
      const text = await readFile(join(src, file), 'utf8')
      if (/^import \{[^}]*\blimits\b[^}]*\} from '[^']*limits\.ts'/m.test(text))
        readers.push(file.replaceAll('\\', '/'))
    }
    expect(readers.sort()).toEqual(builders)
  })
})
