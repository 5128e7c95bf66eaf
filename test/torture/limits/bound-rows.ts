import { defineServer, limits, resource, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { clientCredentials } from '@jackfield/sdk/client/auth'
import type { ServeHttpOptions } from '@jackfield/sdk/http'
import { compileSchema } from '@jackfield/sdk/schema'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Answer, modern, nodeAdapter, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { hang, testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import { rememberedRows } from './remembered-rows.ts'
import type { Attempt, Row } from './row.ts'

export const asPrincipal = (principal: string): ServeHttpOptions => ({
  authenticate: async () => ({ principal }),
})

export async function mounted(options: ServeHttpOptions) {
  const server = testServer({ hang, echo: ({ text }) => text ?? 'echo' })
  const one = await nodeAdapter(server, options)
  onTestFinished(() => one.close())
  return { ...one, running: () => server.ran.length }
}

/** What a request was refused with; undefined once it is being served. */
async function refusedOf(
  one: Awaited<ReturnType<typeof mounted>>,
  send: () => Promise<Answer>,
): Promise<string | undefined> {
  const before = one.running()
  let answer: Answer | undefined
  const sent = send().then((got) => {
    answer = got
  })
  await Promise.race([sent, until(() => one.running() > before)])
  return answer === undefined || answer.status === 200 ? undefined : `${answer.status} ${await answer.text()}`
}

/** Makes one request after another over HTTP, and returns the response to the last. */
function opened(
  options: ServeHttpOptions,
  open: (one: Awaited<ReturnType<typeof mounted>>, index: number) => Promise<string | undefined>,
): Attempt {
  return async (size) => {
    const one = await mounted(options)
    let message: string | undefined
    for (let index = 0; index < size; index++) message = await open(one, index)
    await one.handler.close()
    return message
  }
}

const call = (one: Awaited<ReturnType<typeof mounted>>) =>
  refusedOf(one, () => one.send(modern('tools/call', { name: 'hang' })))

const listening = (one: Awaited<ReturnType<typeof mounted>>) =>
  refusedOf(one, () => one.send(modern('subscriptions/listen', { notifications: {} })))

async function begun(one: Awaited<ReturnType<typeof mounted>>): Promise<string | undefined> {
  const opened = await session(one)
  if (opened.first.status !== 200) return `${opened.first.status} ${await opened.first.text()}`
  const stream = await opened.get()
  return stream.status === 200 ? undefined : `${stream.status}`
}

/** Posts one body as it is. */
function posted(options: ServeHttpOptions, body: (size: number) => string): Attempt {
  return async (size) => {
    const one = await mounted(options)
    const text = body(size)
    const asked = modern('tools/call', { name: 'echo' })
    const answer = await one.send({ ...asked, body: text })
    const content = await answer.text()
    await one.close()
    return answer.status === 200 ? undefined : `${answer.status} ${content}`
  }
}

function bodyOf(id: string | number, more: unknown): string {
  const { body } = modern('tools/call', { name: 'echo', arguments: { more } }, {}, id)
  return JSON.stringify(body)
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

/** A message of so many bytes. */
function padded(size: number): string {
  return bodyOf(1, '').replace('"more":""', `"more":"${'x'.repeat(size - bodyOf(1, '').length)}"`)
}

const notes = defineServer({
  name: 'notes',
  version: '1.0.0',
  resources: { note: resource({ uri: 'note://one', read: () => 'one' }) },
  tools: {
    asks: tool({
      input: z.object({ times: z.number() }),
      run: async ({ times }, ctx) => {
        for (let time = 0; time < times; time++) await ctx.roots({ key: `${time}` })
        return 'asked'
      },
    }),
  },
})

/** What an action of a client failed with. */
async function failure(action: () => Promise<unknown>): Promise<string | undefined> {
  try {
    const result = await action()
    return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true
      ? JSON.stringify(result)
      : undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A client of a server whose answers are written here. */
async function answeredBy(
  answer: (method: string, cursor: unknown, id: unknown) => Response | object,
  maxMessageBytes?: number,
  options: ConnectOptions = {},
) {
  const send = async (_url: URL, init: RequestInit): Promise<Response> => {
    const { method, id, params } = JSON.parse(String(init.body))
    const made =
      method === 'server/discover'
        ? {
            supportedVersions: ['2026-07-28'],
            capabilities: { tools: {}, resources: {} },
            ttlMs: 0,
            cacheScope: 'private',
          }
        : answer(method, params?.cursor, id)
    if (made instanceof Response) return made
    return Response.json({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...made } })
  }
  const sending = maxMessageBytes === undefined ? { fetch: send } : { fetch: send, maxMessageBytes }
  const client = await connect(http('http://127.0.0.1:1/mcp', sending), options)
  onTestFinished(() => client.close())
  return client
}

const page = (nextCursor: string | undefined): object => ({
  tools: [],
  ttlMs: 0,
  cacheScope: 'private',
  ...(nextCursor === undefined ? {} : { nextCursor }),
})

/** An answer of so many bytes. */
function answerOf(id: unknown, size: number): string {
  const make = (text: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', content: [{ type: 'text', text }] },
    })
  return make('x'.repeat(size - make('').length))
}

export const rows: Readonly<Record<string, Row>> = {
  ...rememberedRows,
  'bytes of a request': {
    limit: 4096,
    attempt: posted({ limits: { messageBytes: 4096 } }, padded),
    refusal: /^413 .*at most 4096 bytes/,
  },
  'bytes of an answer': {
    limit: 4096,
    attempt: async (size) => {
      const json = { headers: { 'content-type': 'application/json' } }
      const client = await answeredBy((_method, _cursor, id) => new Response(answerOf(id, size), json), 4096)
      return failure(() => client.call('x'))
    },
    refusal: /exceeds 4096 bytes/,
  },
  'bytes of an event': {
    limit: 4096,
    attempt: async (size) => {
      const events = { headers: { 'content-type': 'text/event-stream' } }
      const client = await answeredBy(
        (_method, _cursor, id) => new Response(`data: ${answerOf(id, size)}\n\n`, events),
        4096,
      )
      return failure(() => client.call('x'))
    },
    refusal: /exceeds 4096 bytes/,
  },
  'nesting of a message': {
    limit: limits.jsonDepth,
    // The message, its params and its arguments are three levels.
    attempt: posted({}, (size) => bodyOf(1, nested(size - 3))),
    refusal: /nests deeper than 64 levels/,
  },
  'characters of an id': {
    limit: 256,
    attempt: posted({}, (size) => bodyOf('i'.repeat(size), 1)),
    refusal: /must be a string of at most 256 characters/,
  },
  'messages of a batch': {
    limit: 20,
    attempt: async (size) => {
      const one = await mounted({ limits: { batch: 20 } })
      const { post } = await session(one, '2025-03-26')
      const answer = await post(
        Array.from({ length: size }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
      )
      return answer.status === 200 ? undefined : `${answer.status} ${await answer.text()}`
    },
    refusal: /^400 .*20/,
  },
  'characters of a URI': {
    limit: limits.uriChars,
    attempt: async (size) => {
      const client = await connect(notes)
      const message = await failure(() => client.read(`note://one?${'x'.repeat(size - 11)}`))
      await client.close()
      return message?.includes('at most') === true ? message : undefined
    },
    refusal: /"uri" must have at most 8192 characters/,
  },
  'characters of a cursor': {
    limit: limits.cursorChars,
    attempt: async (size) => {
      const client = await answeredBy((_, cursor) =>
        page(cursor === undefined ? 'c'.repeat(size) : undefined),
      )
      return failure(() => client.tools())
    },
    refusal: /longer than 4096 characters/,
  },
  'pages of a list': {
    limit: limits.pages,
    attempt: async (size) => {
      const client = await answeredBy((_, cursor) => {
        const number = Number(cursor ?? 1)
        return page(number < size ? `${number + 1}` : undefined)
      })
      return failure(() => client.tools())
    },
    refusal: /exceeded 1000 pages/,
  },
  'bytes of a list': {
    limit: 100_000,
    attempt: async (size) => {
      const filled = (fill: string): object => ({ ...page(undefined), _meta: { fill } })
      const first = page('2')
      const rest = size - [first, filled('')].reduce((sum, one) => sum + JSON.stringify(one).length, 0)
      const client = await answeredBy(
        (_, cursor) => (cursor === undefined ? first : filled('x'.repeat(rest))),
        undefined,
        { maxListBytes: 100_000 },
      )
      return failure(() => client.tools())
    },
    refusal: /exceeded 100000 bytes at page 2 \(100001 bytes\)/,
  },
  'questions of one call': {
    limit: limits.questions,
    attempt: async (size) => {
      const client = await connect(notes, { onRoots: [], revisions: ['2025-11-25'] })
      const message = await failure(() => client.call('asks', { times: size }))
      await client.close()
      return message
    },
    // The reason is for the author of the handler, so it is in the server's log.
    refusal: /failed unexpectedly/,
  },
  'calls of one session': {
    limit: 5,
    attempt: async (size) => {
      const one = await mounted({ limits: { inFlight: 5 } })
      const { call } = await session(one)
      let message: string | undefined
      for (let id = 0; id < size; id++) message = await refusedOf(one, () => call(id, 'hang'))
      await one.handler.close()
      return message
    },
    refusal: /^400 .*wait for some of the 5/,
  },
  'calls of one principal': {
    limit: 5,
    attempt: opened({ ...asPrincipal('ada'), limits: { inFlightPerPrincipal: 5 } }, call),
    refusal: /^429 .*wait for some of your 5/,
  },
  'calls on one node': {
    limit: 5,
    attempt: opened({ limits: { inFlightPerNode: 5 } }, call),
    refusal: /^503 .*try again later/,
  },
  'subscriptions of one principal': {
    limit: 5,
    attempt: opened({ ...asPrincipal('ada'), limits: { listenStreamsPerPrincipal: 5 } }, listening),
    refusal: /^429 .*end some of your 5/,
  },
  'subscriptions on one node': {
    limit: 5,
    attempt: opened({ limits: { listenStreams: 5 } }, listening),
    refusal: /^503 .*Too many subscriptions/,
  },
  'sessions of one principal': {
    limit: 5,
    attempt: opened({ ...asPrincipal('ada'), limits: { sessionsPerPrincipal: 5 } }, begun),
    refusal: /^503 .*Too many sessions/,
  },
  'sessions on one node': {
    limit: 5,
    attempt: opened({ limits: { sessions: 5 } }, begun),
    refusal: /^503 .*Too many sessions/,
  },
  'resources of one session': {
    limit: 5,
    attempt: async (size) => {
      const one = await mounted({ limits: { subscribedUris: 5 } })
      const { post } = await session(one)
      let output = ''
      for (let id = 0; id < size; id++) {
        const params = { uri: `note://${id}` }
        const answer = await post({ jsonrpc: '2.0', id, method: 'resources/subscribe', params })
        output = await answer.text()
      }
      return output.includes('"error"') ? output : undefined
    },
    refusal: /at most 5 resources can be subscribed to/,
  },
  'characters of a schema identifier': {
    limit: 8192,
    attempt: (size) =>
      failure(async () => compileSchema({ $id: 'https://example.com/'.padEnd(size, 'x') }).check(1)),
    refusal: /must have at most 8192 characters/,
  },
  'bytes of a login document': {
    limit: 65_536,
    attempt: async (size) => {
      const document = JSON.stringify({ resource: 'http://127.0.0.1:1/mcp', authorization_servers: [] })
      const auth = clientCredentials({
        client: { issuer: 'http://127.0.0.1:1', clientId: 'c', clientSecret: 's' },
        fetch: async () => new Response(document.padEnd(size, ' ')),
      })
      const fetch = async (): Promise<Response> =>
        new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
      const message = await failure(() => connect(http('http://127.0.0.1:1/mcp', { auth, fetch })))
      return message?.includes('exceeds') === true ? message : undefined
    },
    refusal: /exceeds 65536 bytes/,
  },
}
