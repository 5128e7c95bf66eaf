import { defineServer, resource } from '@jackfield/sdk'
import { type Client, type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { compose } from '@jackfield/sdk/compose'
import { describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { client, combinations, legacy, modern, proxied, served, textOf, until } from './support.ts'
import { createUpstream } from './upstream.ts'

const person: ConnectOptions = {
  onElicit: ({ message }) => ({
    action: 'accept',
    content: message === 'Name?' ? { name: 'Ada' } : { ok: true },
  }),
  onSample: () => ({ role: 'assistant', content: { type: 'text', text: 'A' }, model: 'm' }),
  onRoots: [{ uri: 'file:///home' }],
}

/** Everything that crosses a proxy in either direction, once. */
async function exercise(end: Client): Promise<void> {
  const changes: string[] = []
  const watch = await end.watch(
    { toolsListChanged: true, resourceSubscriptions: ['shop://stock'] },
    (change) => changes.push(change.type),
  )
  expect((await end.tools()).length).toBeGreaterThan(10)
  expect(textOf(await end.call('regional', { region: 'eu' }))).toBe('in eu')
  expect(textOf(await end.call('refund', { order: '7' }))).toBe('refunded 7')
  expect(textOf(await end.call('everything'))).toBe('["Ada","m",["file:///home"]]')
  const progress: number[] = []
  await end.call('work', {}, { onProgress: (report) => progress.push(report.progress) })
  expect(progress).toEqual([1, 2])
  await end.call('restock')
  await until(() => changes.length >= 2)
  expect(changes.toSorted()).toEqual(['resource', 'tools'])
  await watch.close()
  const stop = new AbortController()
  const hanging = end.call('hang', {}, { signal: stop.signal })
  const done = async (): Promise<string[]> => JSON.parse(textOf(await end.call('done')))
  await eventually(async () => (await done()).includes('hanging'))
  stop.abort()
  await expect(hanging).rejects.toMatchObject({ code: 'CANCELLED' })
  await eventually(async () => (await done()).includes('stopped'))
  expect(await done()).toEqual(['looked up 7', 'refunded 7', 'hanging', 'stopped'])
}

async function eventually(so: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 5_000
  while (!(await so())) if (performance.now() > end) throw new Error(`not so in time: ${so}`)
}

describe.each(combinations)('a $up server behind a proxy and a $down client', ({ up, down }) => {
  it('work together over HTTP on both sides', async () => {
    const upstream = await served(createUpstream().server)
    const url = await served(await proxied(upstream, { connect: { revisions: [up] } }))
    await exercise(await client(url, { revisions: [down], ...person }))
  })

  it('work together over stdio on both sides', async () => {
    const program = programFile(new URL('./proxy-program.ts', import.meta.url))
    const upstream = programFile(new URL('./upstream-program.ts', import.meta.url))
    const target = stdio({
      command: process.execPath,
      args: ['--no-warnings', program, '--revision', up, '--upstream', upstream],
    })
    const end = await connect(target, { revisions: [down], ...person })
    onTestFinished(() => end.close())
    await exercise(end)
  })

  it('work together through two proxies and a composition', async () => {
    const inner = await served(await proxied(createUpstream().server, { connect: { revisions: [up] } }))
    const outer = await proxied(inner, { connect: { revisions: [down] } })
    const bare = defineServer({ name: 'bare', version: '1', tools: {} })
    const town = compose({ name: 'town', version: '1', servers: { bare, shop: outer } })
    const end = await client(town, { revisions: [down], ...person })
    expect(textOf(await end.call('shop__refund', { order: '7' }))).toBe('refunded 7')
    expect(textOf(await end.call('shop__everything'))).toBe('["Ada","m",["file:///home"]]')
    expect((await end.read('shop://items/pear')).contents).toMatchObject([{ text: 'item pear' }])
    const changes: string[] = []
    await end.watch({ resourceSubscriptions: ['shop://stock'] }, (change) => changes.push(change.type))
    await end.call('shop__restock')
    await until(() => changes.includes('resource'))
    expect(JSON.parse(textOf(await end.call('shop__done')))).toEqual(['looked up 7', 'refunded 7'])
  })
})

describe('credentials', () => {
  it('of clients are never sent upstream, and the proxy uses its own there', async () => {
    for (const { up, down } of combinations) {
      const seen: string[] = []
      const upstream = await served(createUpstream().server, {
        authenticate: async (request) => {
          const names = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key', 'mcp-session-id']
          seen.push(JSON.stringify([request.url, ...names.map((name) => request.header(name))]))
          return { principal: 'the proxy' }
        },
      })
      const headers = { authorization: 'Bearer own-secret' }
      const through = await proxied(http(upstream, { headers }), {
        connect: {
          revisions: [up],
          onMessage: (direction, message) => seen.push(`${direction} ${JSON.stringify(message)}`),
        },
      })
      const url = await served(through, { authenticate: async () => ({ principal: 'ada' }) })
      const theirs = {
        authorization: 'Bearer client-secret',
        'x-api-key': 'client-secret',
        cookie: 'client-secret',
      }
      const end = await connect(http(url, { headers: theirs }), { revisions: [down], ...person })
      onTestFinished(() => end.close())
      expect(textOf(await end.call('refund', { order: '7' }))).toBe('refunded 7')
      await end.read('shop://stock')
      expect(JSON.parse(textOf(await end.call('can')))).toMatchObject({ principal: 'the proxy' })
      expect(seen.join()).toContain('own-secret')
      expect(seen.join()).not.toContain('client-secret')
    }
  })

  it('are separate for each principal if configured', async () => {
    const upstream = await served(createUpstream().server, {
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'nobody' }),
    })
    for (const { up, down } of combinations) {
      const asked: unknown[] = []
      const through = await proxied(upstream, {
        connect: { revisions: [up] },
        targetFor: (caller) => {
          asked.push(Object.keys(caller))
          return http(upstream, { headers: { authorization: `key of ${caller.principal}` } })
        },
      })
      const url = await served(through, {
        authenticate: async (request) => ({ principal: request.header('authorization') ?? '' }),
      })
      for (const who of ['ada', 'bob', 'ada']) {
        const end = await connect(http(url, { headers: { authorization: who } }), {
          revisions: [down],
          ...person,
        })
        onTestFinished(() => end.close())
        expect(JSON.parse(textOf(await end.call('can')))).toMatchObject({ principal: `key of ${who}` })
      }
      expect(asked.flat()).not.toContain('token')
    }
  })

  it("are selected for the permissions of each request's caller, in a composition too", async () => {
    const upstream = await served(createUpstream().server, {
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'nobody' }),
    })
    const books = resource({ uri: 'books://all', scopes: ['audit'], read: () => 'numbers' })
    const asked = new Set<string>()
    for (const { up, down } of combinations) {
      const through = await proxied(upstream, {
        connect: { revisions: [up] },
        targetFor: ({ scopes }) => {
          const authorization = scopes === 'any' ? scopes : [...scopes].join()
          asked.add(authorization)
          return http(upstream, { headers: { authorization } })
        },
      })
      const own = defineServer({ name: 'own', version: '1', resources: { books } })
      const url = await served(compose({ name: 'c', version: '1', servers: { up: through, own } }), {
        authenticate: async (request) => ({
          principal: 'ada',
          scopes: [request.header('authorization') ?? ''],
        }),
      })
      for (const scope of ['write', 'read', 'write']) {
        const end = await connect(http(url, { headers: { authorization: scope } }), {
          revisions: [down],
          ...person,
        })
        onTestFinished(() => end.close())
        await end.read('shop://stock')
        expect(JSON.parse(textOf(await end.call('up__can')))).toMatchObject({ principal: scope })
      }
    }
    expect([...asked]).toEqual(['write', 'read'])
  })

  it('of a session are selected again when it sends a token with other permissions', async () => {
    const upstream = await served(createUpstream().server, {
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'nobody' }),
    })
    const through = await proxied(upstream, {
      connect: { revisions: [legacy] },
      targetFor: ({ scopes }) =>
        http(upstream, { headers: { authorization: scopes === 'any' ? scopes : [...scopes].join() } }),
    })
    const url = await served(through, {
      authenticate: async (request) => ({
        principal: 'ada',
        scopes: [request.header('authorization') ?? ''],
      }),
    })
    let authorization = 'write'
    const end = await connect(http(url, { headers: () => ({ authorization }) }), { revisions: [legacy] })
    onTestFinished(() => end.close())
    for (const scope of ['write', 'read', 'write']) {
      authorization = scope
      expect(JSON.parse(textOf(await end.call('can')))).toMatchObject({ principal: scope })
    }
  })
})

it('arguments in headers are checked at the proxy as at the server', async () => {
  const upstream = await served(createUpstream().server)
  const url = await served(await proxied(upstream, { connect: { revisions: [modern] } }))
  const post = (region: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': modern,
        'mcp-method': 'tools/call',
        'mcp-name': 'regional',
        'mcp-param-region': region,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'regional',
          arguments: { region: 'eu' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': modern,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
  expect(await (await post('eu')).json()).toMatchObject({ result: { content: [{ text: 'in eu' }] } })
  const wrong = await post('us')
  expect(wrong.status).toBe(400)
  expect(await wrong.json()).toMatchObject({ error: { code: -32020 } })
})

it('a client of an old revision is served by a proxy of a new server', async () => {
  const through = await proxied(createUpstream().server, { connect: { revisions: [modern] } })
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', legacy] as const) {
    const end = await client(through, { revisions: [revision], ...person })
    expect(textOf(await end.call('work'))).toBe('worked')
    const { kinds } = JSON.parse(textOf(await end.call('can')))
    expect(kinds.includes('elicitation')).toBe(revision >= '2025-06-18')
  }
})
