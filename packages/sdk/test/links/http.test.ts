import { type ConnectOptions, connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  begun,
  discovered,
  failure,
  json,
  result,
  type Seen,
  scripted,
  sse,
  tick,
  until,
} from '../client/support/http.ts'
import { called, listed } from '../client/support/results.ts'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const annotated = {
  name: 'sql',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limit: { type: 'integer', 'x-mcp-header': 'Limit' },
      query: { type: 'string' },
    },
  },
}

async function open(url: string, options: ConnectOptions = {}) {
  const client = await connect(url, options)
  onTestFinished(() => client.close())
  return client
}

describe('a server that cannot be reached', () => {
  it.each([
    ['nobody listens', 'http://127.0.0.1:1024/mcp', 'Could not reach http://127.0.0.1:1024 (ECONNREFUSED)'],
    ['nobody has the name', 'http://nobody.invalid/mcp', /Could not reach http:\/\/nobody\.invalid \(E/],
    ['fetch refuses the port', 'http://127.0.0.1:9/mcp', 'failed before the answer came (bad port)'],
  ])('says why: %s', async (_, url, words) => {
    await expect(connect(url)).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words),
    })
  })
})

describe('requests of the stateless era', () => {
  it('mirror version, method, name and annotated arguments into headers', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (one.message.method === 'tools/list') result(one, listed({ tools: [annotated] }))
      else result(one, called(text('ok')))
    })
    const client = await open(server.url)
    await client.tools()
    await client.call('sql', { region: 'Zürich', limit: 42, query: 'x' })
    await client.call('sql', { region: '', limit: null })
    const [first, second] = server.of('tools/call')
    expect(first?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'sql',
      'mcp-param-region': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
      'mcp-param-limit': '42',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    })
    expect(first?.headers['mcp-param-query']).toBeUndefined()
    expect(second?.headers['mcp-param-region']).toBe('')
    expect(second?.headers['mcp-param-limit']).toBeUndefined()
    expect(server.seen.every((one) => one.method === 'POST')).toBe(true)
  })

  it('encode a name that is not safe in a header', async () => {
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, called())
    })
    const client = await open(server.url)
    await client.call('für alle')
    const [call] = server.of('tools/call')
    const encoded = Buffer.from('für alle').toString('base64')
    expect(call?.headers['mcp-name']).toBe(`=?base64?${encoded}?=`)
  })

  it('never carry a session id, whatever the server sends', async () => {
    const server = await scripted((one) => {
      one.res.setHeader('mcp-session-id', 'stray')
      if (!discovered(one)) result(one, listed({ tools: [] }))
    })
    const client = await open(server.url)
    await client.tools()
    await client.close()
    expect(server.seen.some((one) => 'mcp-session-id' in one.headers)).toBe(false)
    expect(server.seen.some((one) => one.method === 'DELETE')).toBe(false)
  })

  it('are cancelled by closing their stream, not by a notice', async () => {
    let gone = false
    const server = await scripted((one) => {
      if (discovered(one)) return
      sse(one.res)({
        data: { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } },
      })
      one.res.on('close', () => {
        gone = true
      })
    })
    const client = await open(server.url)
    const stop = new AbortController()
    const call = client.call('slow', {}, { signal: stop.signal, onLog: () => stop.abort() })
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => gone)
    expect(server.of('notifications/cancelled')).toEqual([])
  })

  it('list the tools anew when the server finds a header missing, and try once more', async () => {
    let known = false
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (one.message.method === 'tools/list') {
        known = true
        result(one, listed({ tools: [annotated] }))
      } else if (one.headers['mcp-param-region'] === 'eu') result(one, called(text('ok')))
      else failure(one, -32020, 'Header mismatch: Mcp-Param-Region is missing')
    })
    const client = await open(server.url)
    await expect(client.call('sql', { region: 'eu' })).resolves.toMatchObject(text('ok'))
    expect(known).toBe(true)
    expect(server.of('tools/call')).toHaveLength(2)
  })

  it('leave out tools with invalid header annotations, and refuse to call them', async () => {
    const bad = {
      name: 'bad',
      inputSchema: { type: 'object', properties: { n: { type: 'number', 'x-mcp-header': 'N' } } },
    }
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, listed({ tools: [bad, annotated] }))
    })
    const warnings: string[] = []
    const client = await open(server.url, { onWarning: (warning) => warnings.push(warning) })
    expect((await client.tools()).map((tool) => tool.name)).toEqual(['sql'])
    expect(warnings).toEqual([expect.stringContaining('"bad"')])
    await expect(client.call('bad')).rejects.toMatchObject({ code: 'INVALID' })
    expect(server.of('tools/call')).toEqual([])
  })
})

describe('answers', () => {
  it('are taken as JSON and as an event stream', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      const data = {
        jsonrpc: '2.0',
        id: one.message.id,
        result: called(text('streamed')),
      }
      if (one.message.params.name === 'stream') {
        sse(one.res)({ data })
        one.res.end()
      } else json(one.res, data)
    })
    const client = await open(server.url)
    await expect(client.call('stream')).resolves.toMatchObject(text('streamed'))
    await expect(client.call('plain')).resolves.toMatchObject(text('streamed'))
  })

  it('settle the call though the server never ends the stream, which is then cut', async () => {
    let gone = false
    const server = await scripted((one) => {
      if (discovered(one)) return
      sse(one.res)({ data: { jsonrpc: '2.0', id: one.message.id, result: called(text('early')) } })
      one.res.on('close', () => {
        gone = true
      })
    })
    const client = await open(server.url)
    await expect(client.call('x')).resolves.toMatchObject(text('early'))
    await until(() => gone, 3_000)
  })

  it('with an id of another type are not taken for the answer', async () => {
    const server = await scripted((one) => {
      if (!discovered(one))
        json(one.res, { jsonrpc: '2.0', id: String(one.message.id), result: called(text('forged')) })
    })
    const client = await open(server.url)
    await expect(client.call('x')).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  it('on another request’s stream are not taken for the answer', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      const calls = server.of('tools/call')
      if (calls.length < 2) return
      const [first, second] = calls
      if (first === undefined || second === undefined) return
      sse(second.res)({ data: { jsonrpc: '2.0', id: first.message.id, result: called(text('forged')) } })
      setTimeout(() => {
        result(first, called(text('first')))
        second.res.end(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id: second.message.id, result: called(text('second')) })}\n\n`,
        )
      }, 50)
    })
    const client = await open(server.url)
    const first = client.call('a')
    await until(() => server.of('tools/call').length === 1)
    await expect(Promise.all([first, client.call('b')])).resolves.toMatchObject([
      text('first'),
      text('second'),
    ])
  })

  it.each(['json', 'event'])('without end are cut off (%s)', async (kind) => {
    let gone = false
    const server = await scripted((one) => {
      if (discovered(one)) return
      const { res } = one
      res.on('close', () => {
        gone = true
      })
      res.writeHead(200, { 'content-type': kind === 'json' ? 'application/json' : 'text/event-stream' })
      res.write(kind === 'json' ? '"' : 'data: ')
      const more = (): void => {
        if (!gone) res.write('x'.repeat(256 * 1024), () => setImmediate(more))
      }
      more()
    })
    const client = await open(server.url)
    await expect(client.call('x')).rejects.toMatchObject({ code: 'LIMIT' })
    await until(() => gone)
  })

  it('of HTTP become errors that say what happened', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      const { name } = one.message.params
      if (name === 'auth') one.res.writeHead(401, { 'www-authenticate': 'Bearer realm="x"' }).end()
      else if (name === 'busy') one.res.writeHead(503, { 'retry-after': '7' }).end('try later')
      else if (name === 'html') one.res.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello')
      else failure(one, -32602, 'no such tool')
    })
    const client = await open(server.url)
    await expect(client.call('auth')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      details: { status: 401, challenge: 'Bearer realm="x"' },
    })
    await expect(client.call('busy')).rejects.toMatchObject({
      code: 'HTTP',
      details: { status: 503, retryAfterMs: 7_000 },
    })
    await expect(client.call('html')).rejects.toThrow(/text\/html.*MCP endpoint/)
    await expect(client.call('other')).rejects.toMatchObject({ name: 'RpcError', code: -32602 })
  })
})

describe('redirects', () => {
  it('are followed on the same origin with method and body kept', async () => {
    const server = await scripted((one) => {
      if (one.url === '/mcp') one.res.writeHead(307, { location: '/mcp/' }).end()
      else if (!discovered(one)) result(one, listed({ tools: [] }))
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
  })

  it('to another origin are refused, and nothing reaches it', async () => {
    const other = await scripted((one) => one.res.end())
    const server = await scripted((one) => one.res.writeHead(307, { location: other.url }).end())
    const attempt = connect(http(server.url, { headers: { authorization: 'Bearer secret' } }))
    await expect(attempt).rejects.toThrow(/another origin/)
    expect(other.seen).toEqual([])
  })
})

describe('what is sent', () => {
  it('carries the headers the caller configured, asked anew each time', async () => {
    let n = 0
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, listed({ tools: [] }))
    })
    const client = await connect(
      http(server.url, { headers: async () => ({ Authorization: `Bearer ${++n}` }) }),
    )
    onTestFinished(() => client.close())
    await client.tools()
    expect(server.seen.map((one) => one.headers.authorization)).toEqual(['Bearer 1', 'Bearer 2'])
  })

  it.each(['ftp://127.0.0.1/', 'http://user:word@127.0.0.1/', 'not a url'])(
    'never goes to %s',
    async (url) => {
      await expect(async () => connect(url)).rejects.toMatchObject({ code: 'INVALID' })
    },
  )

  it('reaches nobody at a closed port, and says so', async () => {
    const attempt = connect('http://127.0.0.1:9/mcp')
    await expect(attempt).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })
})

describe('a session', () => {
  it('has its id and revision on every later request, and is deleted on close', async () => {
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

  it.each([404, 405, 400, 500, 204])('works where the GET stream answers %i', async (status) => {
    const server = await scripted((one) => {
      if (begun(one, 's')) return
      if (one.method === 'GET') one.res.writeHead(status).end()
      else result(one, { tools: [] })
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
  })

  it('cancels by a notice, and stops reading', async () => {
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

  it('takes up a stream the server closed after the wait it asked for, and promptly then', async () => {
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
    await expect(client.call('test_reconnection')).resolves.toMatchObject(text('later'))
    const resumed = server.seen.find((one) => one.headers['last-event-id'] !== undefined)
    expect(resumed?.headers['last-event-id']).toBe('first')
    const waited = performance.now() - closedAt
    expect(waited).toBeGreaterThanOrEqual(495)
    expect(waited).toBeLessThan(700)
  })

  it('takes up a stream that broke off in the middle', async () => {
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

  it('does not storm a server that closes the GET stream at once and says retry: 0', async () => {
    const server = await scripted((one) => {
      if (begun(one, 's')) return
      if (one.method !== 'GET') return
      sse(one.res)({ retry: 0 })
      one.res.end()
    })
    await open(server.url)
    await tick(3_000)
    expect(server.seen.filter((one) => one.method === 'GET').length).toBeLessThanOrEqual(12)
  })

  it('that ended is begun anew once for all who noticed, and what was refused is sent again', async () => {
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

  it('that is being begun anew is waited for', async () => {
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

  it('that ended under a running tool leaves its outcome unknown, and does not run it again', async () => {
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

  it('that ends every time is an error, not a loop', async () => {
    const server = await scripted((one) => {
      if (begun(one, `s${server.of('initialize').length}`)) return
      one.res.writeHead(one.method === 'GET' ? 405 : 404).end()
    })
    const client = await open(server.url)
    await expect(client.tools()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(server.of('initialize').length).toBeLessThanOrEqual(3)
  })

  it('answers a question that comes on the GET stream', async () => {
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

describe('a request that only reads', () => {
  it('is sent again when its connection broke, a tool call is not', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (server.of('tools/list').length < 2) one.res.destroy()
      else result(one, listed({ tools: [] }))
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
    const before = server.of('tools/call').length
    const broken = await scripted((one) => {
      if (!discovered(one)) one.res.destroy()
    })
    const other = await open(broken.url)
    await expect(other.call('pay')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(broken.of('tools/call')).toHaveLength(1)
    expect(before).toBe(0)
  })
})

describe('a tool call whose answer was lost', () => {
  it('has an outcome nobody knows, and is sent again only where its caller says that does no harm', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (server.of('tools/call').length % 3 === 0) result(one, called(text('done')))
      else one.res.destroy()
    })
    const client = await open(server.url)
    await expect(client.call('pay')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('Nobody knows whether tools/call ran'),
    })
    expect(server.of('tools/call')).toHaveLength(1)
    await expect(client.call('look', {}, { repeatable: true })).resolves.toMatchObject(text('done'))
    expect(server.of('tools/call')).toHaveLength(3)
  })

  it('is not sent again with an answer that is good once', async () => {
    const server = await scripted((one) => {
      if (discovered(one)) return
      if (one.message.params['requestState'] === undefined) {
        result(one, { resultType: 'input_required', requestState: 's' })
      } else one.res.destroy()
    })
    const client = await open(server.url)
    const call = client.call('book', {}, { repeatable: true })
    await expect(call).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(server.of('tools/call')).toHaveLength(2)
  })
})

describe('a watch', () => {
  it('that is refused for a while waits as long as the server asks', async () => {
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
    await until(() => listens().length === 3, 10_000)
    const [, second, third] = listens()
    expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
  })
})

function never(): never {
  throw new Error('the server saw nothing')
}
