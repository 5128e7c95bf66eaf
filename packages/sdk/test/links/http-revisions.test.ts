import type { ProtocolVersion } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { json, result, type Scripted, type Seen, scripted, sse, until } from '../client/support/http.ts'
import { checkWire } from '../schema/wire.ts'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })

/** Plays a session of one revision: begins it, takes what wants no answer, and leaves the rest to `rest`. */
function playing(version: ProtocolVersion, id: () => string, rest: (one: Seen) => void): (one: Seen) => void {
  return (one) => {
    const { method } = one.message
    if (one.method === 'DELETE') one.res.writeHead(200).end()
    else if (one.method === 'GET' && one.headers['last-event-id'] === undefined) one.res.writeHead(405).end()
    else if (method === 'initialize') {
      const serverInfo = { name: 'hand', version: '1' }
      const value = { protocolVersion: version, capabilities: { tools: {} }, serverInfo }
      result(one, value, { 'mcp-session-id': id() })
    } else if (one.method === 'POST' && one.headers['mcp-session-id'] !== id()) one.res.writeHead(404).end()
    else if (one.method === 'POST' && (method === undefined || method.startsWith('notifications/'))) {
      one.res.writeHead(202).end()
    } else rest(one)
  }
}

async function connectTo(server: Scripted, version: ProtocolVersion, options: ConnectOptions = {}) {
  const client = await connect(server.url, { revisions: [version], ...options })
  onTestFinished(() => client.close())
  expect(client.server.revision).toBe(version)
  return client
}

const revisions: ProtocolVersion[] = ['2025-03-26', '2025-06-18', '2025-11-25']

describe.each(revisions)('a session of %s over HTTP', (version) => {
  const session = 'Session-1!~'

  it('sends each message in a separate POST, with its session and both content types', async () => {
    const server = await scripted(
      playing(
        version,
        () => session,
        (one) => {
          const { method, id, params } = one.message
          if (method !== 'tools/call') result(one, {})
          else if (params.name === 'slow') sse(one.res)({})
          else {
            const send = sse(one.res)
            send({ data: { jsonrpc: '2.0', id: 'q1', method: 'roots/list' } })
            until(() => server.seen.some(({ message }) => message.id === 'q1')).then(() => {
              send({ data: { jsonrpc: '2.0', id, result: text('done') } })
              one.res.end()
            })
          }
        },
      ),
    )
    const client = await connectTo(server, version, { onRoots: [{ uri: 'file:///a' }] })
    await client.ping()
    await client.call('t', { text: 'a\nb' })
    await client.rootsChanged()
    const stop = new AbortController()
    const slow = client.call('slow', {}, { signal: stop.signal })
    await until(() => server.of('tools/call').length === 2)
    stop.abort()
    await expect(slow).rejects.toMatchObject({ code: 'CANCELLED' })
    await until(() => server.of('notifications/cancelled').length === 1)
    await client.close()

    const posts = server.seen.filter((one) => one.method === 'POST')
    expect(posts.map(({ message }) => message.method ?? 'response')).toEqual([
      'initialize',
      'notifications/initialized',
      'ping',
      'tools/call',
      'response',
      'notifications/roots/list_changed',
      'tools/call',
      'notifications/cancelled',
    ])
    for (const { message, headers } of posts) {
      const asked = message.method === undefined ? 'roots/list' : undefined
      expect([message.method, checkWire(version, 'client', message, asked)]).toEqual([message.method, []])
      expect(headers.accept).toBe('application/json, text/event-stream')
      expect(headers['content-type']).toBe('application/json')
    }
    const get = server.seen.find((one) => one.method === 'GET')
    expect(get?.headers.accept).toBe('text/event-stream')
    expect(server.seen.map((one) => one.method).filter((method) => method === 'DELETE')).toHaveLength(1)
    expect(posts[0]?.headers['mcp-session-id']).toBeUndefined()
    for (const { headers } of server.seen.slice(1)) {
      expect(headers).toMatchObject({ 'mcp-session-id': session, 'mcp-protocol-version': version })
    }
    expect(new Set(server.seen.map((one) => one.url))).toEqual(new Set(['/mcp']))
  })

  it('accepts responses as JSON and as an event stream', async () => {
    const server = await scripted(
      playing(
        version,
        () => session,
        (one) => {
          const data = { jsonrpc: '2.0', id: one.message.id, result: text('here') }
          if (one.message.params.name === 'json') return json(one.res, data)
          sse(one.res)({ data })
          one.res.end()
        },
      ),
    )
    const client = await connectTo(server, version)
    await expect(client.call('json')).resolves.toMatchObject(text('here'))
    await expect(client.call('stream')).resolves.toMatchObject(text('here'))
  })

  it('is reopened after 404, without its old id', async () => {
    let current = 's1'
    const server = await scripted(
      playing(
        version,
        () => current,
        (one) => result(one, {}),
      ),
    )
    const client = await connectTo(server, version)
    current = 's2'
    await client.ping()
    const begun = server.of('initialize')
    expect(begun).toHaveLength(2)
    expect(begun[1]?.headers['mcp-session-id']).toBeUndefined()
    expect(server.of('ping').map((one) => one.headers['mcp-session-id'])).toEqual(['s1', 's2'])
  })

  it('is resumed by a GET with the last event id', async () => {
    const server = await scripted(
      playing(
        version,
        () => session,
        (one) => {
          const send = sse(one.res)
          if (one.method === 'GET') {
            const id = server.of('tools/call')[0]?.message.id
            send({ id: 'b', data: { jsonrpc: '2.0', id, result: text('rest') } })
            one.res.end()
          } else {
            send({
              id: 'a',
              retry: 100,
              data: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
            })
            setTimeout(() => one.res.destroy(), 20)
          }
        },
      ),
    )
    const client = await connectTo(server, version)
    await expect(client.call('t')).resolves.toMatchObject(text('rest'))
    const resumed = server.seen.filter((one) => one.headers['last-event-id'] !== undefined)
    expect(resumed).toMatchObject([
      {
        method: 'GET',
        headers: { 'last-event-id': 'a', 'mcp-session-id': session, accept: 'text/event-stream' },
      },
    ])
    expect(server.of('notifications/cancelled')).toEqual([])
  })

  it('never sends its id to another origin, nor in an error, warning or message', async () => {
    const other = await scripted((one) => one.res.end())
    const received: unknown[] = []
    const server = await scripted(
      playing(
        version,
        () => session,
        (one) => {
          if (one.message.params.name === 'away') one.res.writeHead(307, { location: other.url }).end()
          else one.res.writeHead(500).end('out of order')
        },
      ),
    )
    const client = await connectTo(server, version, {
      onWarning: (warning) => received.push(warning),
      onMessage: (_direction, message) => received.push(message),
    })
    for (const name of ['away', 'broken']) {
      const error = await client.call(name).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'HTTP' })
      received.push(String(error), error)
    }
    expect(other.seen).toEqual([])
    expect(JSON.stringify(received)).not.toContain(session)
  })
})

describe('a session of 2025-03-26 over HTTP', () => {
  it('accepts responses as an array, in JSON and on a stream', async () => {
    const server = await scripted(
      playing(
        '2025-03-26',
        () => 's',
        (one) => {
          const data = [{ jsonrpc: '2.0', id: one.message.id, result: text('batched') }]
          if (one.message.params.name === 'json') return json(one.res, data)
          sse(one.res)({ data })
          one.res.end()
        },
      ),
    )
    const client = await connectTo(server, '2025-03-26')
    await expect(client.call('json')).resolves.toMatchObject(text('batched'))
    await expect(client.call('stream')).resolves.toMatchObject(text('batched'))
  })
})
