import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { createConversation, type Recording, recordingChanges } from '../../src/index.ts'
import { playBack } from '../../src/log/trace/playback.ts'
import { parseRecording } from '../../src/log/trace/recording.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { scriptedModel, textReply, uses } from '../agent/host.ts'
import { folder, session, sessionProgram, started, textOf } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'

const shop: ServerConfig = {
  command: process.execPath,
  args: [programFile(new URL('shop.ts', import.meta.url))],
}
const sessions: ServerConfig = { command: process.execPath, args: [sessionProgram()] }
const player = programFile(new URL('player.ts', import.meta.url))

/** A program that plays a recording back. */
function played(recording: Recording): ServerConfig {
  const file = join(folder(), 'recording.json')
  writeFileSync(file, JSON.stringify(recording))
  return { command: process.execPath, args: [player, file] }
}

const agreeing = () => person({ elicitation: () => ({ action: 'accept', content: { ok: true } }) })

test('a call is repeated and its result compared', async () => {
  const host = await started({ servers: { shop }, defaultVerdict: 'allow' })
  const { activity } = await host.call('shop__echo', { text: 'a' }, { caller: 'chat' })
  const { activity: counted } = await host.call('shop__next', {}, { caller: 'chat' })
  const eventOf = async (row: number): Promise<number> =>
    (await host.trace.list({ filter: `row:${row}` }))[0]?.id ?? 0

  const request = host.trace.request(await eventOf(activity))
  expect(request).toMatchObject({
    method: 'tools/call',
    server: 'shop',
    target: 'echo',
    arguments: { text: 'a' },
  })
  expect(await host.trace.replay(request)).toMatchObject({ denied: false, changes: [] })
  const edited = await host.trace.replay({ ...request, arguments: { text: 'b' } })
  expect(edited.changes).toEqual([{ path: '/content/0/text', before: 'a', after: 'b' }])
  const [message] = await host.trace.list({ filter: 'kind:wire tool:next direction:received' })
  const again = await host.trace.replay(host.trace.request(message?.id ?? 0))
  expect(again.changes).toEqual([{ path: '/content/0/text', before: '1', after: '2' }])
  expect(host.activity({ kind: 'call' }).map(({ id, detail }) => [id, detail['caller']])).toEqual([
    [activity, 'chat'],
    [counted, 'chat'],
    ...[3, 4, 5].map(() => [expect.any(Number), 'person']),
  ])
  expect(() => host.trace.request(1)).toThrow('is not a call, read or prompt')
})

test('values nested too deeply to be compared are not repeated', async () => {
  const host = await started({ servers: { shop }, defaultVerdict: 'allow' })
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)
  const request = { method: 'tools/call', server: 'shop', target: 'next', arguments: {} } as const
  await expect(host.trace.replay({ ...request, result: deep })).rejects.toThrow(
    'nested too deeply to be repeated',
  )
  expect(await host.trace.list({ filter: 'kind:wire tool:next' })).toEqual([])
})

test('policy applies to repeated requests', async () => {
  const rules = [{ id: 'never', verdict: 'deny' as const, tool: 'echo' }]
  const host = await started({ servers: { shop }, rules, defaultVerdict: 'allow' })
  const { activity } = await host.call('shop__echo', { text: 'a' }, { caller: 'chat' })
  const [event] = await host.trace.list({ filter: `row:${activity}` })
  expect(await host.trace.replay(host.trace.request(event?.id ?? 0))).toMatchObject({ denied: true })
  expect(await host.trace.list({ filter: 'kind:wire tool:echo' })).toEqual([])
})

test.each([
  ['a session', sessions],
  ['a server of 2026-07-28', shop],
])('a conversation is the same with the recording of %s', async (_name, config) => {
  const isShop = config === shop
  const params = {
    message: 'Refund 42?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
  }
  const ask: [string, Record<string, unknown>] = isShop
    ? ['s__refund', { order: '42' }]
    : ['s__ask', { params }]
  const rewrite = async (server: ServerConfig) => {
    const host = await started({ servers: { s: server }, surface: agreeing(), defaultVerdict: 'allow' })
    const model = scriptedModel(
      uses('', ['s__echo', { text: 'a' }], ['s__echo', { text: 'a' }], ask),
      uses('', ['s__fail', {}], ['s__echo', { text: 'b' }]),
      textReply('Done.'),
    )
    const conversation = createConversation({ host, model })
    await conversation.say('Go on')
    return { host, messages: conversation.messages, tools: host.tools() }
  }
  const live = await rewrite(config)
  const recording = parseRecording(JSON.stringify(await live.host.trace.recording({ filter: 'server:s' })))
  await live.host.close()
  const again = await rewrite(played(recording))
  expect(again.messages).toEqual(live.messages)
  expect(again.tools).toEqual(live.tools)
  expect(recordingChanges(recording, await again.host.trace.recording())).toEqual([])
})

test('an unrecorded request is rejected, with the nearest one', async () => {
  const host = await started({ servers: { shop }, defaultVerdict: 'allow' })
  await host.call('shop__echo', { text: 'hello' }, { caller: 'chat' })
  for (let n = 0; n < 2; n++) await host.call('shop__next', {}, { caller: 'chat' })
  const recording = await host.trace.recording()
  await host.close()

  const other = await started({ servers: { shop: played(recording) }, defaultVerdict: 'allow' })
  const refused = await other.call('shop__echo', { text: 'hullo' }, { caller: 'chat' })
  expect(textOf(refused)).toContain(
    'The nearest is {"arguments":{"text":"hello"},"name":"echo"}; it differs at /arguments/text: "hello" there, "hullo" here',
  )
  const numbers = []
  for (let n = 0; n < 4; n++) numbers.push(textOf(await other.call('shop__next', {}, { caller: 'chat' })))
  expect(numbers).toEqual(['1', '2', '2', '2'])
  const changes = recordingChanges(recording, await other.trace.recording({ filter: '' }))
  expect(changes).toMatchObject([
    { method: 'tools/call', only: 'first', params: { name: 'echo' } },
    { method: 'tools/call', only: 'second' },
    { method: 'tools/call', only: 'second' },
    { method: 'tools/call', only: 'second' },
  ])
})

test('an answer that differs from the recording is reported', async () => {
  const params = {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
  }
  const host = await started({
    servers: { s: session().config },
    surface: agreeing(),
    defaultVerdict: 'allow',
  })
  await host.call('s__ask', { params }, { caller: 'chat' })
  const recording = await host.trace.recording()
  await host.close()
  const surface = person({ elicitation: () => ({ action: 'decline' }) })
  const other = await started({ servers: { s: played(recording) }, surface, defaultVerdict: 'allow' })
  const call = await other.call('s__ask', { params }, { caller: 'chat' })
  expect(textOf(call)).toContain(
    'answered differently than in the recording, at /action: "accept" there, "decline" here',
  )
})

test('an invalid recording is rejected with the reason', () => {
  expect(() => parseRecording('{')).toThrow('It is not JSON')
  expect(() => parseRecording('{"format":"x"}')).toThrow('"format" has another value')
  const empty = { format: 'jackfield-recording', version: 2, servers: {} }
  expect(() => parseRecording(JSON.stringify(empty))).toThrow('its version is 2')
  const bad = { ...empty, version: 1, servers: { a: { exchanges: [{ method: 'x' }] } } }
  expect(() => parseRecording(JSON.stringify(bad))).toThrow('exchange 0 of a is invalid')
})

test('playback ignores lines that are no messages', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const done = playBack({ revision: null, exchanges: [] }, { input, output })
  input.write('nonsense\n[]\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  input.end('{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n')
  await done
  expect(JSON.parse(String(output.read()))).toMatchObject({
    id: 7,
    error: { code: -32601, message: 'The recording has no tools/list. It has none' },
  })
})

test('notifications carry the ids of the current requests', async () => {
  const subscription = 'io.modelcontextprotocol/subscriptionId'
  const progress = { method: 'notifications/progress', params: { progressToken: 3, progress: 1 } }
  const notification = {
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: {}, _meta: { [subscription]: 2 } },
  }
  const exchanges = [
    {
      method: 'tools/call',
      params: { name: 'slow', _meta: { progressToken: 3 } },
      before: [{ message: progress }],
      answer: { result: { content: [] } },
    },
    { method: 'subscriptions/listen', params: { notifications: {} }, before: [{ message: notification }] },
  ]
  const [input, output] = [new PassThrough(), new PassThrough()]
  const done = playBack({ revision: '2026-07-28', exchanges }, { input, output })
  const ask = (id: number, method: string, params: object) =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  ask(41, 'tools/call', { name: 'slow', _meta: { progressToken: 'mine' } })
  ask(42, 'tools/call', { name: 'slow' })
  ask(43, 'subscriptions/listen', { notifications: {} })
  input.end()
  await done
  const written = String(output.read())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(written).toEqual([
    { jsonrpc: '2.0', ...progress, params: { progressToken: 'mine', progress: 1 } },
    { jsonrpc: '2.0', id: 41, result: { content: [] } },
    { jsonrpc: '2.0', id: 42, result: { content: [] } },
    { jsonrpc: '2.0', ...notification, params: { notifications: {}, _meta: { [subscription]: 43 } } },
  ])
})

const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`

test.each([
  ['is nested deeper than messages are', `{"id":2,"method":"tools/call","params":{"name":${deep}}}`],
  ['has an id that is none', '{"id":{},"method":"tools/call","params":{"name":"a"}}'],
])('a message to a recording that %s is ignored', async (_, message) => {
  const answer = { id: 'another', result: { content: [] } }
  const exchanges = [{ method: 'tools/call', params: { name: 'a' }, before: [], answer }]
  const [input, output] = [new PassThrough(), new PassThrough()]
  const done = playBack({ revision: '2026-07-28', exchanges }, { input, output })
  input.end(`${message}\n{"id":1,"method":"tools/call","params":{"name":"a"}}\n`)
  await done
  expect(JSON.parse(String(output.read()))).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
})

test.each([
  ['is nested too deeply', `"version":${deep},"servers":{}`],
  ['its version is a list', '"version":[1],"servers":{}'],
  ...[
    '"before":[],"answer":{"id":1}',
    '"before":[],"answer":"x"',
    '"before":[],"answer":{"error":{"code":"1","message":"m"}}',
    '"before":[{"message":{}}]',
    '"before":[{"message":{"method":""}}]',
    '"before":[{"message":{"method":"roots/list","params":[]}}]',
    '"before":[{"message":{"method":"roots/list"},"answer":{}}]',
  ].map((part): [string, string] => [
    'exchange 0 of a is invalid',
    `"version":1,"servers":{"a":{"exchanges":[{"method":"tools/call","params":{},${part}}]}}`,
  ]),
])('an invalid recording is rejected: %s (%#)', (why, members) => {
  expect(() => parseRecording(`{"format":"jackfield-recording",${members}}`)).toThrow(why)
})

test('a message to a recording ends at a line feed, and has a size limit', async () => {
  const text = 'a\u2028b\u2029c\u0085d'
  const exchanges = [{ method: 'tools/call', params: { text }, before: [], answer: { result: {} } }]
  const play = (texts: readonly string[]) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const done = playBack({ revision: null, exchanges }, { input, output })
    for (const one of texts) input.write(one)
    input.end()
    return { done, output }
  }
  const request = `${JSON.stringify({ id: 1, method: 'tools/call', params: { text } })}\r\n`
  const { done, output } = play([...request])
  await done
  expect(JSON.parse(String(output.read()))).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  const endless = play(Array.from({ length: 5 }, () => 'x'.repeat(1_000_000)))
  await expect(endless.done).rejects.toMatchObject({ code: 'LIMIT' })
})
