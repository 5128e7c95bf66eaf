import { defineServer, type Extension, type JsonRpcMessage, RpcError, tool } from '@jackfield/sdk'
import { type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { ProxyOptions } from '@jackfield/sdk/compose'
import { describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { client, combinations, legacy, modern, proxied, served, textOf, until } from './support.ts'
import { createUpstream } from './upstream.ts'

const agree: ConnectOptions = { onElicit: () => ({ action: 'accept', content: { ok: true } }) }

/** A proxy whose messages upstream are counted. */
const watched = async (up: ProxyOptions['connect'] = {}, options: ProxyOptions = {}) => {
  const { server, log } = createUpstream()
  const sent: JsonRpcMessage[] = []
  const through = await proxied(server, {
    onError: () => {},
    ...options,
    connect: { ...up, onMessage: (direction, message) => direction === 'sent' && sent.push(message) },
  })
  const of = (method: string) =>
    sent.flatMap((one) => ('method' in one && one.method === method ? [one] : []))
  return { server, log, through, sent, of }
}

describe('subscriptions', () => {
  it('are opened upstream once for many clients, and closed with the last', async () => {
    for (const up of [legacy, modern]) {
      const { through, of, server } = await watched({ revisions: [up === legacy ? legacy : modern] })
      const [on, off] =
        up === legacy
          ? ['resources/subscribe', 'resources/unsubscribe']
          : ['subscriptions/listen', 'notifications/cancelled']
      const filter = { resourceSubscriptions: ['shop://stock'] }
      const received: string[] = []
      const ends = [
        await client(through, { revisions: [modern] }),
        await client(through, { revisions: [modern] }),
      ]
      const watches = await Promise.all(ends.map((end, i) => end.watch(filter, () => received.push(`${i}`))))
      expect(of(on ?? '')).toHaveLength(1)
      server.resourceUpdated('shop://stock')
      await until(() => received.length === 2)
      expect(received.toSorted()).toEqual(['0', '1'])
      await watches[0]?.close()
      server.resourceUpdated('shop://stock')
      await until(() => received.length === 3)
      expect(of(off ?? '')).toHaveLength(0)
      await watches[1]?.close()
      await until(() => of(off ?? '').length === 1)
      expect(received.at(-1)).toBe('1')
    }
  })

  it('to unsupported changes are rejected', async () => {
    const bare = defineServer({ name: 'bare', version: '1', tools: {} })
    const through = await proxied(bare, { connect: { revisions: [legacy] } })
    const end = await client(through, { revisions: [modern] })
    const { acknowledged } = await end.watch({
      toolsListChanged: true,
      resourceSubscriptions: ['a://b'],
    })
    expect(acknowledged).toEqual({ toolsListChanged: true })
  })
})

describe('a server with sessions', () => {
  it("gets a separate session for each client with one, with that client's capabilities", async () => {
    const { through, of } = await watched({ revisions: [legacy] })
    const first = await client(through, { revisions: [legacy], ...agree })
    const second = await client(through, { revisions: [legacy], onRoots: [] })
    await first.call('can')
    await second.call('can')
    await first.call('can')
    const declared = of('initialize').map(({ params }) => params?.['capabilities'])
    expect(declared).toEqual([{}, { elicitation: { form: {} } }, { roots: {} }])
  })

  it("gets a user's refusal with its code and data", async () => {
    const { through, sent } = await watched({ revisions: [legacy] })
    const end = await client(through, {
      revisions: [legacy],
      onElicit: () => ({ action: 'decline' }),
      onSample: () => {
        throw new RpcError(-1, 'I would rather not', { why: 'tired' })
      },
      onRoots: [],
    })
    const result = await end.call('everything')
    expect(textOf(result)).toContain('I would rather not')
    expect(sent).toContainEqual(
      expect.objectContaining({ error: { code: -1, message: 'I would rather not', data: { why: 'tired' } } }),
    )
  })

  it.each([legacy, modern] as const)('may request input during other calls of a %s client', async (down) => {
    const { through, log } = await watched({ revisions: [legacy] })
    const end = await client(through, { revisions: [down], ...agree })
    const stop = new AbortController()
    const hanging = end.call('hang', {}, { signal: stop.signal })
    const refunds = ['1', '2', '3'].map((order) => end.call('refund', { order }))
    expect((await Promise.all(refunds)).map(textOf)).toEqual(['refunded 1', 'refunded 2', 'refunded 3'])
    expect(log.filter((line) => line.startsWith('refunded'))).toHaveLength(3)
    stop.abort()
    await expect(hanging).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('has its question moved when the call it was asked in ends first', async () => {
    const { through, log } = await watched({ revisions: [legacy] })
    let asked = 0
    const stop = new AbortController()
    const end = await client(through, {
      revisions: [legacy],
      onElicit: async (_question, { signal }) => {
        // The first question is delayed until its call was cancelled.
        if (++asked === 1) {
          stop.abort()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }
        return { action: 'accept', content: { ok: true } }
      },
    })
    const refund = end.call('refund', { order: '9' })
    const hanging = end.call('hang', {}, { signal: stop.signal })
    await expect(hanging).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(textOf(await refund)).toBe('refunded 9')
    expect(log.filter((line) => line.startsWith('refunded'))).toHaveLength(1)
  })

  it('cancels its question at the client', async () => {
    const { server, through } = await watched({ revisions: [legacy] })
    const withdrawn: string[] = []
    server.add({
      tools: {
        impatient: tool({
          description: 'Asks, and fails before the answer',
          async run(_, ctx) {
            void ctx.elicit({
              message: 'Well?',
              schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
            })
            await new Promise((resolve) => setTimeout(resolve, 30))
            return 'gave up'
          },
        }),
      },
    })
    const end = await client(through, {
      revisions: [legacy],
      onElicit: (question, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            withdrawn.push(question.message)
            resolve({ action: 'cancel' })
          }),
        ),
    })
    expect(textOf(await end.call('impatient'))).toBe('gave up')
    await until(() => withdrawn.length === 1)
  })

  it('notifies only the session of a completed URL elicitation', async () => {
    const { through } = await watched({ revisions: [legacy] })
    const done: string[] = []
    const clientOf = async (name: string) =>
      client(through, {
        revisions: [legacy],
        elicitation: { url: true },
        onElicit: () => ({ action: 'accept' }),
        onElicitationComplete: (id) => done.push(`${name} ${id}`),
      })
    const [ada, bob] = [await clientOf('ada'), await clientOf('bob')]
    await ada.call('visit')
    await ada.call('visited')
    await until(() => done.length > 0)
    await bob.ping()
    expect(done).toEqual(['ada v1'])
  })

  it('uses at most the allowed number of connections', async () => {
    const { through } = await watched({ revisions: [legacy] }, { limits: { connections: 1 } })
    const first = await client(through, { revisions: [legacy], ...agree })
    await first.call('can')
    const second = await client(through, { revisions: [legacy] })
    await expect(second.call('can')).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('Too many connections'),
    })
    await first.close()
    expect(JSON.parse(textOf(await second.call('can')))).toMatchObject({ kinds: [] })
  })

  it('uses at most the allowed number for one principal, which leaves the rest to others', async () => {
    const { through } = await watched({ revisions: [legacy] }, { limits: { connectionsPerPrincipal: 1 } })
    const url = await served(through, {
      authenticate: async (request) => ({ principal: request.header('x-who') ?? '' }),
    })
    const as = async (who: string) => {
      const end = await connect(http(url, { headers: { 'x-who': who } }), { revisions: [legacy] })
      onTestFinished(() => end.close())
      return end
    }
    const [first, second, bob] = [await as('ada'), await as('ada'), await as('bob')]
    await first.call('can')
    await expect(second.call('can')).rejects.toMatchObject({
      message: expect.stringContaining('Too many connections'),
    })
    await bob.call('can')
    await first.close()
    await second.call('can')
  })

  it('may be used over one shared connection, and then requests no input', async () => {
    const { through, of } = await watched({ revisions: [legacy] }, { sharedConnection: true })
    for (const revision of [legacy, modern] as const) {
      const end = await client(through, { revisions: [revision], ...agree })
      expect(JSON.parse(textOf(await end.call('can')))).toMatchObject({ kinds: [] })
      expect(textOf(await end.call('work'))).toBe('worked')
    }
    expect(of('initialize')).toHaveLength(1)
  })
})

describe('a previously connected client', () => {
  it('is used unchanged: input requests are forwarded with stateless requests, else to its own handlers', async () => {
    for (const up of [legacy, modern] as const) {
      const { server } = createUpstream()
      const owner = await client(server, { revisions: [up], onElicit: () => ({ action: 'decline' }) })
      const through = await proxied(owner)
      for (const down of [legacy, modern] as const) {
        const end = await client(through, { revisions: [down], ...agree })
        const text = textOf(await end.call('refund', { order: '1' }))
        expect(text).toBe(up === modern ? 'refunded 1' : 'kept: decline')
      }
      await through.close()
      await owner.ping()
    }
  })
})

describe.each(combinations)('an upstream process that ends ($up server, $down client)', ({ up, down }) => {
  it('is restarted, and running requests get an error', async () => {
    const program = programFile(new URL('./upstream-program.ts', import.meta.url))
    const target = stdio({ command: process.execPath, args: ['--no-warnings', program] })
    const through = await proxied(target, { connect: { revisions: [up] }, onError: () => {} })
    const end = await client(through, { revisions: [down], ...agree })
    const changes: string[] = []
    await end.watch({ toolsListChanged: true }, (change) => changes.push(change.type))
    expect(textOf(await end.call('refund', { order: '1' }))).toBe('refunded 1')
    await expect(end.call('exit')).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('check before you repeat it'),
    })
    await until(() => changes.includes('tools'), 15_000)
    expect(textOf(await end.call('refund', { order: '2' }))).toBe('refunded 2')
  })
})

describe('extensions', () => {
  const id = 'com.example/later'
  const later: Extension = {
    id,
    settings: { limit: 3 },
    methods: {
      'later/get': {
        named: 'ticket',
        handle: ({ params }) => ({ type: 'complete', result: { got: params['ticket'] } }),
      },
    },
    use: async (exchange, next) =>
      exchange.method === 'tools/call' && exchange.peer.capabilities.extensions?.[id] !== undefined
        ? { type: 'extension', resultType: 'later', result: { ticket: 't1' } }
        : next(exchange),
  }
  const speaker: ConnectOptions = {
    revisions: [modern],
    extensions: [
      {
        id,
        named: { 'later/get': 'ticket' },
        results: {
          later: async ({ ticket }, call) => ({
            content: [{ type: 'text', text: JSON.stringify(await call.request('later/get', { ticket })) }],
          }),
        },
      },
    ],
  }
  const upstream = () =>
    served(
      defineServer({
        name: 'late',
        version: '1',
        tools: { go: tool({ description: 'Goes', run: () => 'at once' }) },
        extensions: [later],
      }),
    )

  it('are forwarded if named, with their results and methods', async () => {
    const extensions = [{ id, methods: { 'later/get': { named: 'ticket' } } }]
    const url = await served(await proxied(await upstream(), { extensions }))
    const end = await connect(url, speaker)
    onTestFinished(() => end.close())
    expect(end.server.capabilities.extensions).toEqual({ [id]: { limit: 3 } })
    expect(JSON.parse(textOf(await end.call('go')))).toMatchObject({ got: 't1' })
  })

  it('are declared in neither direction otherwise', async () => {
    const url = await served(await proxied(await upstream()))
    const end = await connect(url, speaker)
    onTestFinished(() => end.close())
    expect(end.server.capabilities.extensions).toBeUndefined()
    expect(textOf(await end.call('go'))).toBe('at once')
    await expect(end.request('later/get', { ticket: 't1' })).rejects.toMatchObject({ code: -32601 })
  })
})

it('reveals no internals when the server is unreachable', async () => {
  await expect(proxied('http://127.0.0.1:9/mcp')).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  const { server } = createUpstream()
  const url = await served(server)
  const reports: unknown[] = []
  const through = await proxied(url, { onError: (error) => reports.push(error) })
  const direct = await client(through, { revisions: [modern] })
  await direct.call('work')
  server.add({ tools: { gone: tool({ description: 'x', run: () => new Promise<string>(() => {}) }) } })
  const end = await client(through, { revisions: [modern] })
  const stop = new AbortController()
  const call = end.call('gone', {}, { signal: stop.signal })
  stop.abort()
  await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(reports).toEqual([])
})
