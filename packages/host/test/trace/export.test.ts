import { defineServer, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createConversation } from '../../src/index.ts'
import type { TraceNode, TraceQuery } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { exportOf, session, started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const shop = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    echo: tool({ input: z.object({ text: z.string() }), run: ({ text }) => text }),
    refund: tool({
      input: z.object({ order: z.string() }),
      async run({ order }, ctx) {
        const sure = await ctx.elicit({ message: `Refund ${order}?`, schema: z.object({ ok: z.boolean() }) })
        return sure.action === 'accept' ? 'Refunded.' : 'Kept.'
      },
    }),
    context: tool({ run: (_, ctx) => JSON.stringify(ctx.meta ?? null) }),
  },
})

async function overHttp(): Promise<string> {
  const served = await serveHttp(shop).listen({ port: 0 })
  onTestFinished(() => served.close())
  return `${served.url}`
}

test('HTTP exchanges make a valid archive without credentials', async () => {
  const url = await overHttp()
  const headers = { Authorization: 'Bearer abcdef123456', 'X-Tenant': 'blue', 'X-Custom': 'own' }
  const host = await started({
    servers: { shop: { url: `${url}?api_key=abcdef987654&page=2`, headers } },
    defaultVerdict: 'allow',
    connect: { maskedHeaders: ['X-Tenant'] },
  })
  await host.call('shop__echo', { text: 'hello' }, { caller: 'chat' })
  const har = JSON.parse(await exportOf(host, 'har'))
  for (const secret of ['abcdef', 'blue']) expect(JSON.stringify(har)).not.toContain(secret)
  const text = expect.any(String)
  const number = expect.any(Number)
  const named = expect.arrayContaining([{ name: text, value: text }])
  const entry = {
    startedDateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    time: number,
    request: {
      method: 'POST',
      url: expect.stringContaining('page=2'),
      httpVersion: text,
      cookies: [],
      headers: named,
      queryString: named,
      postData: { mimeType: 'application/json', text },
      headersSize: number,
      bodySize: number,
    },
    response: {
      status: number,
      statusText: text,
      httpVersion: text,
      cookies: [],
      headers: named,
      content: expect.objectContaining({ size: number, mimeType: text }),
      redirectURL: '',
      headersSize: number,
      bodySize: number,
    },
    cache: {},
    timings: { send: number, wait: number, receive: number },
  }
  expect(har).toEqual({
    log: {
      version: '1.2',
      creator: { name: 'Jackfield', version: text },
      entries: expect.toSatisfy((entries: unknown[]) => entries.length >= 3),
    },
  })
  const call = har.log.entries.find((one: { request: { postData: { text: string } } }) =>
    one.request.postData.text.includes('tools/call'),
  )
  expect(call).toEqual(entry)
  expect(call.request.headers).toEqual(
    expect.arrayContaining([
      { name: 'authorization', value: '[masked]' },
      { name: 'x-tenant', value: '[masked]' },
      { name: 'x-custom', value: 'own' },
      { name: 'mcp-name', value: 'echo' },
    ]),
  )
  expect(JSON.parse(call.response.content.text)).toMatchObject({ result: { content: [{ text: 'hello' }] } })
})

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
}

test("traces are nested from the model's turn down to each round, and sent to servers", async () => {
  const surface = person({ elicitation: () => ({ action: 'accept', content: { ok: true } }) })
  const host = await started({
    servers: { shop: { url: await overHttp() } },
    surface,
    defaultVerdict: 'allow',
    connect: { traceparent: true },
  })
  const model = scriptedModel(uses('', ['shop__refund', { order: '42' }]), textReply('Done.'))
  await createConversation({ host, model }).say('Refund 42')

  const { resourceSpans } = JSON.parse(await exportOf(host, 'otlp', { filter: 'kind:model' }))
  const spans: Span[] = resourceSpans[0].scopeSpans[0].spans
  for (const span of spans) {
    expect(span).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      endTimeUnixNano: expect.stringMatching(/^\d{19}$/),
    })
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
  }
  const [turn] = spans.filter(({ name }) => name.startsWith('chat'))
  const call = spans.find(({ parentSpanId }) => parentSpanId === turn?.spanId)
  expect(call?.name).toBe('tools/call refund')
  const inside = spans.filter(({ parentSpanId }) => parentSpanId === call?.spanId).map(({ name }) => name)
  expect(inside).toEqual(['tools/call refund', 'elicitation/create', 'tools/call refund'])
  expect(new Set(spans.filter((span) => inside.includes(span.name)).map(({ traceId }) => traceId))).toEqual(
    new Set([turn?.traceId]),
  )

  const sent = (await host.trace.pairs({ filter: 'method:tools/call direction:sent' })).map(
    ({ message }) => message.payload,
  )
  const traceparent = `00-${turn?.traceId}-${call?.spanId}-01`
  expect(sent).toEqual([
    expect.objectContaining({
      params: expect.objectContaining({ _meta: expect.objectContaining({ traceparent }) }),
    }),
    expect.objectContaining({
      params: expect.objectContaining({ _meta: expect.objectContaining({ traceparent }) }),
    }),
  ])
})

test('no trace context is sent to servers by default', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  await host.call('fix__look', {}, { caller: 'chat' })
  expect(await host.trace.list({ filter: '"traceparent"' })).toEqual([])
})

test('JSON lines contain every event in full', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  await host.call('fix__echo', { text: 'a' }, { caller: 'chat' })
  const lines = (await exportOf(host, 'jsonl')).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    (await host.trace.list()).map(({ id }) => host.trace.get(id)),
  )
})

test('an export applies its query, and lets other work run between its chunks', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  for (let n = 0; n < 30; n++) await host.call('fix__echo', { text: 'x'.repeat(50_000) }, { caller: 'chat' })
  const all = (await host.trace.list({ limit: 10_000 })).map(({ id }) => id)
  const idsOf = async (query: TraceQuery): Promise<number[]> =>
    (await exportOf(host, 'jsonl', query))
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).id)
  expect(await idsOf({})).toEqual(all)
  expect(await idsOf({ limit: 7 })).toEqual(all.slice(-7))
  expect(await idsOf({ limit: 0 })).toEqual([])
  expect(await idsOf({ after: all[9] ?? 0 })).toEqual(all.slice(10))
  expect(await idsOf({ after: all[9] ?? 0, limit: 3 })).toEqual(all.slice(10, 13))
  expect(await idsOf({ filter: 'method:none' })).toEqual([])
  let pieces = 0
  let turns = 0
  const turn = (): void => {
    turns += 1
    immediate = setImmediate(turn)
  }
  let immediate = setImmediate(turn)
  for await (const piece of host.trace.export('jsonl')) {
    pieces += 1
    expect(piece.length).toBeLessThan(2_000_000)
    if (pieces === 3) await host.call('fix__echo', { text: 'meanwhile' }, { caller: 'chat' })
  }
  clearImmediate(immediate)
  expect(pieces).toBeGreaterThan(5)
  expect(turns).toBeGreaterThanOrEqual(pieces)
})

test('statistics count requests, failures and the tokens of models', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  const model = scriptedModel(uses('', ['fix__echo', { text: 'a' }], ['fix__fail', {}]), textReply('Done.'))
  await createConversation({ host, model }).say('Go')
  const { methods, models } = await host.trace.statistics()
  const calls = methods.find(({ method }) => method === 'tools/call')
  expect(calls).toMatchObject({ server: 'fix', count: 2, errors: 1 })
  expect(calls?.p95Ms).toBeGreaterThanOrEqual(calls?.p50Ms ?? Number.POSITIVE_INFINITY)
  expect(models).toEqual([{ model: 'scripted-1', count: 2, inputTokens: 20, outputTokens: 10 }])
})

test('the timeline has a lane for every server', async () => {
  const host = await started({
    servers: { one: session().config, two: session().config },
    defaultVerdict: 'allow',
  })
  await host.call('one__look', {}, { caller: 'chat' })
  await host.call('two__look', {}, { caller: 'chat' })
  const lanes = await host.trace.timeline({ filter: 'method:tools/call' })
  expect(lanes.map(({ server, spans }) => [server, spans.map(({ event }) => event.kind)])).toEqual([
    ['one', ['call', 'wire']],
    ['two', ['call', 'wire']],
  ])
  for (const { spans } of lanes)
    for (const { fromMs, toMs } of spans) expect(toMs).toBeGreaterThanOrEqual(fromMs)
})

test('the tree of a part includes its causes', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  await host.call('fix__fail', {}, { caller: 'chat' })
  const [root] = await host.trace.tree({ filter: 'kind:wire status:error tool:fail' })
  const flat = ({ event, matched, children }: TraceNode): unknown[] => [
    [event.kind, event.direction, matched],
    ...children.flatMap(flat),
  ]
  expect(root && flat(root)).toEqual([
    ['call', null, false],
    ['wire', 'sent', false],
    ['wire', 'received', true],
  ])
})

test('of two concurrent calls, each has its own question below it if the transport reports the cause', async () => {
  const surface = person({ elicitation: () => ({ action: 'accept', content: { ok: true } }) })
  const host = await started({
    servers: { shop: { url: await overHttp() } },
    surface,
    defaultVerdict: 'allow',
    connect: { revisions: ['2025-11-25'] },
  })
  const calls = await Promise.all(
    ['one', 'two'].map((order) => host.call('shop__refund', { order }, { caller: 'chat' })),
  )
  for (const [n, { activity }] of calls.entries()) {
    const [event] = await host.trace.list({ filter: `row:${activity}` })
    const asked = await host.trace.pairs({
      filter: `cause:${event?.id} method:elicitation/create direction:received`,
    })
    expect(asked.map(({ message }) => message.payload)).toMatchObject([
      { params: { message: `Refund ${['one', 'two'][n]}?` } },
    ])
    expect(asked[0]?.answer?.payload).toMatchObject({ result: { action: 'accept' } })
  }
})
