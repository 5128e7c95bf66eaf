import type { JsonObject } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  discovered,
  failure,
  result,
  type Scripted,
  type Seen,
  scripted,
  sse,
} from '../client/support/http.ts'
import { called, listed } from '../client/support/results.ts'

const tool = (name: string, properties: object): object => ({
  name,
  inputSchema: { type: 'object', properties },
})
const region = (header: string): object => ({ region: { type: 'string', 'x-mcp-header': header } })

/** A client of a stateless server that lists what `tools` gives and answers calls with `answer`. */
async function connectTo(
  tools: () => object[],
  answer: (one: Seen) => void = (one) => result(one, called()),
  options: ConnectOptions = {},
) {
  const server = await scripted((one) => {
    if (discovered(one)) return
    if (one.message.method === 'tools/list') result(one, listed({ tools: tools() }))
    else answer(one)
  })
  const warnings: string[] = []
  const client = await connect(server.url, { onWarning: (text) => warnings.push(text), ...options })
  onTestFinished(() => client.close())
  return { client, server, warnings }
}

const last = (server: Scripted): Seen['headers'] => server.of('tools/call').at(-1)?.headers ?? {}
const params = (headers: Seen['headers']): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('mcp-param-'))

describe('every request of 2026-07-28 over HTTP', () => {
  it('is a POST of one message with version, method and both content types in its headers', async () => {
    const { client, server } = await connectTo(
      () => [tool('t', {})],
      (one) => {
        const { method, id } = one.message
        const lists = {
          'resources/read': listed({ contents: [] }),
          'prompts/get': { resultType: 'complete', messages: [] },
        }
        const known = new Map<string | undefined, object>(Object.entries(lists))
        if (method === 'subscriptions/listen') {
          sse(one.res)({
            data: {
              jsonrpc: '2.0',
              method: 'notifications/subscriptions/acknowledged',
              params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
            },
          })
        } else result(one, known.get(method) ?? called())
      },
    )
    await client.tools()
    await client.call('t')
    await client.read('file:///a')
    await client.prompt('p')
    await client.ping()
    const watch = await client.watch({ toolsListChanged: true })
    await watch.close()
    await client.rootsChanged().catch(() => {})
    await client.close()
    expect(server.seen.map((one) => one.message.method)).toEqual([
      'server/discover',
      'tools/list',
      'tools/call',
      'resources/read',
      'prompts/get',
      'server/discover',
      'subscriptions/listen',
    ])
    for (const { method, url, headers, message } of server.seen) {
      expect([method, url]).toEqual(['POST', '/mcp'])
      expect(message).toMatchObject({ jsonrpc: '2.0', method: expect.any(String) })
      expect(headers).toMatchObject({
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': message.method,
      })
      expect(message.params._meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28')
    }
    const names = server.seen.map((one) => one.headers['mcp-name'])
    expect(names).toEqual([undefined, undefined, 't', 'file:///a', 'p', undefined, undefined])
  })

  it.each([
    ['my-tool-name', 'my-tool-name'],
    ['my_tool_name', 'my_tool_name'],
    ['søk', '=?base64?c8O4aw==?='],
    [' padded', '=?base64?IHBhZGRlZA==?='],
    ['a\r\nX-Evil: 1', `=?base64?${Buffer.from('a\r\nX-Evil: 1').toString('base64')}?=`],
    ['=?base64?x?=', `=?base64?${Buffer.from('=?base64?x?=').toString('base64')}?=`],
  ])('encodes its tool name: %j as %j', async (name, wire) => {
    const { client, server } = await connectTo(() => [])
    await client.call(name)
    expect(last(server)['mcp-name']).toBe(wire)
    expect(last(server)['x-evil']).toBeUndefined()
    expect(server.of('tools/call')[0]?.message.params.name).toBe(name)
  })
})

describe('annotated arguments', () => {
  it('are sent as headers if present, and only then', async () => {
    const { client, server } = await connectTo(() => [
      tool('t', {
        ...region('Region'),
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
        where: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
      }),
    ])
    await client.tools()
    const wanted: [JsonObject, object][] = [
      [{ region: 'eu' }, { 'mcp-param-region': 'eu' }],
      [{ region: null }, {}],
      [{}, {}],
      [
        { count: 0, dry: false },
        { 'mcp-param-count': '0', 'mcp-param-dry': 'false' },
      ],
      [{ where: { zone: 'a' } }, { 'mcp-param-zone': 'a' }],
      [{ where: null }, {}],
      [{ region: 'a\r\nX-Evil: 1' }, { 'mcp-param-region': '=?base64?YQ0KWC1FdmlsOiAx?=' }],
    ]
    for (const [args, headers] of wanted) {
      await client.call('t', args)
      expect(last(server)).toMatchObject(headers)
      expect(params(last(server)).sort()).toEqual(Object.keys(headers).sort())
      expect(last(server)['x-evil']).toBeUndefined()
    }
  })

  it('follow the latest definition of their tool', async () => {
    let header = 'Old'
    const { client, server } = await connectTo(() => [tool('t', region(header))])
    await client.tools()
    await client.call('t', { region: 'eu' })
    expect(params(last(server))).toEqual(['mcp-param-old'])
    header = 'New'
    await client.tools({ cache: 'refresh' })
    await client.call('t', { region: 'eu' })
    expect(params(last(server))).toEqual(['mcp-param-new'])
  })

  it('are left out while the definition is unknown, then learned when the server requires them', async () => {
    const { client, server } = await connectTo(
      () => [tool('t', region('Region'))],
      (one) => {
        if (one.headers['mcp-param-region'] === 'eu') result(one, called())
        else failure(one, -32020, 'Header mismatch: Mcp-Param-Region is missing')
      },
    )
    await client.call('t', { region: 'eu' })
    expect(server.seen.map((one) => one.message.method)).toEqual([
      'server/discover',
      'tools/call',
      'tools/list',
      'tools/call',
    ])
    expect(server.of('tools/call').map((one) => params(one.headers))).toEqual([[], ['mcp-param-region']])
  })

  it('that changed meanwhile are learned again, and a server that rejects again is not asked a third time', async () => {
    let header = 'Old'
    const { client, server } = await connectTo(
      () => [tool('t', region(header))],
      (one) => failure(one, -32020, 'Header mismatch'),
    )
    await client.tools()
    header = 'New'
    await expect(client.call('t', { region: 'eu' })).rejects.toMatchObject({ code: -32020 })
    expect(server.of('tools/call').map((one) => params(one.headers))).toEqual([
      ['mcp-param-old'],
      ['mcp-param-new'],
    ])
  })

  it('that are invalid remove their tool from the list, with a warning that names it and the reason', async () => {
    const broken: [string, object, string][] = [
      [
        'twice',
        { a: { type: 'string', 'x-mcp-header': 'R' }, b: { type: 'string', 'x-mcp-header': 'r' } },
        'used twice',
      ],
      ['empty', region(''), 'non-empty'],
      ['spaced', region('My Region'), 'not an HTTP header name'],
      ['number', { n: { type: 'number', 'x-mcp-header': 'N' } }, 'type string, integer or boolean'],
      ['items', { l: { type: 'array', items: { type: 'string', 'x-mcp-header': 'N' } } }, 'reached through'],
    ]
    const { client, server, warnings } = await connectTo(() => [
      tool('good', region('Region')),
      ...broken.map(([name, properties]) => tool(name, properties)),
    ])
    expect((await client.tools()).map(({ name }) => name)).toEqual(['good'])
    const { tools } = await client.request('tools/list')
    expect(tools.map(({ name }) => name)).toEqual(['good'])
    for (const [name, , why] of broken) {
      expect(warnings.filter((text) => text.includes(`"${name}"`))).toEqual([expect.stringContaining(why)])
      await expect(client.call(name, { region: 'eu' })).rejects.toMatchObject({ code: 'INVALID' })
    }
    expect(server.of('tools/call')).toEqual([])
    await client.call('good', { region: 'eu' })
    expect(params(last(server))).toEqual(['mcp-param-region'])
  })

  it('with an integer beyond the safe range are not sent at all', async () => {
    const { client, server } = await connectTo(() => [
      tool('t', { n: { type: 'integer', 'x-mcp-header': 'N' } }),
    ])
    await client.tools()
    await expect(client.call('t', { n: 2 ** 53 })).rejects.toMatchObject({ code: 'INVALID' })
    expect(server.of('tools/call')).toEqual([])
  })
})

describe('response headers', () => {
  it('are read in any case of their names', async () => {
    const server = await scripted((one) => {
      if (one.message.method === 'server/discover') failure(one, -32601, 'Method not found', 404)
      else if (one.message.method === 'initialize') {
        const value = {
          protocolVersion: '2025-11-25',
          capabilities: {},
          serverInfo: { name: 's', version: '1' },
        }
        const body = { jsonrpc: '2.0', id: one.message.id, result: value }
        const headers = { 'MCP-SESSION-ID': 'Abc-1', 'CONTENT-TYPE': 'Application/JSON' }
        one.res.writeHead(200, headers).end(JSON.stringify(body))
      } else if (one.message.id === undefined) one.res.writeHead(one.method === 'GET' ? 405 : 202).end()
      else result(one, {})
    })
    const client = await connect(server.url)
    onTestFinished(() => client.close())
    await client.ping()
    expect(server.of('ping')[0]?.headers['mcp-session-id']).toBe('Abc-1')
  })

  it.each([413, 431])('with status %i are a typed error, and the connection continues', async (status) => {
    const { client } = await connectTo(
      () => [],
      (one) => {
        if (one.message.params.name === 'big') one.res.writeHead(status).end()
        else result(one, called())
      },
    )
    await expect(client.call('big')).rejects.toMatchObject({ code: 'HTTP', details: { status } })
    await expect(client.call('small')).resolves.toMatchObject({ content: [] })
  })
})
