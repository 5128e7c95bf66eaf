import { describe, expect, it } from 'vitest'
import { begun, discovered, result, type Seen, scripted, sse, until } from '../client/support/http.ts'
import { passing, withOwnTime } from '../client/support/turns.ts'
import { never, open, text } from './opened.ts'

describe('a session', () => {
  it('sends its id and revision with every later request, and is deleted on close', async () => {
    const server = await scripted((one) => {
      if (begun(one, 'session-1')) return
      if (one.method === 'GET') one.res.writeHead(405).end()
      else result(one, { tools: [] })
    })
    const client = await open(server.url)
    await client.tools()
    await client.close()
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session' })
    const [initialize] = server.of('initialize')
    expect(initialize?.headers['mcp-session-id']).toBeUndefined()
    const later = server.seen.slice(server.seen.indexOf(initialize ?? server.seen[0] ?? never()) + 1)
    expect(later.map((one) => one.message.method ?? one.method)).toEqual([
      'notifications/initialized',
      'GET',
      'tools/list',
      'DELETE',
    ])
    for (const { headers } of later) {
      expect(headers).toMatchObject({ 'mcp-session-id': 'session-1', 'mcp-protocol-version': '2025-11-25' })
      expect(headers['mcp-method']).toBeUndefined()
    }
  })

  it.each([404, 405, 400, 500, 204])('works if the GET stream returns %i', async (status) => {
    const server = await scripted((one) => {
      if (begun(one, 's')) return
      if (one.method === 'GET') one.res.writeHead(status).end()
      else result(one, { tools: [] })
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
  })

  it('cancels with a notification, and stops reading', async () => {
    const server = await scripted((one) => {
      if (begun(one, 's')) return
      if (one.method === 'GET') one.res.writeHead(405).end()
      else sse(one.res)({ id: '1' })
    })
    const client = await open(server.url)
    const stop = new AbortController()
    const call = client.call('slow', {}, { signal: stop.signal })
    await until(() => server.of('tools/call').length === 1)
    stop.abort(new Error('the person pressed stop'))
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => server.of('notifications/cancelled').length === 1)
    const [cancelled] = server.of('notifications/cancelled')
    expect(cancelled?.message.params.requestId).toBe(server.of('tools/call')[0]?.message.id)
  })

  it('resumes a stream that the server closed after the requested wait, and then without delay', () =>
    withOwnTime(async () => {
      let closedAt = 0
      const server = await scripted((one) => {
        if (begun(one, 's')) return
        if (one.method === 'GET') {
          if (one.headers['last-event-id'] === undefined) return void one.res.writeHead(405).end()
          const [call] = server.of('tools/call')
          sse(one.res)({ id: '2', data: { jsonrpc: '2.0', id: call?.message.id, result: text('later') } })
          one.res.end()
          return
        }
        sse(one.res)({ id: 'first', retry: 500 })
        setTimeout(() => {
          closedAt = performance.now()
          one.res.end()
        }, 50)
      })
      const client = await open(server.url)
      const call = client.call('test_reconnection')
      await passing(() => server.seen.some((one) => one.headers['last-event-id'] !== undefined))
      const waited = performance.now() - closedAt
      await expect(call).resolves.toMatchObject(text('later'))
      const resumed = server.seen.find((one) => one.headers['last-event-id'] !== undefined)
      expect(resumed?.headers['last-event-id']).toBe('first')
      expect(waited).toBeGreaterThanOrEqual(495)
      expect(waited).toBeLessThan(700)
    }))

  it('resumes a stream that broke off in the middle', async () => {
    const progress: number[] = []
    const server = await scripted((one) => {
      if (begun(one, 's')) return
      const report = (n: number) => ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: {
          progressToken: server.of('tools/call')[0]?.message.params._meta.progressToken,
          progress: n,
        },
      })
      if (one.method === 'GET') {
        if (one.headers['last-event-id'] === undefined) return void one.res.writeHead(405).end()
        const send = sse(one.res)
        send({ id: '3', data: report(2) })
        send({
          id: '4',
          data: { jsonrpc: '2.0', id: server.of('tools/call')[0]?.message.id, result: text('whole') },
        })
        one.res.end()
        return
      }
      sse(one.res)({ id: '2', data: report(1) })
      setTimeout(() => one.res.destroy(), 20)
    })
    const client = await open(server.url)
    const call = client.call('x', {}, { onProgress: (report) => progress.push(report.progress) })
    await expect(call).resolves.toMatchObject(text('whole'))
    expect(progress).toEqual([1, 2])
  })

  it('limits requests to a server that closes the GET stream at once with retry: 0', () =>
    withOwnTime(async () => {
      const server = await scripted((one) => {
        if (begun(one, 's')) return
        if (one.method !== 'GET') return
        sse(one.res)({ retry: 0 })
        one.res.end()
      })
      await open(server.url)
      const end = performance.now() + 3_000
      await passing(() => performance.now() >= end)
      expect(server.seen.filter((one) => one.method === 'GET').length).toBeLessThanOrEqual(12)
    }))

  it('that ended is reopened once for all callers, and rejected requests are sent again', async () => {
    let current = 's1'
    let runs = 0
    const server = await scripted((one) => {
      if (one.message.method === 'initialize' && server.of('initialize').length > 1) current = 's2'
      if (begun(one, current)) return
      if (one.method === 'GET') one.res.writeHead(405).end()
      else if (one.headers['mcp-session-id'] !== 's2') one.res.writeHead(404).end()
      else if (one.message.method === 'tools/call') {
        runs++
        result(one, text('ran'))
      } else result(one, { tools: [] })
    })
    const client = await open(server.url)
    const all = await Promise.all([client.tools(), client.call('pay'), client.tools(), client.ping()])
    expect(all[1]).toMatchObject(text('ran'))
    expect(runs).toBe(1)
    expect(server.of('initialize')).toHaveLength(2)
    expect(server.of('initialize')[1]?.headers['mcp-session-id']).toBeUndefined()
  })

  it('that is being reopened is awaited', async () => {
    const server = await scripted((one) => {
      const again = server.of('initialize').length > 1
      if (one.message.method === 'initialize' && again) setTimeout(() => begun(one, 's2'), 100)
      else if (begun(one, 's1')) return
      else if (one.method === 'GET') one.res.writeHead(405).end()
      else if (one.headers['mcp-session-id'] !== 's2') one.res.writeHead(404).end()
      else result(one, { tools: [] })
    })
    const client = await open(server.url)
    const first = client.tools()
    await until(() => server.of('initialize').length === 2)
    await Promise.all([first, client.tools(), client.tools()])
    const sessions = server.of('tools/list').map((one) => one.headers['mcp-session-id'])
    expect(sessions).toEqual(['s1', 's2', 's2', 's2'])
  })

  it('that ended during a tool call leaves its outcome unknown, and does not run it again', async () => {
    let current = 's1'
    const server = await scripted((one) => {
      if (one.message.method === 'initialize' && server.of('initialize').length > 1) current = 's2'
      if (begun(one, current)) return
      if (one.method === 'GET') {
        one.res.writeHead(one.headers['last-event-id'] === undefined ? 405 : 404).end()
      } else if (one.message.method === 'tools/call') {
        sse(one.res)({ id: '1', retry: 100 })
        one.res.end()
      } else result(one, { tools: [] })
    })
    const client = await open(server.url)
    await expect(client.call('pay')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(server.of('tools/call')).toHaveLength(1)
    await expect(client.tools()).resolves.toEqual([])
    expect(server.of('initialize')).toHaveLength(2)
  })

  it.each([
    ['whose stream has no places', { retry: 0 }],
    ['whose stream was taken up in vain', { id: '1', retry: 0 }],
  ])('%s is reopened when it ended while idle, and subscribers are notified', async (_, reason) => {
    let current = 's1'
    let stream: Seen['res'] | undefined
    const server = await scripted((one) => {
      if (begun(one, current)) return
      if (one.headers['mcp-session-id'] !== current) one.res.writeHead(404).end()
      else if (one.method === 'GET') {
        stream = one.res
        sse(one.res)(reason)
      } else result(one, {})
    })
    const client = await open(server.url)
    const received: unknown[] = []
    await client.watch({ toolsListChanged: true }, (change) => received.push(change))
    current = 's2'
    stream?.end()
    await until(() => received.length === 1)
    expect(received).toEqual([{ type: 'tools' }])
    expect(server.of('initialize')[1]?.headers['mcp-session-id']).toBeUndefined()
    await client.ping()
    expect(server.of('ping')[0]?.headers['mcp-session-id']).toBe('s2')
    expect(server.of('initialize')).toHaveLength(2)
  })

  it('that ends every time is an error, not a loop', async () => {
    const server = await scripted((one) => {
      if (begun(one, `s${server.of('initialize').length}`)) return
      one.res.writeHead(one.method === 'GET' ? 405 : 404).end()
    })
    const client = await open(server.url)
    await expect(client.tools()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(server.of('initialize').length).toBeLessThanOrEqual(3)
  })

  it('answers a request on the GET stream', async () => {
    let answer: unknown
    const server = await scripted((one) => {
      if (one.message.id === 'q1') {
        answer = one.message.result
        one.res.writeHead(202).end()
        const [call] = server.of('tools/call')
        if (call) result(call, text('thanks'))
        return
      }
      if (begun(one, 's')) return
      if (one.method === 'GET') {
        const send = sse(one.res)
        const params = {
          message: 'Who?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string', default: 'John' } } },
        }
        until(() => server.of('tools/call').length === 1).then(() =>
          send({ data: { jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params } }),
        )
      }
    })
    const client = await open(server.url, { onElicit: () => ({ action: 'accept', content: {} }) })
    await expect(client.call('ask')).resolves.toMatchObject(text('thanks'))
    expect(answer).toEqual({ action: 'accept', content: { name: 'John' } })
  })
})

describe('a subscription', () => {
  it('that is rejected for a while waits as long as the server requests', () =>
    withOwnTime(async () => {
      const listens = (): Seen[] => server.of('subscriptions/listen')
      const server = await scripted((one) => {
        if (discovered(one)) return
        if (listens().length === 2) one.res.writeHead(503, { 'retry-after': '1' }).end()
        else {
          const meta = { 'io.modelcontextprotocol/subscriptionId': one.message.id }
          const method = 'notifications/subscriptions/acknowledged'
          const params = { notifications: { toolsListChanged: true }, _meta: meta }
          sse(one.res)({ data: { jsonrpc: '2.0', method, params } })
          if (listens().length === 1) setImmediate(() => one.res.destroy())
        }
      })
      const client = await open(server.url)
      await client.watch({ toolsListChanged: true })
      await passing(() => listens().length === 3)
      const [, second, third] = listens()
      expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
    }))
})
