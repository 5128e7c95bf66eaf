import { type Backplane, defineServer, type JsonObject, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Ask, type Mounted, nodeAdapter, session } from './http-support.ts'
import {
  accept,
  client,
  cluster,
  Gate,
  messages,
  progressed,
  revision,
  shop,
  text,
  watchdog,
} from './shared-sessions-support.ts'
import { initialize } from './support.ts'

describe('a session on several nodes', () => {
  it('is served by each of them, and accepts an answer on another node than the one that asked', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    for (const node of [nodes.b, nodes.c, nodes.a]) {
      expect(await (await on(node).call(1, 'look')).json()).toMatchObject(text('seen'))
    }
    const call = await on(nodes.a).call(2, 'buy')
    const [question] = await messages(call, 1)
    expect(question).toMatchObject({ method: 'elicitation/create' })
    const answered = await Promise.all(
      [nodes.b, nodes.c].map((node, at) =>
        on(node).post(accept(question?.['id'], ['accept', 'decline'][at])),
      ),
    )
    expect(answered.map(({ status }) => status)).toEqual([202, 202])
    await call.text()
    expect(call.messages()).toHaveLength(2)
    expect(['accept', 'decline']).toContain(Object(call.messages()[1]?.['result']).content?.[0]?.text)
  })

  it('ignores answers to questions that were not sent, and stores nothing for them', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(2, 'buy')
    const [question] = await messages(call, 1)
    const add = vi.spyOn(nodes.backplane, 'set')
    const invented = String(question?.['id']).replace(/-.*/, '-invented')
    for (const id of [invented, 'x', 7]) expect((await on(nodes.b).post(accept(id))).status).toBe(202)
    expect(add).not.toHaveBeenCalled()
    await on(nodes.c).post(accept(question?.['id']))
    await call.text()
    expect(call.messages()[1]).toMatchObject(text('accept'))
  })

  it('accepts an answer that no message announced', async () => {
    const lost: (() => void)[] = []
    const plane: Backplane = { ...memoryBackplane(), spansProcesses: true }
    const nodes = await cluster({
      backplane: {
        ...plane,
        publish: async () => {},
        subscribe: async (_topic, _listener, missed) => {
          if (missed !== undefined) lost.push(missed)
          return () => {}
        },
      },
    })
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(2, 'buy')
    const [question] = await messages(call, 1)
    await on(nodes.b).post(accept(question?.['id']))
    for (const missed of lost) missed()
    await call.text()
    expect(call.messages()[1]).toMatchObject(text('accept'))
  })

  it('accepts an answer to a question that the store lost, also on another node', async () => {
    const nodes = await cluster()
    const { id, on } = await client(nodes)
    const call = await on(nodes.a).call(1, 'buy')
    const [question] = await messages(call, 1)
    await nodes.backplane.delete(`question:${id}:${question?.['id']}`)
    expect((await on(nodes.b).post(accept(question?.['id']))).status).toBe(202)
    await call.text()
    expect(call.messages()[1]).toMatchObject({ id: 1, ...text('accept') })
  })

  it('accepts an answer on another node to a question that could not be stored, although its message is lost', async () => {
    const plane: Backplane = { ...memoryBackplane(), spansProcesses: true }
    let lost = 0
    const nodes = await cluster({
      backplane: {
        ...plane,
        set: (key, ...rest) =>
          key.startsWith('question:') ? Promise.reject(new Error('away')) : plane.set(key, ...rest),
        publish: async (topic, message) => {
          if (message.includes('"answered"') && lost++ === 0) return
          await plane.publish(topic, message)
        },
      },
    })
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(1, 'buy')
    const [question] = await messages(call, 1)
    expect((await on(nodes.b).post(accept(question?.['id']))).status).toBe(202)
    await call.text()
    expect(call.messages()[1]).toMatchObject({ id: 1, ...text('accept') })
    expect(lost).toBe(2)
  })

  it('is cancelled on the node that runs the request', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(9, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    const params = { requestId: 9, reason: 'no longer wanted' }
    await on(nodes.c).post({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    await vi.waitFor(() => expect(nodes.a.gate.signals.at(-1)?.aborted).toBe(true), watchdog)
    await call.text()
    expect(call.messages()).toHaveLength(1)
  })

  it('resumes a stream on any node with missed events, later events and the response, each once', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(3, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    const last = call.events.at(-1)?.id
    call.drop()
    await nodes.a.gate.next()
    const onB = await on(nodes.b).get(last)
    expect(await messages(onB, 1)).toMatchObject([{ params: { progress: 2 } }])
    await nodes.a.gate.next()
    expect(await messages(onB, 2)).toMatchObject([{}, { params: { progress: 3 } }])
    const onC = await on(nodes.c).get(onB.events[0]?.id)
    expect(await messages(onC, 1)).toMatchObject([{ params: { progress: 3 } }])
    await onB.text()
    await nodes.a.gate.next()
    await onC.text()
    expect(onC.messages().slice(1)).toMatchObject([{ id: 3, ...text('packed') }])
    expect(onB.messages()).toHaveLength(2)

    for (const node of [nodes.a, nodes.b, nodes.c]) {
      const again = await on(node).get(last)
      await again.text()
      expect(again.messages().map(({ params, id }) => Object(params).progress ?? id)).toEqual([2, 3, 3])
    }
    const mine = await on(nodes.b).call(4, 'look')
    expect(await mine.json()).toMatchObject(text('seen'))
    for (const unknown of ['x', `${last}0`, `${'0'.repeat(12)}-aaaaaaaa-1_1`]) {
      expect((await on(nodes.b).get(unknown)).status).toBe(400)
    }
  })

  it('resumes a stream again on the node that runs the request', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(3, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    call.drop()
    const onB = await on(nodes.b).get(call.events.at(-1)?.id)
    await nodes.a.gate.next()
    await messages(onB, 1)
    onB.drop()
    const onA = await on(nodes.a).get(onB.events.at(-1)?.id)
    await nodes.a.gate.next()
    await nodes.a.gate.next()
    await onA.text()
    expect(onA.messages()).toMatchObject([{ params: { progress: 3 } }, { id: 3, ...text('packed') }])
  })

  it('notifies of changes on every node, including changes before the stream was opened', async () => {
    const nodes = await cluster()
    const { id, on } = await client(nodes)
    const onA = await on(nodes.a).get()
    const uri = 'shop://stock'
    expect(await on(nodes.b).request(1, 'resources/subscribe', { uri })).toHaveProperty('result')
    await vi.waitFor(() => {
      nodes.c.server.resourceUpdated(uri)
      expect(onA.messages()).toContainEqual(
        expect.objectContaining({ method: 'notifications/resources/updated', params: { uri } }),
      )
    }, watchdog)
    onA.drop()
    nodes.c.server.resourceUpdated('shop://other')
    nodes.c.server.add({ tools: { more: tool({ run: () => 'more' }) } })
    await vi.waitFor(
      async () => expect((await on(nodes.b).get(onA.events[0]?.id)).status).toBe(200),
      watchdog,
    )
    const onC = await on(nodes.c).get()
    expect(onC.status).toBe(200)
    await vi.waitFor(
      () =>
        expect(onC.messages().map(({ method }) => method)).toEqual(
          expect.arrayContaining(['notifications/tools/list_changed', 'notifications/resources/updated']),
        ),
      watchdog,
    )
    expect(await on(nodes.a).request(2, 'resources/unsubscribe', { uri })).toHaveProperty('result')
    const before = onC.messages().length
    await vi.waitFor(
      async () => expect(await nodes.backplane.get(`session:shop:${id}`)).not.toContain(uri),
      watchdog,
    )
    nodes.a.server.resourceUpdated(uri)
    nodes.a.server.remove({ tools: ['look'] })
    await messages(onC, before + 1)
    expect(
      onC
        .messages()
        .slice(before)
        .map(({ method }) => method),
    ).toEqual(['notifications/tools/list_changed'])
  })

  it('resumes a stream on the node that ran its request, also after that node dropped the session', async () => {
    const nodes = await cluster({ limits: { sessionIdleMs: 3_600_000, sessions: 2 } })
    const { on } = await client(nodes)
    const call = await on(nodes.b).call(3, 'pack', progressed)
    for (let gates = 0; gates < 4; gates++) await nodes.b.gate.next()
    await call.text()
    const first = call.events.find(({ data }) => data !== '')?.id
    const others = await Promise.all([session(nodes.c, revision), session(nodes.c, revision)])
    for (const { id } of others) {
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      expect((await nodes.b.send({ body, headers })).status).toBe(200)
    }
    for (const node of [nodes.b, nodes.a]) {
      const resumed = await on(node).get(first)
      await resumed.text()
      expect(resumed.messages().map(({ params, id }) => Object(params).progress ?? id)).toEqual([2, 3, 3])
    }
  })

  it('does not exist on a server of another name', async () => {
    const nodes = await cluster()
    const { id, on } = await client(nodes)
    const other = defineServer({
      name: 'other',
      version: '1.0.0',
      tools: { look: tool({ run: () => 'other' }) },
    })
    const mounted = await nodeAdapter(other, { backplane: nodes.backplane })
    onTestFinished(() => mounted.close())
    expect((await on(mounted).call(1, 'look')).status).toBe(404)
    expect(await (await on(nodes.b).call(1, 'look')).json()).toMatchObject(text('seen'))
    expect(await nodes.backplane.get(`session:shop:${id}`)).toBeDefined()
  })

  it('stores no events for a session without streams', async () => {
    const nodes = await cluster()
    const append = vi.spyOn(nodes.backplane, 'append')
    const { on } = await client(nodes)
    for (const node of [nodes.a, nodes.b, nodes.c]) await (await on(node).call(1, 'look')).text()
    for (const node of [nodes.a, nodes.b, nodes.c]) await node.close()
    expect(append).not.toHaveBeenCalled()
  })

  it('keeps its log level on all nodes', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const spoken = await (await on(nodes.b).call(1, 'speak')).text()
    expect(spoken).toContain('spoken')
    await on(nodes.c).request(2, 'logging/setLevel', { level: 'error' })
    for (const node of [nodes.a, nodes.b, nodes.c]) {
      expect(await (await on(node).call(3, 'speak')).text()).not.toContain('spoken')
    }
  })

  it('notifies once that a URL elicitation was completed', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const stream = await on(nodes.b).get()
    const call = await on(nodes.a).call(1, 'visit')
    const [question] = await messages(call, 1)
    await on(nodes.c).post({ jsonrpc: '2.0', id: question?.['id'], result: { action: 'accept' } })
    await call.text()
    await vi.waitFor(() => {
      nodes.c.server.elicitationComplete('payment-7')
      expect(stream.messages()).toHaveLength(1)
    }, watchdog)
    expect(stream.messages()[0]).toMatchObject({ method: 'notifications/elicitation/complete' })
  })

  it('ends on all nodes at once', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(1, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    expect((await on(nodes.b).end()).status).toBe(204)
    for (const node of [nodes.c, nodes.a, nodes.b]) expect((await on(node).call(2, 'look')).status).toBe(404)
    await vi.waitFor(() => expect(nodes.a.gate.signals.at(-1)?.aborted).toBe(true), watchdog)
    await call.text()
  })

  it('does not exist for another principal on any node', async () => {
    const nodes = await cluster({
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'none' }),
    })
    const { id } = await client(nodes, { authorization: 'alice' })
    for (const node of [nodes.a, nodes.b, nodes.c]) {
      for (const [authorization, status] of [
        ['mallory', 404],
        ['alice', 200],
      ] as const) {
        const headers = { 'mcp-session-id': id, authorization }
        const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
        expect((await node.send({ body, headers })).status).toBe(status)
      }
    }
  })

  it('answers requests of a closing or closed node as interrupted, and continues on other nodes', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const open = await on(nodes.a).call(1, 'pack', progressed)
    const early = on(nodes.a).call(2, 'pack')
    const cut = await on(nodes.a).call(3, 'pack', progressed)
    for (let gates = 0; gates < 3; gates++) await nodes.a.gate.next()
    await messages(open, 1)
    await messages(cut, 1)
    cut.drop()
    await nodes.a.close()
    const interrupted = { error: { code: -32603, data: { interrupted: true } } }
    await open.text()
    expect(open.messages().at(-1)).toMatchObject({ id: 1, ...interrupted })
    await (await early).text()
    const resumed = await on(nodes.b).get(cut.events.at(-1)?.id)
    await resumed.text()
    expect(resumed.messages()).toMatchObject([{ id: 3, ...interrupted }])
    expect(await (await on(nodes.c).call(4, 'look')).json()).toMatchObject(text('seen'))
  })

  it('accepts answers in batches', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes, {}, {}, '2025-03-26')
    const answer = await on(nodes.b).post([
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'look' } },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } },
    ])
    expect(await answer.json()).toMatchObject([{ id: 1, ...text('seen') }])
  })

  it('stays in its process if the server has state of its own for each session', async () => {
    const nodes = await cluster({ sessions: 'local' })
    const begun = await session(nodes.a, revision)
    expect((await nodes.b.send({ method: 'DELETE', headers: { 'mcp-session-id': begun.id } })).status).toBe(
      404,
    )
    expect((await begun.end()).status).toBe(204)
  })

  it('gets 503, never 404, while the backplane fails', async () => {
    let fails = false
    const plane: Backplane = { ...memoryBackplane(), spansProcesses: true }
    const get: Backplane['get'] = (key) => (fails ? Promise.reject(new Error('away')) : plane.get(key))
    const set: Backplane['set'] = (...args) =>
      fails ? Promise.reject(new Error('away')) : plane.set(...args)
    const nodes = await cluster({ backplane: { ...plane, get, set } })
    const { on } = await client(nodes)
    const here = await on(nodes.a).call(1, 'look')
    expect(here.status).toBe(200)
    fails = true
    expect((await on(nodes.a).call(2, 'look')).status).toBe(200)
    const fresh = await nodes.start()
    const refused = await on(fresh).call(3, 'look')
    expect([refused.status, refused.header('retry-after')]).toEqual([503, '2'])
    expect((await session(fresh, revision)).first.status).toBe(503)
    fails = false
    expect((await on(fresh).call(4, 'look')).status).toBe(200)
  })
})

describe('a session of HTTP+SSE on several nodes', () => {
  const sse = '/sse'
  const open = async (node: Pick<Mounted, 'send'>, headers: Ask['headers'] = {}) => {
    const stream = await node.send({ method: 'GET', path: sse, headers })
    const path = await vi.waitFor(() => stream.events[0]?.data ?? expect.unreachable(), watchdog)
    const received = (): JsonObject[] => stream.events.slice(1).map(({ data }) => JSON.parse(data))
    const response = (id: unknown): Promise<JsonObject> =>
      vi.waitFor(() => received().find((message) => message['id'] === id) ?? expect.unreachable(), watchdog)
    const post = async (on: Pick<Mounted, 'send'>, body: unknown, more: Ask['headers'] = headers) =>
      (await on.send({ path, body, headers: more })).status
    return { stream, path, received, response, post }
  }
  const call = (id: number, name: string): JsonObject => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name },
  })

  it('accepts messages on each of them: requests, answers and cancellations', async () => {
    const nodes = await cluster({ sse })
    const { received, response, post } = await open(nodes.a)
    expect(await post(nodes.b, initialize('2024-11-05', 'init', { elicitation: {} }))).toBe(202)
    await response('init')
    expect(await post(nodes.c, { jsonrpc: '2.0', method: 'notifications/initialized' })).toBe(202)
    expect(await post(nodes.b, call(1, 'look'))).toBe(202)
    expect(await response(1)).toMatchObject(text('seen'))
    expect(await post(nodes.a, call(2, 'look'))).toBe(202)
    await response(2)
    expect(await post(nodes.b, call(3, 'pack'))).toBe(202)
    await vi.waitFor(() => expect(nodes.a.gate.signals).toHaveLength(1), watchdog)
    const params = { requestId: 3 }
    expect(await post(nodes.c, { jsonrpc: '2.0', method: 'notifications/cancelled', params })).toBe(202)
    await vi.waitFor(() => expect(nodes.a.gate.signals[0]?.aborted).toBe(true), watchdog)
    expect(await post(nodes.c, { jsonrpc: '2.0', id: {}, method: 7 })).toBe(400)
    expect(received().map(({ id }) => id)).toEqual(['init', 1, 2])
  })

  it('does not exist for another principal, nor after its stream has ended', async () => {
    const nodes = await cluster({
      sse,
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'none' }),
    })
    const alice = { authorization: 'alice' }
    const { stream, response, post } = await open(nodes.a, alice)
    for (const node of [nodes.a, nodes.b]) {
      expect(await post(node, call(1, 'look'), { authorization: 'mallory' })).toBe(404)
    }
    expect(await post(nodes.b, initialize('2024-11-05'))).toBe(202)
    await response('init')
    stream.drop()
    await vi.waitFor(async () => expect(await post(nodes.b, call(2, 'look'))).toBe(404), watchdog)
    expect(await post(nodes.c, call(2, 'look'))).toBe(404)
  })

  it('ends with the node of its stream', async () => {
    const nodes = await cluster({ sse })
    const { stream, post } = await open(nodes.a)
    await nodes.a.close()
    await stream.text()
    expect(await post(nodes.b, call(1, 'look'))).toBe(404)
  })
})

describe('a node that drains', () => {
  const health = '/healthz'

  it('reports that it is not ready, serves requests until none runs, and closes', async () => {
    const nodes = await cluster({ health })
    const { on } = await client(nodes)
    const check = async (what: string) => {
      const answer = await nodes.a.send({
        method: 'GET',
        path: `${health}/${what}`,
        headers: { host: 'an-address-that-is-not-allowed' },
      })
      return [answer.status, await answer.json()]
    }
    expect(await check('ready')).toEqual([200, { status: 'ready' }])
    const call = await on(nodes.a).call(1, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    const drained = nodes.a.handler.drain({ settleMs: 1, graceMs: 20_000 })
    expect(await check('ready')).toEqual([503, { status: 'draining' }])
    expect(await check('live')).toEqual([200, { status: 'live' }])
    const meanwhile = await on(nodes.a).call(2, 'look')
    expect([meanwhile.status, meanwhile.header('connection')]).toEqual([200, 'close'])
    for (let gates = 0; gates < 3; gates++) await nodes.a.gate.next()
    await call.text()
    expect(call.messages().at(-1)).toMatchObject(text('packed'))
    await drained
    expect((await on(nodes.a).call(3, 'look')).status).toBe(503)
    expect(await (await on(nodes.c).call(4, 'look')).json()).toMatchObject(text('seen'))
  })

  it('answers requests as interrupted that do not finish in time', async () => {
    const nodes = await cluster()
    const { on } = await client(nodes)
    const call = await on(nodes.a).call(1, 'pack', progressed)
    await nodes.a.gate.next()
    await messages(call, 1)
    await nodes.a.handler.drain({ settleMs: 0, graceMs: 1 })
    await call.text()
    expect(call.messages()[1]).toMatchObject({ id: 1, error: { data: { interrupted: true } } })
  })

  it('refuses a path of health checks that an endpoint has, and options that do not exist', async () => {
    const server = shop(new Gate())
    expect(() => serveHttp(server, { health: '/mcp' })).toThrow('health: "/mcp" is the path of an endpoint')
    expect(() => serveHttp(server, { health: 'healthz' })).toThrow('must begin with "/"')
    // @ts-expect-error the option does not exist
    expect(() => serveHttp(server).drain({ waitMs: 1 })).toThrow('waitMs')
  })
})
