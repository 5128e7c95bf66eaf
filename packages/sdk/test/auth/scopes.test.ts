import { defineServer, template, tool } from '@jackfield/sdk'
import { connect } from '@jackfield/sdk/client'
import { memory } from '@jackfield/sdk/testing'
import { describe, expect, test } from 'vitest'
import { adapters, modern, session, webAdapter } from '../serve/http-support.ts'
import { initialize, until } from '../serve/support.ts'
import { as, authenticated, challengeOf, eras, metadataUrl, mounted, shop, tokenOf } from './support.ts'

const read = 'orders:read'
const both = 'orders:read orders:write'

/** Requests, what they need, and who may not make them. */
const needing: [string, Record<string, unknown>, string][] = [
  ['tools/call', { name: 'refund' }, 'orders:write orders:read'],
  ['resources/read', { uri: 'shop://ledger' }, read],
  ['resources/read', { uri: 'shop://orders/9' }, read],
  ['prompts/get', { name: 'complain', arguments: { about: 'x' } }, read],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'complain' }, argument: { name: 'about', value: '' } },
    read,
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'shop://orders/{id}' }, argument: { name: 'id', value: '' } },
    read,
  ],
]

/** The entries of a list for each caller. */
const lists: [string, string, string[], string[]][] = [
  ['tools/list', 'tools', ['whoami', 'sure'], ['refund', 'whoami', 'sure']],
  ['resources/list', 'resources', ['hours'], ['ledger', 'hours', 'First']],
  ['resources/templates/list', 'resourceTemplates', [], ['order']],
  ['prompts/list', 'prompts', ['greet'], ['complain', 'greet']],
]

function namesIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value.map(({ name }) => name) : []
}

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  describe.each(eras)('on %s', (era, request) => {
    test.each(needing)('%s %j needs %s', async (method, params, scope) => {
      const { server, ran } = shop()
      const { send } = await mounted(mount, server, { authenticate: authenticated() })
      const refused = await request(send, as(await tokenOf({ scope: 'orders:write' })), method, params)
      expect(refused.status).toBe(403)
      expect(challengeOf(refused)).toMatchObject({
        scheme: 'Bearer',
        params: { error: 'insufficient_scope', scope, resource_metadata: metadataUrl },
      })
      expect(await refused.json()).toMatchObject({ id: 1, error: {} })
      expect(ran).toEqual([])
      const allowed = await request(send, as(await tokenOf({ scope: both })), method, params)
      expect(allowed.status).toBe(200)
      expect(await allowed.json()).toMatchObject({ result: {} })
    })

    test.each(lists)('%s returns what its caller may use', async (method, member, few, all) => {
      const { server } = shop()
      const { send } = await mounted(mount, server, { authenticate: authenticated() })
      for (const [scope, names] of [
        ['', few],
        [both, all],
      ] as const) {
        const { result } = await (await request(send, as(await tokenOf({ scope })), method)).json()
        expect(namesIn(Object(result)[member])).toEqual(names)
        if (era === '2026-07-28') expect(result).toMatchObject({ ttlMs: 1000, cacheScope: 'private' })
      }
    })
  })

  test.each(eras)('completions reveal no resource without its scope on %s', async (_era, request) => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const ref = { type: 'ref/resource', uri: 'shop://ledger' }
    const params = { ref, argument: { name: 'id', value: '' } }
    const ask = async (scope: string) =>
      request(send, as(await tokenOf({ scope })), 'completion/complete', params)
    const refused = await ask('orders:write')
    expect(refused.status).toBe(403)
    expect(challengeOf(refused).params['scope']).toBe(read)
    expect(await (await ask(read)).json()).toMatchObject({ error: { code: -32602 } })
  })

  test('every message of a batch is checked before any of them runs', async () => {
    const { server, ran } = shop()
    const mountedServer = await mounted(mount, server, { authenticate: authenticated() })
    const client = await session(mountedServer, '2025-03-26', as(await tokenOf()))
    const call = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params })
    const answer = await client.post([
      call(1, 'tools/call', { name: 'whoami' }),
      call(2, 'tools/call', { name: 'refund' }),
      call(3, 'resources/read', { uri: 'shop://ledger' }),
    ])
    expect(answer.status).toBe(403)
    expect(challengeOf(answer).params['scope']).toBe('orders:write orders:read')
    expect(ran).toEqual([])
  })

  test('a batch that is too long is rejected before its messages are checked', async () => {
    const { server } = shop()
    const mountedServer = await mounted(mount, server, { authenticate: authenticated() })
    const client = await session(mountedServer, '2025-03-26', as(await tokenOf()))
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'refund' } }
    const answer = await client.post(Array.from({ length: 101 }, () => call))
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('at most 100') } })
  })

  test('a session cannot subscribe to what its caller may not read', async () => {
    const { server } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated() })
    const client = await session(all, '2025-11-25', as(await tokenOf()))
    const subscribe = (uri: string) =>
      client.post({ jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params: { uri } })
    expect((await subscribe('shop://ledger')).status).toBe(403)
    expect((await subscribe('shop://orders/3')).status).toBe(403)
    expect((await subscribe('shop://hours')).status).toBe(200)
  })

  test('the stream of a session omits resources that its own token does not allow', async () => {
    const { server } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated() })
    const [narrow, broad] = [as(await tokenOf()), as(await tokenOf({ scope: read }))]
    const client = await session(all, '2025-11-25', broad)
    for (const uri of ['shop://ledger', 'shop://hours']) {
      const subscribe = { jsonrpc: '2.0', id: uri, method: 'resources/subscribe', params: { uri } }
      expect((await client.post(subscribe)).status).toBe(200)
    }
    const received = async (headers: { authorization: string }) => {
      const stream = await client.get(headers)
      server.resourceUpdated('shop://ledger')
      server.resourceUpdated('shop://hours')
      await until(() => stream.messages().some(({ params }) => Object(params).uri === 'shop://hours'))
      stream.drop()
      await until(() => stream.over())
      return stream.messages().map(({ params }) => Object(params).uri)
    }
    expect(await received(narrow)).toEqual(['shop://hours'])
    expect(await received(broad)).toEqual(['shop://ledger', 'shop://hours'])
  })

  test('a stateless subscription omits resources that its caller may not read', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const resourceSubscriptions = ['shop://ledger', 'shop://hours', 'shop://orders/1']
    const params = { notifications: { toolsListChanged: true, resourceSubscriptions } }
    const answer = await send(modern('subscriptions/listen', params, as(await tokenOf())))
    await until(() => answer.messages().length === 1)
    server.resourceUpdated('shop://ledger')
    server.resourceUpdated('shop://orders/1')
    server.resourceUpdated('shop://hours')
    await until(() => answer.messages().length === 2)
    expect(answer.messages()).toMatchObject([
      { params: { notifications: { resourceSubscriptions: ['shop://hours'] } } },
      { params: { uri: 'shop://hours' } },
    ])
    answer.drop()
  })

  test('each request of a session has the scopes of its own token', async () => {
    const { server, ran } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated() })
    const client = await session(all, '2025-11-25', as(await tokenOf({ scope: both })))
    expect((await client.call(1, 'refund')).status).toBe(200)
    const narrowed = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'refund' } }
    expect((await client.post(narrowed, as(await tokenOf({ scope: read })))).status).toBe(403)
    expect(ran).toEqual(['refund'])
  })

  test('each request of a session has the OAuth client of its own token', async () => {
    const { server } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated() })
    const client = await session(all, '2025-11-25', as(await tokenOf({ client_id: 'first' })))
    const second = as(await tokenOf({ client_id: 'second' }))
    const none = as(await tokenOf({ client_id: undefined }))
    const who = async (headers: { authorization: string }) => {
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }
      const { result } = await (await client.post(call, headers)).json()
      return JSON.parse(Object(result).content[0].text).clientId
    }
    const setLevel = { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'error' } }
    expect(await who(none)).toBeUndefined()
    expect(await who(second)).toBe('second')
    expect((await client.post(setLevel, second)).status).toBe(200)
    expect(await who(none)).toBeUndefined()
    expect(await who(as(await tokenOf()))).toBe('a-client')
  })

  test('without authenticate, definitions with scopes are unusable, with a warning', async () => {
    const warnings: string[] = []
    const { server, ran } = shop()
    const { send } = await mounted(mount, server, { onWarning: (message) => warnings.push(message) })
    expect(warnings.filter((message) => message.includes('authenticate'))).toHaveLength(1)
    const answer = await send(modern('tools/call', { name: 'refund' }))
    expect(answer.status).toBe(403)
    expect(answer.header('www-authenticate')).toBeUndefined()
    expect(ran).toEqual([])
    const { result } = await (await send(modern('tools/list'))).json()
    expect(namesIn(Object(result).tools)).toEqual(['whoami', 'sure'])
  })

  test('the HTTP+SSE transport checks scopes as well', async () => {
    const { server, ran } = shop()
    const all = await mounted(mount, server, { authenticate: authenticated(), sse: '/sse' })
    const headers = as(await tokenOf())
    const stream = await all.send({ method: 'GET', path: '/sse', headers })
    await until(() => stream.events.length === 1)
    const path = stream.events[0]?.data ?? ''
    expect((await all.send({ path, headers, body: initialize('2024-11-05') })).status).toBe(202)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'refund' } }
    expect((await all.send({ path, headers, body: call })).status).toBe(403)
    expect(ran).toEqual([])
    stream.drop()
  })
})

test('a template lists nothing that its caller may not read, and is not called for it', async () => {
  const { server } = shop()
  const asked: string[] = []
  server.add({
    resources: {
      links: template({
        uriTemplate: 'shop://links/{name}',
        list: () => ['shop://ledger', 'shop://orders/7', 'shop://links/a'].map((uri) => ({ uri, name: uri })),
        read: ({ name }) => name,
      }),
      secrets: template({
        uriTemplate: 'shop://secrets/{name}',
        scopes: ['secrets'],
        list: () => {
          asked.push('secrets')
          return []
        },
        read: ({ name }) => name,
      }),
    },
  })
  const { send } = await mounted(webAdapter, server, { authenticate: authenticated() })
  const { result } = await (await send(modern('resources/list', {}, as(await tokenOf())))).json()
  expect(namesIn(Object(result).resources)).toEqual(['hours', 'shop://links/a'])
  expect(asked).toEqual([])
})

test('the scopes of a resource decide whether results may be cached publicly', async () => {
  const { server } = shop()
  const { send } = await mounted(webAdapter, server, { authenticate: authenticated() })
  const headers = as(await tokenOf({ scope: read }))
  const scopeOf = async (uri: string) =>
    Object((await (await send(modern('resources/read', { uri }, headers))).json())['result']).cacheScope
  expect(await scopeOf('shop://ledger')).toBe('private')
  expect(await scopeOf('shop://hours')).toBe('public')
})

test('a server without scopes has publicly cacheable lists', async () => {
  const open = defineServer({
    name: 'open',
    version: '1.0.0',
    cache: { cacheScope: 'public' },
    tools: { hello: tool({ run: () => 'hello' }) },
  })
  const { send } = await mounted(webAdapter, open, {})
  expect(await (await send(modern('tools/list'))).json()).toMatchObject({ result: { cacheScope: 'public' } })
  expect(open.scopes).toEqual([])
})

test('the user who started a local server may use all of it', async () => {
  const { server } = shop()
  const client = await connect(memory(server))
  const tools = await client.tools()
  expect(tools.map(({ name }) => name)).toEqual(['refund', 'whoami', 'sure'])
  expect(await client.call('refund', {})).toMatchObject({ content: [{ text: 'refunded' }] })
  await client.close()
})

test('added and removed definitions change the required scopes', () => {
  const { server } = shop()
  expect(server.scopesFor('tools/call', { name: 'whoami' })).toEqual([])
  server.add({ tools: { whoami: tool({ scopes: ['admin', 'admin'], run: () => '' }) } })
  expect(server.scopesFor('tools/call', { name: 'whoami' })).toEqual(['admin'])
  expect(server.scopes).toContain('admin')
  server.remove({ tools: ['whoami'] })
  expect(server.scopes).not.toContain('admin')
  expect(() => server.add({ tools: { bad: tool({ scopes: ['a b'], run: () => '' }) } })).toThrow(
    expect.objectContaining({ code: 'INVALID' }),
  )
})
