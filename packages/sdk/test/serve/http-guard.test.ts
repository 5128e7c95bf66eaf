import { connect } from 'node:net'
import { serveHttp } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { type Ask, adapters, type Mounted, modern, nodeAdapter } from './http-support.ts'
import { echo, type TestServer, testServer } from './support.ts'

const call = modern('tools/call', { name: 'echo' })

describe.each(adapters)('access to the server over the %s adapter', (adapter, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (options?: Parameters<typeof mount>[1]): Promise<Mounted['send']> => {
    server = testServer({ echo })
    mounted = await mount(server, options)
    return mounted.send
  }
  const requests: [string, Ask][] = [
    ['POST', call],
    ['GET', { method: 'GET' }],
    ['DELETE', { method: 'DELETE' }],
    ['OPTIONS', { method: 'OPTIONS' }],
    ['PUT', { method: 'PUT' }],
    ['POST elsewhere', { ...call, path: '/elsewhere' }],
  ]
  const withHeaders = (ask: Ask, headers: Ask['headers']): Ask => ({
    ...ask,
    headers: { ...ask.headers, ...headers },
  })

  const badHosts = [
    'evil.com',
    '127.0.0.1.evil.com',
    'localhost:1@evil.com',
    'localhost@evil.com',
    'localhost.evil.com',
    'evil.com:3000',
    '[::1].evil',
    '[::1',
    '[::2]',
    'localhost:',
    'localhost:99999',
    'localhost:80:80',
    'localhost/',
    'localhost.',
    '0.0.0.0',
    '127.0.0.2',
    '127.1',
    '2130706433',
    'localhost, localhost',
  ]
  it.each(badHosts)('rejects Host %j for every method and path', async (host) => {
    const send = await start()
    for (const [, ask] of requests) {
      const answer = await send(withHeaders(ask, { host }))
      expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code: -32600 } }])
    }
    expect(server.ran).toEqual([])
  })

  const badOrigins = [
    'null',
    'http://evil.com',
    'https://evil.com:3000',
    'http://localhost.evil.com',
    'http://localhost@evil.com',
    'http://evil.com#localhost',
    'http://evil.com/localhost',
    'http://127.0.0.1.evil.com',
    'http://localhost, http://localhost',
    'file://',
    'localhost',
    '//localhost',
    'chrome-extension://abcdef',
    '*',
    '',
  ]
  it.each(badOrigins)('rejects Origin %j for every method and path', async (origin) => {
    const send = await start()
    for (const [, ask] of requests) {
      const answer = await send(withHeaders(ask, { origin }))
      expect([origin, answer.status]).toEqual([origin, 403])
      expect(answer.header('access-control-allow-origin')).toBeUndefined()
    }
    expect(server.ran).toEqual([])
  })

  it.each(['localhost', 'localhost:1234', 'LOCALHOST', '127.0.0.1', '127.0.0.1:80', '[::1]', '[::1]:3000'])(
    'serves Host %s with and without an Origin of this machine',
    async (host) => {
      const send = await start()
      for (const origin of [
        undefined,
        'http://localhost',
        'https://localhost',
        'http://127.0.0.1:9',
        'http://[::1]:9',
      ]) {
        const answer = await send(withHeaders(call, { host, origin }))
        expect([origin, answer.status]).toEqual([origin, 200])
        expect(answer.header('access-control-allow-origin')).toBeUndefined()
      }
    },
  )

  it('checks Host and Origin separately', async () => {
    const send = await start()
    const cases = [
      ['evil.com', 'http://localhost'],
      ['localhost', 'http://evil.com'],
      ['evil.com', 'http://evil.com'],
    ] as const
    for (const [host, origin] of cases) {
      expect((await send(withHeaders(call, { host, origin }))).status).toBe(403)
    }
  })

  it('serves the configured hosts, on any port unless one is given', async () => {
    const send = await start({ allowedHosts: ['mcp.example.com', 'Other.example.com:8443'] })
    const cases = [
      ['mcp.example.com', 200],
      ['MCP.example.com:443', 200],
      ['other.example.com:8443', 200],
      ['other.example.com', 403],
      ['other.example.com:443', 403],
      ['x.mcp.example.com', 403],
      ['localhost', 200],
    ] as const
    for (const [host, status] of cases) {
      expect([host, (await send(withHeaders(call, { host }))).status]).toEqual([host, status])
    }
  })

  it('serves the configured origins, with CORS for exactly them', async () => {
    const send = await start({
      allowedOrigins: ['https://app.example.com/', 'vscode-webview://abc', 'http://localhost:5173'],
    })
    for (const origin of ['https://app.example.com', 'vscode-webview://abc', 'http://localhost:5173']) {
      const answer = await send(withHeaders(call, { origin }))
      expect([answer.status, answer.header('access-control-allow-origin')]).toEqual([200, origin])
      expect(answer.header('vary')).toBe('Origin')
      expect(answer.header('access-control-expose-headers')).toContain('Mcp-Session-Id')
      expect(answer.header('access-control-allow-credentials')).toBeUndefined()
    }
    const other = await send(withHeaders(call, { origin: 'http://localhost:9' }))
    expect([other.status, other.header('access-control-allow-origin')]).toEqual([200, undefined])
    for (const origin of [
      'http://app.example.com',
      'https://app.example.com:444',
      'https://APP.example.com.evil',
    ]) {
      expect((await send(withHeaders(call, { origin }))).status).toBe(403)
    }
  })

  it('answers a preflight of a listed origin, and no other', async () => {
    const send = await start({ allowedOrigins: ['https://app.example.com'] })
    const preflight = (origin: string): Ask => ({
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, mcp-method,mcp-param-region, x-evil, "',
      },
    })
    const answer = await send(preflight('https://app.example.com'))
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect(answer.header('access-control-allow-origin')).toBe('https://app.example.com')
    expect(answer.header('access-control-allow-methods')).toBe('POST, GET, DELETE')
    expect(answer.header('access-control-allow-headers')).toBe('content-type, mcp-method, mcp-param-region')
    expect((await send(preflight('https://evil.com'))).status).toBe(403)
    expect((await send(preflight('http://localhost'))).status).toBe(405)
  })

  it('answers OPTIONS with 405 without configured origins', async () => {
    const send = await start()
    const answer = await send({ method: 'OPTIONS', headers: { origin: 'http://localhost' } })
    expect([answer.status, answer.header('allow')]).toEqual([405, 'POST, GET, DELETE'])
  })

  it('can be configured to accept any', async () => {
    const send = await start({ dangerouslyAllowAnyHost: true, dangerouslyAllowAnyOrigin: true })
    const answer = await send(withHeaders(call, { host: 'evil.com', origin: 'http://evil.com' }))
    expect(answer.status).toBe(200)
    expect(answer.header('access-control-allow-origin')).toBeUndefined()
  })

  describe('and by name', () => {
    it.each([
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
      ['multipart/form-data; boundary=x', 415],
      ['text/plain; x=application/json', 415],
      ['application/jsonx', 415],
      ['application/json, text/plain', 415],
      ['application/json; charset=utf-16', 415],
      ['', 415],
      [undefined, 415],
      ['application/json; charset=utf-8', 200],
      ['Application/JSON;charset="UTF-8"', 200],
      ['application/json; x=y', 200],
    ])('Content-Type %j gets %i', async (type, status) => {
      const send = await start()
      const answer = await send(withHeaders(call, { 'content-type': type }))
      expect(answer.status).toBe(status)
      expect(server.ran).toHaveLength(status === 200 ? 1 : 0)
    })

    it.each([
      ['gzip', 415],
      ['BR, gzip', 415],
      ['identity, gzip', 415],
      ['identity', 200],
      ['', 200],
    ])('Content-Encoding %j gets %i', async (coding, status) => {
      const send = await start()
      const answer = await send(withHeaders(call, { 'content-encoding': coding }))
      expect(answer.status).toBe(status)
      expect(answer.header('accept-encoding')).toBe(status === 415 ? 'identity' : undefined)
      expect(server.ran).toHaveLength(status === 200 ? 1 : 0)
    })

    it.each([
      ['application/json', 406],
      ['text/event-stream', 406],
      ['text/html', 406],
      ['application/json;q=0, text/event-stream', 406],
      ['application/json;q=0, */*', 406],
      ['*/*, text/event-stream;q=0.0', 406],
      ['application/*, text/*;q=0', 406],
      ['', 406],
      ['application/json, text/event-stream', 200],
      ['text/event-stream;q=0.5,application/json;q=0.9', 200],
      ['APPLICATION/JSON,TEXT/EVENT-STREAM', 200],
      ['*/*', 200],
      ['application/*, text/*', 200],
      ['*/*;q=0, application/json, text/*', 200],
    ])('Accept %j gets %i', async (accept, status) => {
      const send = await start()
      expect((await send(withHeaders(call, { accept }))).status).toBe(status)
    })

    it('GET needs an Accept for event streams', async () => {
      const send = await start()
      expect((await send({ method: 'GET', headers: { accept: 'application/json' } })).status).toBe(406)
    })

    it.each(['PUT', 'PATCH', 'HEAD', 'PROPFIND'])('%s is not allowed', async (method) => {
      const send = await start()
      const answer = await send({ method })
      expect([answer.status, answer.header('allow')]).toEqual([405, 'POST, GET, DELETE'])
    })

    it.each(['/', '/mcp/', '/mcpx', '/MCP', '/x/mcp', '/mcp%2f'])('path %s is not found', async (path) => {
      const send = await start()
      expect((await send({ ...call, path })).status).toBe(404)
    })

    it('a query and a custom path are served', async () => {
      const send = await start()
      expect((await send({ ...call, path: '/mcp?key=value' })).status).toBe(200)
      await mounted.close()
      mounted = await mount(server, { path: '/deep/er' })
      expect((await mounted.send({ ...call, path: '/deep/er' })).status).toBe(200)
      expect((await mounted.send(call)).status).toBe(404)
    })

    it('a body over the limit is rejected with 413, with or without a declared length', async () => {
      const send = await start({ limits: { messageBytes: 1000 } })
      const body = JSON.stringify({ pad: 'x'.repeat(2000) })
      expect((await send({ ...call, body })).status).toBe(413)
      const fits = JSON.stringify(call.body)
      expect((await send({ ...call, body: fits.padEnd(1000) })).status).toBe(200)
      expect((await send({ ...call, body: fits.padEnd(1001) })).status).toBe(413)
    })

    it.each([
      ['nothing', ''],
      ['half an object', '{"jsonrpc"'],
      ['two objects', '{} {}'],
      ['a byte order mark', '\uFEFF{}'],
      ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
      ['an overlong encoding', new Uint8Array([0x22, 0xc0, 0x80, 0x22])],
      ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
      ['very deep nesting', '['.repeat(100_000)],
      ['NaN', '{"a":NaN}'],
    ])('%s as a body is a parse error', async (_, body) => {
      const send = await start()
      const answer = await send({ ...call, body })
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: -32700 } }])
    })

    it.each([
      ['null', null],
      ['a number', 7],
      ['a string', 'x'],
      ['an empty object', {}],
      ['a null id', { jsonrpc: '2.0', id: null, method: 'ping' }],
      ['an id with a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }],
      ['an id beyond the safe integers', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'],
      ['params that are an array', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }],
      ['a method that is no string', { jsonrpc: '2.0', id: 1, method: {} }],
    ])('%s as a body is an invalid request', async (_, body) => {
      faultyPeer('a body that is no message')
      const send = await start()
      const answer = await send({
        ...call,
        body: typeof body === 'string' ? (body === 'x' ? '"x"' : body) : body,
      })
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: -32600 } }])
    })
  })

  it('authenticates before it reads the body, and rejects on failure', async () => {
    const send = await start({
      authenticate: async () => {
        throw new Error('the key server at 10.0.0.7 is down')
      },
    })
    const answer = await send(call)
    expect([answer.status, await answer.text()]).toEqual([
      500,
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}',
    ])
    expect(server.reports).toHaveLength(1)
    expect(adapter).toBeDefined()
  })

  it.each([
    [undefined, 'it returned undefined'],
    [true, 'it returned a boolean'],
    [{ principal: undefined }, 'it returned a principal that is undefined'],
    [{ principal: 5 }, 'it returned a principal that is a number'],
    [{}, 'it returned an object with neither'],
  ])('rejects a request whose authentication returns %j', async (returned, why) => {
    // @ts-expect-error as JavaScript may return it
    const send = await start({ authenticate: async () => returned })
    expect((await send(call)).status).toBe(500)
    expect(server.reports).toMatchObject([expect.objectContaining({ message: expect.stringContaining(why) })])
  })

  it('passes the caller to the handler', async () => {
    const seen: unknown[] = []
    server = testServer({
      echo: (_args, { peer }) => {
        seen.push(peer.principal)
        return 'ok'
      },
    })
    mounted = await mount(server, { authenticate: async ({ url }) => ({ principal: `user of ${url}` }) })
    await mounted.send(call)
    expect(seen).toEqual(['user of /mcp'])
  })
})

describe('a web request whose body is incomplete', () => {
  it('is answered, and runs nothing', async () => {
    const server = testServer({ echo })
    const handler = serveHttp(server)
    const beginning = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,')
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(beginning),
      pull: (controller) => controller.error(new Error('the client is gone')),
    })
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as const
    const answer = await handler.fetch(new Request('http://localhost/mcp', init))
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: -32600, message: 'Invalid request: its body ended early' } },
    ])
    expect(server.reports).toEqual([])
    await handler.close()
  })
})

describe('a raw socket', () => {
  /** Sends bytes and gives everything that came back until the server closed or fell silent. */
  const raw = (port: number, text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let got = ''
      socket.setTimeout(300, () => socket.destroy())
      socket.on('data', (chunk) => {
        got += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(got))
      socket.write(text)
    })
  const body = JSON.stringify(call.body)
  const post = (headers: string): string =>
    `POST /mcp HTTP/1.1\r\n${headers}Content-Type: application/json\r\nAccept: */*\r\nMCP-Protocol-Version: 2026-07-28\r\n` +
    `Mcp-Method: tools/call\r\nContent-Length: ${body.length}\r\n\r\n${body}`

  it.each([
    ['one Host', 'Host: localhost\r\nMcp-Name: echo\r\n', 200],
    ['two equal Hosts', 'Host: localhost\r\nHost: localhost\r\nMcp-Name: echo\r\n', 400],
    ['two different Hosts', 'Host: localhost\r\nhOsT: evil.com\r\nMcp-Name: echo\r\n', 400],
    [
      'two Origins',
      'Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\nMcp-Name: echo\r\n',
      400,
    ],
    ['an empty Host', 'Host:\r\nMcp-Name: echo\r\n', 403],
    ['no Host', 'Mcp-Name: echo\r\n', 400],
    ['two names', 'Host: localhost\r\nMcp-Name: echo\r\nMcp-Name: echo\r\n', 400],
    ['a name that two lines make up', 'Host: localhost\r\nMcp-Name: a\r\nMcp-Name: b\r\n', 400],
  ])('with %s', async (_, headers, status) => {
    const server = testServer({ echo, 'a, b': echo })
    const mounted = await nodeAdapter(server)
    const { port } = new URL(mounted.url)
    const answer = await raw(
      Number(port),
      post(headers).replace('"name":"echo"', headers.includes(': a\r') ? '"name":"a, b"' : '"name":"echo"'),
    )
    expect(answer.split('\r\n')[0]).toContain(String(status))
    expect(server.ran).toHaveLength(status === 200 ? 1 : 0)
    await mounted.close()
  })

  it.each([
    ['Content-Type', ['application/json', 'text/plain']],
    ['Content-Type', ['application/json', 'application/json']],
    ['content-TYPE', ['application/json', 'application/json']],
    ['Content-Encoding', ['identity', 'gzip']],
    ['Content-Length', [String(body.length), '0']],
    ['Authorization', ['Bearer a', 'Bearer b']],
    ['Origin', ['http://localhost', 'http://evil.com']],
    ['Last-Event-ID', ['a', 'b']],
    ['MCP-Protocol-Version', ['2026-07-28', '2025-11-25']],
    ['Mcp-Session-Id', ['a', 'b']],
  ])('with %s given as %j is rejected with 400', async (name, values) => {
    const server = testServer({ echo })
    let asked = 0
    const mounted = await nodeAdapter(server, {
      authenticate: async () => {
        asked++
        return { principal: 'x' }
      },
    })
    const lines = values.map((value) => `${name}: ${value}\r\n`).join('')
    const [first = '', ...rest] = post('Host: localhost\r\nMcp-Name: echo\r\n').split('\r\n')
    const others = rest.filter((line) => !line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    const answer = await raw(
      Number(new URL(mounted.url).port),
      [first, lines + others.join('\r\n')].join('\r\n'),
    )
    expect(answer.split('\r\n')[0]).toContain('400')
    // Node's own parser refuses a second Content-Length without a body.
    if (name !== 'Content-Length') expect(answer).toContain(`${name} is sent twice`)
    expect([asked, server.ran]).toEqual([0, []])
    await mounted.close()
  })

  it.each([
    ['chunked', 200],
    ['CHUNKED', 200],
    ['gzip, chunked', 501],
    ['identity, chunked', 501],
    ['chunked\r\nTransfer-Encoding: chunked', 400],
    ['gzip\r\nTransfer-Encoding: chunked', 501],
  ])('with Transfer-Encoding %j gets %i', async (coding, status) => {
    const server = testServer({ echo })
    const mounted = await nodeAdapter(server)
    const [head = ''] = post('Host: localhost\r\nMcp-Name: echo\r\n').split('\r\n\r\n')
    const answer = await raw(
      Number(new URL(mounted.url).port),
      `${head.replace(/Content-Length: \d+/, `Transfer-Encoding: ${coding}`)}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    )
    expect(answer.split('\r\n')[0]).toContain(String(status))
    expect(server.ran).toEqual(status === 200 ? ['echo'] : [])
    await mounted.close()
  })

  it('with a target of another host is not found', async () => {
    const mounted = await nodeAdapter(testServer({ echo }))
    const { port } = new URL(mounted.url)
    const answer = await raw(
      Number(port),
      post('Host: localhost\r\nMcp-Name: echo\r\n').replace('POST /mcp', 'POST http://evil.com/mcp'),
    )
    expect(answer.split('\r\n')[0]).toContain('404')
    await mounted.close()
  })
})

describe('mounting', () => {
  it.each([
    [{ allowedHosts: ['http://localhost'] }],
    [{ allowedHosts: [''] }],
    [{ allowedHosts: ['a/b'] }],
    [{ allowedOrigins: ['*'] }],
    [{ allowedOrigins: ['app.example.com'] }],
    [{ allowedOrigins: ['https://app.example.com/path'] }],
    [{ path: 'mcp' }],
    [{ path: '/mcp?x' }],
    [{ keys: ['short'] }],
  ])('rejects invalid options (%#)', (options) => {
    expect(() => serveHttp(testServer(), { keys: ['k'.repeat(32)], ...options })).toThrow(TypeError)
  })

  it('does not warn of missing keys or a missing backplane before the first input request', () => {
    const warnings: string[] = []
    serveHttp(testServer(), { onWarning: (message) => warnings.push(message) })
    serveHttp(testServer(), { keys: ['k'.repeat(32)], onWarning: (message) => warnings.push(message) })
    expect(warnings).toEqual([])
  })

  it('listens only on this machine, returns its address, and reports a port in use', async () => {
    const warnings: string[] = []
    const handler = serveHttp(testServer({ echo }), {
      keys: ['k'.repeat(32)],
      backplane: memoryBackplane(),
      onWarning: (message) => warnings.push(message),
    })
    const { port, url, close } = await handler.listen({ port: 0 })
    expect(url).toBe(`http://127.0.0.1:${port}/mcp`)
    await expect(handler.listen({ port })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: `Cannot listen on 127.0.0.1 port ${port}: another program uses it (EADDRINUSE). End that program, or listen on another port`,
    })
    expect(warnings).toEqual([])
    await close()
    await close()
  })
})
