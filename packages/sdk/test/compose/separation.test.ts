import {
  ask,
  defineServer,
  type Exchange,
  type InputStrategy,
  inputRequired,
  type Outcome,
  type ProtocolVersion,
  type Server,
  tool,
} from '@jackfield/sdk'
import { compose } from '@jackfield/sdk/compose'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { replay } from '../../src/request/replay.ts'
import { createSealer } from '../../src/request/state.ts'
import { exchange } from '../server/support.ts'
import { legacy, modern, proxied, served, until } from './support.ts'
import { createUpstream } from './upstream.ts'

const refused = { code: -32602, message: 'The requestState is not valid here. Start the request over.' }
const gone = { code: -32603, message: expect.stringContaining('no longer open on this node') }

/** One edge of a fleet: nodes with the same one share keys and what was used. */
const edge = (): InputStrategy =>
  replay({ sealer: createSealer(['k'.repeat(32)]), backplane: memoryBackplane(), audience: 'edge' })

type Asked = Extract<Outcome, { type: 'input_required' }>

interface Sent {
  principal?: string | null
  state?: string | undefined
  answers?: object
  capabilities?: object
}

async function send(
  server: Server,
  asking: InputStrategy,
  params: { name?: string; uri?: string; arguments?: object },
  { principal = 'ada', state, answers, capabilities }: Sent = {},
): Promise<Outcome> {
  const retry = {
    ...(state === undefined ? {} : { requestState: state }),
    ...(answers === undefined ? {} : { inputResponses: answers }),
  }
  const method = params.uri === undefined ? 'tools/call' : 'resources/read'
  const peer = {
    principal,
    scopes: new Set<string>(),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
  return server.handle(exchange(method, { ...params, ...retry }, { asking, peer }))
}

async function asked(sent: Promise<Outcome>): Promise<Asked> {
  const outcome = await sent
  if (outcome.type !== 'input_required') throw new Error(`did not ask: ${JSON.stringify(outcome)}`)
  return outcome
}

const yes = ({ requests }: Asked): object =>
  Object.fromEntries(Object.keys(requests).map((key) => [key, { action: 'accept', content: { ok: true } }]))

const refund = { name: 'refund', arguments: { order: '7' } }
const eras: ProtocolVersion[] = [legacy, modern]

const fleet = async (revision: ProtocolVersion, count: number) => {
  const { server, log } = createUpstream()
  const options = { connect: { revisions: [revision] }, onError: () => {} }
  const all: Server[] = []
  for (let i = 0; i < count; i++) all.push(await proxied(server, options))
  return { log, nodes: all }
}

it('any node forwards the retry for a server without sessions, without state in between', async () => {
  const { server, log } = createUpstream()
  const url = await served(server)
  const asking = edge()
  const node = () => proxied(url, { connect: { revisions: [modern] } })
  const first = await asked(send(await node(), asking, refund))
  const second = await asked(send(await node(), asking, refund, { state: first.state, answers: yes(first) }))
  const end = await send(await node(), asking, refund, { state: second.state, answers: yes(second) })
  expect(end).toMatchObject({ result: { content: [{ text: 'refunded 7' }] } })
  expect(log).toEqual(['looked up 7', 'refunded 7'])
})

it('another node reports that it does not have the call of a server with sessions, and runs nothing', async () => {
  const { log, nodes: all } = await fleet(legacy, 2)
  const asking = edge()
  const [a, b] = all
  if (!a || !b) throw new Error('two nodes')
  const first = await asked(send(a, asking, refund))
  await expect(send(b, asking, refund, { state: first.state, answers: yes(first) })).rejects.toMatchObject(
    gone,
  )
  expect(log).toEqual(['looked up 7'])
})

it('a call without an answer in time is cancelled upstream, and a late answer gets an error', async () => {
  const { server, log } = createUpstream()
  const stopped: string[] = []
  server.add({
    tools: {
      wait: tool({
        description: 'Asks and waits',
        async run(_, ctx) {
          ctx.signal.addEventListener('abort', () => stopped.push('stopped'))
          await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
          log.push('went on')
        },
      }),
    },
  })
  const through = await proxied(server, {
    connect: { revisions: [legacy] },
    limits: { suspendedMs: 50 },
    onError: () => {},
  })
  const asking = edge()
  const first = await asked(send(through, asking, { name: 'wait' }))
  await until(() => stopped.length > 0)
  await expect(
    send(through, asking, { name: 'wait' }, { state: first.state, answers: yes(first) }),
  ).rejects.toMatchObject(gone)
  expect(log).toEqual([])
})

it.each(eras)('the state of a %s call is valid for its caller and its call, once', async (revision) => {
  const { log, nodes: all } = await fleet(revision, 1)
  const asking = edge()
  const [node] = all
  if (!node) throw new Error('a node')
  const first = await asked(send(node, asking, refund))
  const { state } = first
  const answers = yes(first)
  const other = { name: 'refund', arguments: { order: '8' } }
  await expect(send(node, asking, refund, { state, answers, principal: 'bob' })).rejects.toMatchObject(
    refused,
  )
  await expect(send(node, asking, refund, { state, answers, principal: null })).rejects.toMatchObject(refused)
  await expect(send(node, asking, other, { state, answers })).rejects.toMatchObject(refused)
  await expect(send(node, asking, refund, { state: `${state}A`, answers })).rejects.toMatchObject(refused)
  const second = await asked(send(node, asking, refund, { state, answers }))
  await expect(send(node, asking, refund, { state, answers })).rejects.toMatchObject(refused)
  await send(node, asking, refund, { state: second.state, answers: yes(second) })
  expect(log).toEqual(['looked up 7', 'refunded 7'])
})

it.each(eras)(
  'a retry of a %s call without responses is asked again, and one without capabilities runs nothing',
  async (revision) => {
    const { log, nodes: all } = await fleet(revision, 1)
    const asking = edge()
    const [node] = all
    if (!node) throw new Error('a node')
    const first = await asked(send(node, asking, refund))
    const again = await asked(send(node, asking, refund, { state: first.state, answers: {} }))
    expect(Object.values(again.requests)).toMatchObject([{ params: { message: 'Refund 7?' } }])
    await send(node, asking, refund, { state: again.state, answers: yes(again), capabilities: {} }).catch(
      () => {},
    )
    expect(log).toEqual(['looked up 7'])
  },
)

it('responses in a first request are not used for later questions', async () => {
  for (const revision of eras) {
    const { log, nodes: all } = await fleet(revision, 1)
    const [node] = all
    if (!node) throw new Error('a node')
    const answers = { elicitation_1: { action: 'accept', content: { ok: true } } }
    const first = await asked(send(node, edge(), refund, { answers }))
    expect(Object.values(first.requests)).toMatchObject([{ params: { message: 'Refund 7?' } }])
    expect(log).toEqual(['looked up 7'])
  }
})

it('a response under a reused key does not answer the new question', async () => {
  const { server } = createUpstream()
  const form = (message: string) => ({
    confirm: ask.elicit({ message, schema: z.object({ ok: z.boolean() }) }),
  })
  server.add({
    tools: {
      twice: tool({
        description: 'Asks two things under one key',
        run(_, ctx) {
          if (ctx.state === undefined) return inputRequired({ requests: form('Harmless?'), state: 1 })
          if (ctx.state === 1) return inputRequired({ requests: form('Dangerous?'), state: 2 })
          if (ctx.answers['confirm'] !== undefined) return 'did it'
          return inputRequired({ requests: form('Dangerous?'), state: 2 })
        },
      }),
    },
  })
  for (const node of [server, await proxied(server, { connect: { revisions: [modern] } })]) {
    const asking = edge()
    const twice = { name: 'twice' }
    const first = await asked(send(node, asking, twice))
    const second = await asked(send(node, asking, twice, { state: first.state, answers: yes(first) }))
    expect(second.requests).toMatchObject({ confirm: { params: { message: 'Dangerous?' } } })
    const third = await asked(send(node, asking, twice, { state: second.state, answers: {} }))
    expect(third.requests).toMatchObject({ confirm: { params: { message: 'Dangerous?' } } })
    const end = await send(node, asking, twice, { state: third.state, answers: yes(third) })
    expect(end).toMatchObject({ result: { content: [{ text: 'did it' }] } })
  }
})

it.each(['suspended', 'suspendedPerPrincipal'] as const)(
  'has no more open calls than %s allows',
  async (limit) => {
    const { server, log } = createUpstream()
    const through = await proxied(server, {
      connect: { revisions: [legacy] },
      limits: { [limit]: 2 },
      onError: () => {},
    })
    const asking = edge()
    const order = (order: string) => ({ name: 'refund', arguments: { order } })
    await asked(send(through, asking, order('1')))
    const second = await asked(send(through, asking, order('2')))
    await expect(send(through, asking, order('3'))).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('Too many calls wait for input'),
    })
    const other = send(through, asking, order('4'), { principal: 'bob' })
    if (limit === 'suspendedPerPrincipal') await asked(other)
    else await expect(other).rejects.toThrow()
    const on = await asked(send(through, asking, order('2'), { state: second.state, answers: yes(second) }))
    await send(through, asking, order('2'), { state: on.state, answers: yes(on) })
    expect(log).toContain('refunded 2')
  },
)

it('many users are asked concurrently by a server with sessions, and each sees only their own question', async () => {
  const { server } = createUpstream()
  server.add({
    tools: {
      secret: tool({
        description: 'Returns what it received',
        input: z.object({ who: z.string() }),
        async run({ who }, ctx) {
          const form = { message: `${who}?`, schema: z.object({ word: z.string() }) }
          const answer = await ctx.elicit(form)
          return `${who} said ${answer.action === 'accept' ? answer.content.word : ''}`
        },
      }),
    },
  })
  const through = await proxied(server, { connect: { revisions: [legacy] } })
  const asking = edge()
  const principals = Array.from({ length: 12 }, (_, i) => `p${i}`)
  const one = async (who: string, principal: string | null): Promise<unknown> => {
    const call = { name: 'secret', arguments: { who } }
    const first = await asked(send(through, asking, call, { principal }))
    expect(Object.values(first.requests)).toMatchObject([{ params: { message: `${who}?` } }])
    const answers = Object.fromEntries(
      Object.keys(first.requests).map((key) => [
        key,
        { action: 'accept', content: { word: `word of ${who}` } },
      ]),
    )
    return send(through, asking, call, { principal, state: first.state, answers })
  }
  const ends = await Promise.all(principals.map((who, i) => one(who, i % 2 === 0 ? null : who)))
  expect(ends).toMatchObject(
    principals.map((who) => ({ result: { content: [{ text: `${who} said word of ${who}` }] } })),
  )
})

it('the state of one member of a composition opens in no other, whatever it names', async () => {
  const opened: string[] = []
  const member = (name: string) =>
    defineServer({
      name,
      version: '1',
      tools: {
        ask: tool({
          description: 'Asks',
          async run(_, ctx) {
            await ctx.step('mark', () => `trusted by ${name}`)
            const answer = await ctx.elicit({ message: 'Sure?', schema: z.object({ ok: z.boolean() }) })
            opened.push(`${name} ${answer.action}`)
          },
        }),
      },
    })
  const server = compose({ name: 'c', version: '1', servers: { a: member('a'), b: member('b') } })
  const asking = edge()
  const first = await asked(send(server, asking, { name: 'a__ask' }))
  const { state } = first
  const answers = yes(first)
  await expect(send(server, asking, { name: 'b__ask' }, { state, answers })).rejects.toMatchObject(refused)
  expect(opened).toEqual([])
  await send(server, asking, { name: 'a__ask' }, { state, answers })
  expect(opened).toEqual(['a accept'])
})

it('the state of a read opens in no member that took over the resource', async () => {
  const { server: one } = createUpstream()
  const { server: two } = createUpstream()
  const server = compose({ name: 'c', version: '1', servers: { one, two }, onError: () => {} })
  const asking = edge()
  const first = await asked(send(server, asking, { uri: 'shop://guarded' }))
  server.unmount('one')
  const answers = { elicitation_1: { action: 'accept', content: { word: 'x' } } }
  await expect(
    send(server, asking, { uri: 'shop://guarded' }, { state: first.state, answers }),
  ).rejects.toMatchObject(refused)
})

it('a member may be given fewer capabilities by its middleware', async () => {
  const { server: shop } = createUpstream()
  const without = (inner: Exchange): Exchange => ({
    ...inner,
    peer: { ...inner.peer, capabilities: {} },
  })
  const server = compose({
    name: 'c',
    version: '1',
    servers: { shop },
    use: [(inner, next) => next(without(inner))],
  })
  await expect(
    send(server, edge(), { name: 'shop__refund', arguments: { order: '1' } }),
  ).rejects.toMatchObject({
    code: -32021,
  })
})
