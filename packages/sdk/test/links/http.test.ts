import { connect, http } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { discovered, failure, json, result, scripted, sse, until } from '../client/support/http.ts'
import { called, listed } from '../client/support/results.ts'
import { open, text } from './opened.ts'

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

describe('an unreachable server', () => {
  it.each([
    [
      'a closed port',
      'http://127.0.0.1:1024/mcp',
      'Could not reach http://127.0.0.1:1024: nothing listens on this port (ECONNREFUSED)',
    ],
    [
      'an unknown host',
      'http://nobody.invalid/mcp',
      /Could not reach http:\/\/nobody\.invalid: (?:there is no host of this name|names cannot be resolved now) \(E/,
    ],
    [
      'fetch refuses the port',
      'http://127.0.0.1:9/mcp',
      'failed before the response arrived (bad port). Browsers and fetch block port 9, ',
    ],
  ])('is reported with the reason: %s', async (_, url, words) => {
    await expect(connect(url)).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words),
    })
  })
})

describe('a wrong address', () => {
  it.each([
    ['127.0.0.1:3000/mcp', /is not a URL: write http:\/\/127\.0\.0\.1:3000\/mcp or https:/],
    ['localhost:3000/mcp', /must start with http:\/\/ or https:\/\/: write http:\/\/localhost:3000\/mcp$/],
    ['ftp://127.0.0.1/mcp', /must start with http:\/\/ or https:\/\/, not ftp:$/],
  ])('%s is refused with the URL to write', async (url, words) => {
    await expect(connect(url)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(words),
    })
  })

  it('with https for a port that speaks http says so', async () => {
    const { url } = await scripted(() => {})
    await expect(connect(String(url).replace('http:', 'https:'))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('write http:// instead of https://'),
    })
  })

  it('whose server closes every connection says so', async () => {
    const { url } = await scripted(({ res }) => res.destroy())
    await expect(connect(url)).rejects.toMatchObject({
      message: expect.stringContaining('(the server closed the connection)'),
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

  it('encode an unsafe name in a header', async () => {
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

  it('are cancelled by closing their stream, not by a notification', async () => {
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

  it('refetch the tools when the server reports a missing header, and retry once', async () => {
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

  it('leave out tools with invalid header annotations, and reject calls of them', async () => {
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

describe('responses', () => {
  it('are accepted as JSON and as an event stream', async () => {
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

  it('settle the call even if the server never ends the stream, which is then closed', async () => {
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

  it('with an id of another type are not used', async () => {
    const server = await scripted((one) => {
      if (!discovered(one))
        json(one.res, { jsonrpc: '2.0', id: String(one.message.id), result: called(text('forged')) })
    })
    const client = await open(server.url)
    await expect(client.call('x')).rejects.toMatchObject({ code: 'PROTOCOL' })
  })

  it('on another request’s stream are not used', async () => {
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

  it.each(['json', 'event'])('that are endless are cut off (%s)', async (kind) => {
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

  it('of HTTP become errors with the reason', async () => {
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
  it('are followed on the same origin, keeping method and body', async () => {
    const server = await scripted((one) => {
      if (one.url === '/mcp') one.res.writeHead(307, { location: '/mcp/' }).end()
      else if (!discovered(one)) result(one, listed({ tools: [] }))
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
  })

  it('to another origin are rejected, and nothing reaches it', async () => {
    const other = await scripted((one) => one.res.end())
    const server = await scripted((one) => one.res.writeHead(307, { location: other.url }).end())
    const attempt = connect(http(server.url, { headers: { authorization: 'Bearer secret' } }))
    await expect(attempt).rejects.toThrow(/another origin/)
    expect(other.seen).toEqual([])
  })
})

describe('a request', () => {
  it('has the configured headers, computed each time', async () => {
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
    'is never sent to %s',
    async (url) => {
      await expect(async () => connect(url)).rejects.toMatchObject({ code: 'INVALID' })
    },
  )

  it('to a closed port fails with the reason', async () => {
    const attempt = connect('http://127.0.0.1:9/mcp')
    await expect(attempt).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })
})
