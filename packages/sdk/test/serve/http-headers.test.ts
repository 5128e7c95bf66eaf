import { type JsonObject, MetaKey } from '@jackfield/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { headerPlan } from '../../src/protocol/headers.ts'
import { type Ask, adapters, type Mounted, modern, nodeAdapter } from './http-support.ts'
import { echo, meta, type TestServer, type Tool, testServer } from './support.ts'

const plan = headerPlan({
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    where: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
  },
})
const inBase64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe.each(adapters)('headers that mirror the body, over the %s adapter', (_, mount) => {
  let mounted: Mounted
  let server: TestServer
  afterEach(() => mounted.close())
  const start = async (): Promise<Mounted['send']> => {
    server = testServer({ echo, sql: echo, foo: echo, bar: echo, région: echo }, { plans: { sql: plan } })
    mounted = await mount(server)
    return mounted.send
  }
  /** The status, the error code and what ran. */
  const outcome = async (ask: Ask): Promise<[number, unknown, string[]]> => {
    const send = await start()
    const answer = await send(ask)
    const body = await answer.json()
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 1 })
    return [answer.status, (body['error'] as JsonObject | undefined)?.['code'], server.ran]
  }
  const call = (name: string, headers: Ask['headers'] = {}, args: JsonObject = {}): Ask =>
    modern('tools/call', { name, arguments: args }, headers)
  const sql = (args: JsonObject, headers: Ask['headers'] = {}): Ask => call('sql', headers, args)
  const accepted = (name: string): unknown => [200, undefined, [name]]
  const mismatch = [400, -32020, []]

  it.each([['mcp-protocol-version'], ['mcp-method'], ['mcp-name']])(
    'are all required: a request without %s is rejected with 400 and -32020',
    async (name) => {
      expect(await outcome(call('foo', { [name]: undefined }))).toEqual(mismatch)
    },
  )

  it.each([
    ['prompts/get', { name: 'greeting' }],
    ['resources/read', { uri: 'file:///a' }],
  ])('are required on %s too, even if the name is missing', async (method, params) => {
    expect(await outcome(modern(method, params, { 'mcp-name': undefined }))).toEqual(mismatch)
  })

  it.each([
    ['Mcp-Method', modern('prompts/get', { name: 'foo' }, { 'mcp-method': 'tools/call' })],
    ['Mcp-Name', call('bar', { 'mcp-name': 'foo' })],
    ['MCP-Protocol-Version', call('foo', { 'mcp-protocol-version': '2025-11-25' })],
  ])('that differ from the body are rejected with 400 and -32020: %s', async (_name, ask) => {
    expect(await outcome(ask)).toEqual(mismatch)
  })

  it.each(['TOOLS/CALL', 'Tools/Call', 'tools/Call'])('have case-sensitive values: %s', async (value) => {
    expect(await outcome(call('foo', { 'mcp-method': value }))).toEqual(mismatch)
  })

  it('are trimmed as HTTP trims them', async () => {
    const headers = { 'mcp-name': ' \t foo  ', 'mcp-method': ' tools/call ' }
    expect(await outcome(call('foo', headers))).toEqual(accepted('foo'))
  })

  it.each(['my-tool-name', 'my_tool_name', 'a.b/c'])('accept a plain name as it is: %s', async (name) => {
    server = testServer({ [name]: echo })
    mounted = await mount(server)
    expect((await mounted.send(call(name))).status).toBe(200)
    expect(server.ran).toEqual([name])
  })

  it.each(['file:///path/to/file%20name.txt', 'https://example.com/resource?id=123'])(
    'accept a URI as it is: %s',
    async (uri) => {
      const send = await start()
      expect((await send(modern('resources/read', { uri }))).status).toBe(200)
    },
  )

  it('are decoded before they are compared', async () => {
    expect(await outcome(call('région', { 'mcp-name': inBase64('région') }))).toEqual(accepted('région'))
    await mounted.close()
    const headers = { 'mcp-param-region': inBase64('süd') }
    expect(await outcome(sql({ region: 'süd' }, headers))).toEqual(accepted('sql'))
    await mounted.close()
    const other = { 'mcp-param-region': inBase64('nord') }
    expect(await outcome(sql({ region: 'süd' }, other))).toEqual(mismatch)
  })

  it.each([
    ['bad padding', '=?base64?SGVsbG8?='],
    ['characters that are none of base64', '=?base64?SGVs!!!bG8=?='],
    ['bytes that are no text', '=?base64?/w==?='],
    ['no base64 at all, but the letters themselves', 'é'],
  ])('with %s are rejected with 400 and -32020', async (_what, value) => {
    expect(await outcome(sql({ region: 'Hello' }, { 'mcp-param-region': value }))).toEqual(mismatch)
    await mounted.close()
    expect(await outcome(call('foo', { 'mcp-name': value }))).toEqual(mismatch)
  })

  it.each(['SGVsbG8=', '=?base64?SGVsbG8=', '=?BASE64?SGVsbG8=?='])(
    'without the exact markers are literal: %s',
    async (value) => {
      const headers = { 'mcp-param-region': value }
      expect(await outcome(sql({ region: value }, headers))).toEqual(accepted('sql'))
      await mounted.close()
      expect(await outcome(sql({ region: 'Hello' }, headers))).toEqual(mismatch)
    },
  )

  it.each<[string, JsonObject, Ask['headers']]>([
    ['texts', { region: 'us-west1' }, { 'mcp-param-region': 'us-west1' }],
    ['an empty text', { region: '' }, { 'mcp-param-region': '' }],
    ['whole numbers by value', { count: 42 }, { 'mcp-param-count': '42.0' }],
    ['negative numbers', { count: -7 }, { 'mcp-param-count': '-7' }],
    ['truth values', { dry: true }, { 'mcp-param-dry': 'true' }],
    ['values inside objects', { where: { zone: 'a' } }, { 'mcp-param-zone': 'a' }],
    ['nothing for null', { region: null }, {}],
    ['nothing for what is absent', {}, {}],
  ])('of arguments match the body: %s', async (_what, args, headers) => {
    expect(await outcome(sql(args, headers))).toEqual(accepted('sql'))
  })

  it.each<[string, JsonObject, Ask['headers']]>([
    ['a header is missing', { region: 'us-west1' }, {}],
    ['a header says another text', { region: 'us-west1' }, { 'mcp-param-region': 'eu' }],
    ['only the case differs', { region: 'us-west1' }, { 'mcp-param-region': 'US-West1' }],
    ['a header says another number', { count: 42 }, { 'mcp-param-count': '43' }],
    ['a number is written oddly', { count: 42 }, { 'mcp-param-count': '0x2a' }],
    ['a truth value is written oddly', { dry: true }, { 'mcp-param-dry': 'True' }],
    ['a number is not the same for every reader', { count: 2 ** 53 }, { 'mcp-param-count': `${2 ** 53}` }],
    ['there is a header for null', { region: null }, { 'mcp-param-region': 'null' }],
    ['there is a header for nothing', {}, { 'mcp-param-region': 'eu' }],
    ['a header inside an object is missing', { where: { zone: 'a' } }, {}],
  ])('of arguments are rejected with 400 and -32020 if %s', async (_what, args, headers) => {
    expect(await outcome(sql(args, headers))).toEqual(mismatch)
  })

  it('that are not required are ignored', async () => {
    expect(await outcome(call('foo', { 'mcp-param-other': 'x' }))).toEqual(accepted('foo'))
  })

  it('are never used by a handler', async () => {
    const seen: unknown[] = []
    const keep: Tool = (args) => {
      seen.push(args)
    }
    server = testServer({ sql: keep }, { plans: { sql: plan } })
    mounted = await mount(server)
    const args = { region: 'us-west1', other: 'body' }
    const headers = { 'mcp-param-region': 'us-west1', 'mcp-param-other': 'header' }
    await mounted.send(sql(args, headers))
    expect(seen).toEqual([args])
  })

  it('with an unknown version get 400, -32022 and the supported versions', async () => {
    const send = await start()
    for (const version of ['2099-01-01', 'DRAFT-2026', '2025-11-25']) {
      const answer = await send(
        modern(
          'tools/call',
          { name: 'foo', _meta: meta({ [MetaKey.protocolVersion]: version }) },
          { 'mcp-protocol-version': version },
        ),
      )
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        {
          error: {
            code: -32022,
            data: { requested: version, supported: expect.arrayContaining(['2026-07-28']) },
          },
        },
      ])
    }
    expect(server.ran).toEqual([])
  })

  it('with an unknown method get 404 and -32601', async () => {
    faultyPeer('methods that its revision does not have')
    for (const method of ['no/such', 'initialize', 'resources/subscribe', 'tools/List']) {
      expect(await outcome(modern(method))).toEqual([404, -32601, []])
      await mounted.close()
    }
  })

  it('of sessions and resumption are ignored for a stateless request', async () => {
    const send = await start()
    const answer = await send(call('foo', { 'mcp-session-id': 'abc', 'last-event-id': 'x_1' }))
    expect([answer.status, answer.header('mcp-session-id')]).toEqual([200, undefined])
    expect(server.ran).toEqual(['foo'])
  })

  it('without a version belong to a body without _meta: that is a session, and there is none', async () => {
    const send = await start()
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'foo' } }
    const answer = await send({ headers: { 'mcp-method': 'tools/call', 'mcp-name': 'foo' }, body })
    expect([answer.status, await answer.json()]).toMatchObject([400, { id: 1, error: { code: -32600 } }])
    expect(server.ran).toEqual([])
  })
})

describe('names of headers on a real connection', () => {
  it.each([
    ['small', (name: string) => name.toLowerCase()],
    ['large', (name: string) => name.toUpperCase()],
    ['mixed', (name: string) => name.replace(/./g, (letter, at) => (at % 2 ? letter : letter.toUpperCase()))],
  ])('are read in %s letters', async (_, written) => {
    const server = testServer({ sql: echo }, { plans: { sql: plan } })
    const mounted = await nodeAdapter(server)
    const { headers, body } = modern('tools/call', { name: 'sql', arguments: { region: 'eu' } })
    const all = { ...headers, 'mcp-param-region': 'eu' }
    const spelled = Object.fromEntries(Object.entries(all).map(([name, value]) => [written(name), value]))
    expect((await mounted.send({ headers: spelled, body })).status).toBe(200)
    const wrong = { ...spelled, [written('mcp-param-region')]: 'us' }
    expect((await mounted.send({ headers: wrong, body })).status).toBe(400)
    expect(server.ran).toEqual(['sql'])
    await mounted.close()
  })

  it('that are too many or too long are rejected before the body is read', async () => {
    const server = testServer({ foo: echo })
    const mounted = await nodeAdapter(server)
    const ask = modern('tools/call', { name: 'foo' }, { 'mcp-param-big': 'x'.repeat(20_000) })
    expect((await mounted.send(ask)).status).toBe(431)
    expect(server.ran).toEqual([])
    await mounted.close()
  })
})
