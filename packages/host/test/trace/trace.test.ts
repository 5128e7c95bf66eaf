import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { TraceNode } from '../../src/types/index.ts'
import { exportOf, folder, hostOf, session, sessionProgram, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const proxy = programFile(new URL('proxy.ts', import.meta.url))
const stateless = programFile(new URL('shop.ts', import.meta.url))

/** A server with a program between that writes down every line, in the order in which it passes. */
function proxied(server: string) {
  const file = join(folder(), 'lines.jsonl')
  const lines = (): { direction: string; message: unknown }[] =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  return { config: { command: process.execPath, args: [proxy, file, process.execPath, server] }, lines }
}

test.each([
  ['session', sessionProgram()],
  ['stateless', stateless],
])('every message of 200 calls is logged, in order and with its call (%s)', async (_era, server) => {
  const { config, lines } = proxied(server)
  const host = await started({ servers: { fix: config }, defaultVerdict: 'allow' })
  const rows: number[] = []
  for (let batch = 0; batch < 20; batch++) {
    const calls = Array.from({ length: 10 }, (_, n) =>
      host.call('fix__echo', { text: `${batch}/${n}` }, { caller: 'chat' }),
    )
    rows.push(...(await Promise.all(calls)).map(({ activity }) => activity))
  }
  const wire = await host.trace.list({ filter: 'kind:wire server:fix', limit: 10_000 })
  const logged = (direction: string) =>
    wire.filter((event) => event.direction === direction).map(({ id }) => host.trace.get(id)?.payload)
  const [sent, received] = [logged('sent'), logged('received')]
  await host.close()
  const passed = (direction: string) =>
    lines().flatMap((line) => (line.direction === direction ? [line.message] : []))
  expect(sent).toEqual(passed('sent').slice(0, sent.length))
  expect(received).toEqual(passed('received').slice(0, received.length))
  expect(sent.length).toBeGreaterThan(200)
  expect(wire.every(({ tickMs }, n) => n === 0 || Number(tickMs) >= Number(wire[n - 1]?.tickMs))).toBe(true)

  const reopened = wire.filter(({ method, direction }) => method === 'tools/call' && direction === 'sent')
  expect(reopened).toHaveLength(200)
  const blamed = new Set(reopened.map(({ cause }) => cause))
  expect(blamed.size).toBe(200)
  expect(blamed.has(null)).toBe(false)
  expect(rows).toHaveLength(200)
})

test('each message belongs to its exact call, also among equal calls', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  const calls = await Promise.all(
    ['a', 'a', 'b'].map((text) => host.call('fix__echo', { text }, { caller: 'chat' })),
  )
  for (const call of calls) {
    const [event] = await host.trace.list({ filter: `row:${call.activity}` })
    const under = await host.trace.list({ filter: `cause:${event?.id} kind:wire` })
    expect(under.map(({ direction, status }) => [direction, status])).toEqual([
      ['sent', null],
      ['received', 'ok'],
    ])
    expect(under[1]?.reply).toBe(under[0]?.id)
    const pair = await host.trace.pairs({ filter: `id:${under[1]?.id}` })
    expect(pair).toHaveLength(1)
    expect(pair[0]?.answer?.payload).toMatchObject({ result: { content: call.result.content } })
  }
})

test('a question is below its call in the tree', async () => {
  const surface = person({ elicitation: () => ({ action: 'accept', content: { ok: true } }) })
  const host = await started({ servers: { fix: session().config }, surface, defaultVerdict: 'allow' })
  const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } } }
  const params = { message: 'Really?', requestedSchema }
  const call = await host.call('fix__ask', { params }, { caller: 'chat' })
  expect(surface.asked, textOf(call)).not.toHaveLength(0)
  const [root, ...others] = await host.trace.tree({ filter: `row:${call.activity}` })
  expect(others).toEqual([])
  const shape = ({ event, children }: TraceNode): unknown =>
    children.length === 0 ? [event.kind, event.method] : [event.kind, event.method, children.map(shape)]
  expect(root && shape(root)).toEqual([
    'call',
    'tools/call',
    expect.arrayContaining([
      ['wire', 'tools/call', [['wire', 'tools/call']]],
      ['wire', 'elicitation/create', [['wire', 'elicitation/create']]],
      ['elicitation', 'elicitation/create'],
    ]),
  ])
})

test('activity rows are included with outcome and detail', async () => {
  const host = await started({
    servers: { fix: session().config },
    rules: [{ id: 'no', verdict: 'deny', tool: 'fail' }],
    defaultVerdict: 'allow',
  })
  await host.call('fix__echo', { text: 'needle in a stack' }, { caller: 'chat' })
  await host.call('fix__fail', {}, { caller: 'chat' })
  const [denied] = await host.trace.list({ filter: 'status:denied' })
  expect(denied).toMatchObject({ kind: 'call', tool: 'fail', server: 'fix', method: 'tools/call' })
  expect(host.trace.get(denied?.id ?? 0)?.payload).toMatchObject({ decision: { rule: 'no' } })
  const found = await host.trace.list({ filter: '"needle in"' })
  expect(found.map(({ kind }) => kind)).toEqual(['call', 'wire', 'wire'])
  expect(
    (await host.trace.list({ filter: '-kind:wire,http,connection' })).every(({ kind }) => kind === 'call'),
  ).toBe(true)
})

test('parts cut from the log have their size and hash', async () => {
  const host = await started({ servers: { fix: session().config }, defaultVerdict: 'allow' })
  const text = 'x'.repeat(2_000_000)
  await host.call('fix__echo', { text }, { caller: 'chat' })
  const [sent] = await host.trace.list({ filter: 'kind:wire tool:echo direction:sent' })
  const whole = host.trace.get(sent?.id ?? 0)
  expect(whole).toMatchObject({ cut: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } })
  expect(whole?.bytes).toBeGreaterThan(2_000_000)
  expect(String(whole?.payload)).toHaveLength(1_048_576)
})

test('a secret of the configuration is nowhere in the log', async () => {
  const secret = 'planted-canary-value'
  const store = join(folder(), 'store.db')
  const { config } = session()
  const env = 'env' in config ? config.env : {}
  const host = await started({
    store,
    servers: { fix: { ...config, env: { ...env, API_TOKEN: secret } } },
    defaultVerdict: 'allow',
  })
  await host.call('fix__echo', { text: `this is ${secret}` }, { caller: 'chat' })
  await host.read('fix', `fix://${secret}`).catch(() => {})
  expect(await host.trace.list({ filter: 'method:resources/read kind:wire' })).not.toEqual([])
  expect(await host.trace.list({ filter: `"${secret}"` })).toEqual([])
  expect(JSON.stringify(await host.trace.list())).not.toContain(secret)
  expect(await host.trace.list({ filter: '"this is [API_TOKEN]" kind:wire' })).not.toEqual([])
  for (const format of ['jsonl', 'har', 'otlp'] as const)
    expect(await exportOf(host, format)).not.toContain(secret)
  await host.close()
  expect(readFileSync(store).includes(secret)).toBe(false)
})

test('another program on the same store sees the events of this one', async () => {
  const store = join(folder(), 'store.db')
  const host = await started({ store, servers: { fix: session().config }, defaultVerdict: 'allow' })
  const other = hostOf({ store })
  const last = (await host.trace.list({ limit: 1 })).at(-1)?.id ?? 0
  await host.call('fix__look', {}, { caller: 'chat' })
  // A host writes messages some milliseconds later, and before it reads.
  host.trace.counters()
  const news = await other.trace.list({ after: last })
  expect(news.map(({ kind, method }) => [kind, method])).toEqual([
    ['call', 'tools/call'],
    ['wire', 'tools/call'],
    ['wire', 'tools/call'],
  ])
})
