import { bearer, jwt } from '@jackfield/sdk/auth'
import { connect } from '@jackfield/sdk/client'
import { memory } from '@jackfield/sdk/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { adapters, type Mounted, modern, session } from '../serve/http-support.ts'
import { until } from '../serve/support.ts'
import { as, authenticated, inSeconds, issuer, keys, mcp, mounted, shop, tokenOf } from './support.ts'

const elsewhere = 'https://other-as.example.com'
const alice = { sub: 'alice', scope: 'orders:read orders:write' }

/** Others who show a token that is as good as Alice's. */
const others: [string, object][] = [
  ['another subject', { ...alice, sub: 'mallory' }],
  ['the same subject of another issuer', { ...alice, iss: elsewhere }],
  ['a client with her name', { ...alice, sub: undefined, client_id: 'alice' }],
]

/** Two issuers, each with subjects of its own. */
const authenticate = bearer({
  resource: mcp,
  authorizationServers: [issuer, elsewhere],
  verify: [jwt({ issuer, keys }), jwt({ issuer: elsewhere, keys })],
})

const header = async (claims: object) => as(await tokenOf({ ...claims }))

afterEach(() => {
  vi.useRealTimers()
})

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  describe.each(others)('%s', (_who, claims) => {
    test('cannot use, read, resume or end a session', async () => {
      faultyPeer('a batch, which its revision does not have')
      const all = await mounted(mount, shop().server, { authenticate })
      const mine = await session(all, '2025-11-25', await header(alice))
      const theirs = await header(claims)
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }
      const answers = [
        await mine.post(call, theirs),
        await mine.post({ jsonrpc: '2.0', id: 1, result: {} }, theirs),
        await mine.get(theirs),
        await mine.get({ ...theirs, 'last-event-id': 'a-1_1' }),
        await mine.send({ method: 'DELETE', headers: theirs }),
        await mine.post([call], theirs),
      ]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404])
      const unknown = await mine.post(call, { ...theirs, 'mcp-session-id': 'nothing' })
      expect(await unknown.text()).toBe(await answers[0]?.text())
      expect((await mine.call(2, 'whoami')).status).toBe(200)
    })

    test('cannot take over a lost stream', async () => {
      const { server } = shop()
      const all = await mounted(mount, server, { authenticate })
      const mine = await session(all, '2025-11-25', await header(alice))
      const lost = await mine.call(1, 'sure')
      await until(() => lost.events.length >= 2)
      lost.drop()
      const last = { 'last-event-id': lost.events[0]?.id }
      const stolen = await mine.get({ ...last, ...(await header(claims)) })
      expect(stolen.status).toBe(404)
      const ownSession = await session(all, '2025-11-25', await header(claims))
      const foreign = await ownSession.get(last)
      expect([foreign.status, foreign.messages()]).toEqual([400, []])
      const resumed = await mine.get(last)
      await until(() => resumed.messages().length === 1)
      expect(resumed.messages()).toMatchObject([{ method: 'elicitation/create' }])
      resumed.drop()
    })

    test("cannot answer another principal's question", async () => {
      const { server, ran } = shop()
      const { send } = await mounted(mount, server, { authenticate })
      const asked = await (await send(modern('tools/call', { name: 'sure' }, await header(alice)))).json()
      const { requestState, inputRequests } = Object(asked['result'])
      const [key = ''] = Object.keys(inputRequests)
      const inputResponses = { [key]: { action: 'accept', content: { ok: true } } }
      const retry = { name: 'sure', requestState, inputResponses }
      const stolen = await (await send(modern('tools/call', retry, await header(claims)))).json()
      expect(stolen).toMatchObject({ error: {} })
      expect(ran).toEqual([])
      const own = await (await send(modern('tools/call', retry, await header(alice)))).json()
      expect(own).toMatchObject({ result: { content: [{ text: 'accept' }] } })
    })

    test("gets no notifications of another principal's subscriptions", async () => {
      const { server } = shop()
      const all = await mounted(mount, server, { authenticate })
      const mine = await session(all, '2025-11-25', await header(alice))
      const theirs = await session(all, '2025-11-25', await header(claims))
      const subscribe = {
        jsonrpc: '2.0',
        id: 1,
        method: 'resources/subscribe',
        params: { uri: 'shop://ledger' },
      }
      expect((await mine.post(subscribe)).status).toBe(200)
      expect((await theirs.post({ ...subscribe, method: 'resources/unsubscribe' })).status).toBe(200)
      const [received, overheard] = [await mine.get(), await theirs.get()]
      server.resourceUpdated('shop://ledger')
      server.add({ prompts: {} })
      server.remove({ tools: ['whoami'] })
      await until(() => received.messages().length === 2 && overheard.messages().length === 1)
      expect(received.messages().map(({ method }) => method)).toEqual([
        'notifications/resources/updated',
        'notifications/tools/list_changed',
      ])
      expect(overheard.messages().map(({ method }) => method)).toEqual(['notifications/tools/list_changed'])
      received.drop()
      overheard.drop()
    })
  })

  test('a session continues with a new token after one that expired is rejected', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const all: Mounted = await mounted(mount, shop().server, {
      authenticate: authenticated({ clockToleranceMs: 0 }),
    })
    const mine = await session(all, '2025-11-25', as(await tokenOf({ exp: inSeconds(60) })))
    expect((await mine.call(1, 'whoami')).status).toBe(200)
    vi.setSystemTime(Date.now() + 61_000)
    const late = [await mine.call(2, 'whoami'), await mine.get(), await mine.end()]
    expect(late.map(({ status }) => status)).toEqual([401, 401, 401])
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'whoami' } }
    const renewed = await mine.post(call, as(await tokenOf({ exp: inSeconds(60) })))
    expect(renewed.status).toBe(200)
  })

  test('a session of HTTP+SSE belongs to the caller who opened its stream', async () => {
    const all = await mounted(mount, shop().server, { authenticate, sse: '/sse' })
    const stream = await all.send({ method: 'GET', path: '/sse', headers: await header(alice) })
    await until(() => stream.events.length === 1)
    const path = stream.events[0]?.data ?? ''
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await all.send({ path, body, headers: await header({ sub: 'mallory' }) })).status).toBe(404)
    expect((await all.send({ path, body })).status).toBe(401)
    stream.drop()
  })
})

test('on its own connection, a session cannot subscribe to what its caller may not read', async () => {
  const { server } = shop()
  const caller = { principal: 'bob', scopes: new Set<string>(), claims: {} }
  const client = await connect(memory(server, { caller }), { revisions: ['2025-11-25'] })
  const subscribe = (uri: string) => client.request('resources/subscribe', { uri })
  await expect(subscribe('shop://ledger')).rejects.toMatchObject({ code: -32600 })
  await expect(subscribe('shop://hours')).resolves.toBeDefined()
  await client.close()
})

test.each(['2026-07-28', '2025-11-25'] as const)(
  'on its own connection, a caller without the scopes gets an error (%s)',
  async (revision) => {
    const { server, ran } = shop()
    const caller = { principal: 'bob', scopes: new Set<string>(), claims: {} }
    const client = await connect(memory(server, { caller }), { revisions: [revision] })
    const names = (await client.tools()).map(({ name }) => name)
    expect(names).toEqual(['whoami', 'sure'])
    await expect(client.call('refund', {})).rejects.toMatchObject({
      code: -32600,
      data: { scopes: ['orders:write', 'orders:read'] },
    })
    await expect(client.read('shop://ledger')).rejects.toMatchObject({ code: -32600 })
    expect(ran).toEqual([])
    await client.close()
  },
)
