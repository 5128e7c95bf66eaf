import type { ProtocolVersion } from '@jackfield/sdk'
import { type Client, type ClientTransportFactory, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { child, isAlive } from './support/child.ts'
import { json, type Message, type Seen, scripted, tick, until } from './support/http.ts'

const legacy: ProtocolVersion[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const over = ['http', 'stdio'] as const

/** What a server received, and its delayed response to `initialize`. */
interface Played {
  received: Message[]
  client: Promise<Client>
  answer(result: object): void
}

/** A server that only records requests until its response is set; everything after `initialize` gets `{}`. */
async function play(transport: (typeof over)[number], options: ConnectOptions): Promise<Played> {
  const received: Message[] = []
  if (transport === 'http') {
    let first: Seen | undefined
    const server = await scripted((one) => {
      if (one.message.method !== undefined) received.push(one.message)
      const { id, method } = one.message
      if (method === 'initialize') first = one
      else if (id !== undefined) json(one.res, { jsonrpc: '2.0', id, result: {} })
      else one.res.writeHead(one.method === 'POST' ? 202 : 405).end()
    })
    const client = connect(server.url, options)
    const answer = (result: object): void => {
      if (first !== undefined) json(first.res, { jsonrpc: '2.0', id: first.message.id, result })
    }
    return { received, client, answer }
  }
  const link = child(
    `let first
    each((message) => {
      if (message.method === 'answer') return send({ id: first, result: message.params.result })
      console.error(JSON.stringify(message))
      if (message.method === 'initialize') first = message.id
      else if (message.id !== undefined) send({ id: message.id, result: {} })
    })`,
    {
      onStderr: (text) =>
        received.push(
          ...text
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line)),
        ),
    },
  )
  let made: ReturnType<ClientTransportFactory> | undefined
  const client = connect(() => {
    made = link()
    return made
  }, options)
  const answer = (result: object): void => {
    made?.notify({ jsonrpc: '2.0', method: 'answer', params: { result } }).catch(() => {})
  }
  return { received, client, answer }
}

const serverInfo = { name: 'hand', version: '1' }
const methodsOf = (received: readonly Message[]) => received.map(({ method }) => method)

describe.each(over.flatMap((transport) => legacy.map((revision) => ({ transport, revision }))))(
  'starting a session over $transport at $revision',
  ({ transport, revision }) => {
    const options: ConnectOptions = {
      revisions: legacy.filter((version) => version <= revision),
      info: { name: 'me', version: '2' },
      onRoots: [],
      onElicit: () => ({ action: 'cancel' }),
    }

    it('sends initialize first, with its newest revision, its identity and its capabilities', async () => {
      const { received, client, answer } = await play(transport, options)
      await until(() => received.length === 1)
      answer({ protocolVersion: revision, capabilities: {}, serverInfo })
      await (await client).close()
      expect(received[0]).toMatchObject({
        method: 'initialize',
        params: {
          protocolVersion: revision,
          capabilities: { roots: { listChanged: true }, elicitation: { form: {} } },
          clientInfo: { name: 'me', version: '2' },
        },
      })
    })

    it('sends nothing more before the response, then notifications/initialized, then requests', async () => {
      const { received, client, answer } = await play(transport, { ...options, logLevel: 'info' })
      await until(() => received.length === 1)
      await tick(60)
      expect(methodsOf(received)).toEqual(['initialize'])
      answer({ protocolVersion: revision, capabilities: { logging: {} }, serverInfo })
      const connected = await client
      await connected.ping()
      await connected.close()
      expect(methodsOf(received)).toEqual([
        'initialize',
        'notifications/initialized',
        'logging/setLevel',
        'ping',
      ])
    })

    it('never cancels initialize', async () => {
      const stop = new AbortController()
      const { received, client } = await play(transport, { ...options, signal: stop.signal })
      const given = expect(client).rejects.toMatchObject({ code: 'CANCELLED' })
      await until(() => received.length === 1)
      stop.abort()
      await given
      await tick(60)
      expect(methodsOf(received)).toEqual(['initialize'])
    })

    it('disconnects from a server with an unsupported revision', async () => {
      const { received, client, answer } = await play(transport, options)
      await until(() => received.length === 1)
      answer({ protocolVersion: '1999-01-01', capabilities: {}, serverInfo })
      await expect(client).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
      await tick(60)
      expect(methodsOf(received)).toEqual(['initialize'])
    })

    it('uses no capability that the server did not declare', async () => {
      const { received, client, answer } = await play(transport, options)
      await until(() => received.length === 1)
      answer({ protocolVersion: revision, capabilities: { resources: {} }, serverInfo })
      const connected = await client
      for (const list of [connected.tools(), connected.prompts()]) await expect(list).resolves.toEqual([])
      for (const attempt of [
        connected.request('tools/list'),
        connected.call('x'),
        connected.request('prompts/list'),
        connected.prompt('x'),
        connected.watch({ toolsListChanged: true, resourceSubscriptions: ['a:b'] }),
        connected.setLogLevel('info'),
        connected.request('resources/subscribe', { uri: 'a:b' }),
        ...(revision > '2024-11-05'
          ? [
              connected.complete({
                ref: { type: 'ref/prompt', name: 'p' },
                argument: { name: 'a', value: '' },
              }),
            ]
          : []),
      ]) {
        await expect(attempt).rejects.toMatchObject({ code: 'CAPABILITY' })
      }
      await connected.ping()
      await connected.close()
      expect(methodsOf(received)).toEqual(['initialize', 'notifications/initialized', 'ping'])
    })
  },
)

describe.each(['2025-06-18', '2025-11-25'] as const)('a session of %s over HTTP', (revision) => {
  it('sends the negotiated revision in the header of every later request', async () => {
    const server = await scripted((one) => {
      const { id, method } = one.message
      const result =
        method === 'initialize' ? { protocolVersion: revision, capabilities: {}, serverInfo } : {}
      if (id !== undefined) json(one.res, { jsonrpc: '2.0', id, result })
      else one.res.writeHead(one.method === 'POST' ? 202 : 405).end()
    })
    const client = await connect(server.url, { revisions: [revision, '2025-03-26'] })
    await client.ping()
    await client.close()
    const [first, ...later] = server.seen
    expect(first?.message.method).toBe('initialize')
    expect(later.length).toBeGreaterThanOrEqual(3)
    for (const { headers } of later) expect(headers['mcp-protocol-version']).toBe(revision)
  })
})

describe('a session', () => {
  it('has a ping with its own timeout', async () => {
    const client = await connect(
      child(`each((message) => { if (message.method === 'initialize') legacy(message) })`),
      { revisions: ['2025-11-25'] },
    )
    onTestFinished(() => client.close())
    await expect(client.ping({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('fails if the server process supports no revision of this client', async () => {
    let pid = 0
    const attempt = connect(
      child(
        `console.error(process.pid)
        each((message) => send({ id: message.id, result: { protocolVersion: '1', capabilities: {}, serverInfo: info } }))
        setInterval(() => {}, 1000)`,
        {
          onStderr: (text) => {
            pid ||= Number(text)
          },
        },
      ),
      { revisions: ['2025-11-25'] },
    )
    await expect(attempt).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    await until(() => pid > 0 && !isAlive(pid))
  })

  it('accepts a batch of responses on 2025-03-26', async () => {
    const waiting = `
      const waiting = []
      each((message) => {
        if (message.method === 'initialize') {
          send({ id: message.id, result: { protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo: info } })
        } else if (message.id !== undefined && waiting.push(message.id) === 2) {
          const answers = waiting.map((id) => ({ jsonrpc: '2.0', id, result: text('answer ' + id) }))
          const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'batched' } }
          process.stdout.write(JSON.stringify([log, ...answers.reverse()]) + '\\n')
        }
      })`
    const logs: unknown[] = []
    const client = await connect(child(waiting), {
      revisions: ['2025-03-26'],
      onLog: ({ data }) => logs.push(data),
    })
    onTestFinished(() => client.close())
    const both = await Promise.all([client.call('a'), client.call('b')])
    expect(both.map(({ content }) => content[0])).toMatchObject([
      { text: expect.stringMatching(/^answer/) },
      { text: expect.stringMatching(/^answer/) },
    ])
    expect(JSON.stringify(both[0])).not.toBe(JSON.stringify(both[1]))
    expect(logs).toEqual(['batched'])
  })

  it('is remembered: a session that ended is reopened without a new probe', async () => {
    let current = 's1'
    const methods: unknown[] = []
    const server = await scripted((one) => {
      const { id, method, params } = one.message
      if (method !== undefined) methods.push(method)
      const reply = (value: object, headers = {}): void =>
        json(one.res, { jsonrpc: '2.0', id, ...value }, 200, headers)
      if (method === 'server/discover') reply({ error: { code: -32601, message: 'Method not found' } })
      else if (method === 'initialize') {
        current = `s${methods.length}`
        const { protocolVersion } = params
        reply(
          { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } },
          { 'mcp-session-id': current },
        )
      } else if (one.method !== 'POST' || id === undefined)
        one.res.writeHead(one.method === 'POST' ? 202 : 405).end()
      else if (one.headers['mcp-session-id'] !== current) one.res.writeHead(404).end()
      else reply({ result: { tools: [] } })
    })
    const client = await connect(server.url)
    onTestFinished(() => client.close())
    await client.tools()
    current = 'gone'
    await client.tools()
    expect(methods.filter((method) => method === 'server/discover')).toHaveLength(1)
    expect(methods.filter((method) => method === 'initialize')).toHaveLength(2)
  })
})

describe('notifications and cancellations', () => {
  const speak = (during: string) =>
    child(`
      each((message) => {
        if (message.method === 'initialize') {
          send({ id: message.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info } })
        } else console.error(JSON.stringify(message))
        if (message.method === 'tools/call') { ${during} }
        if (message.method === 'ping') send({ id: message.id, result: {} })
      })`)

  async function open(during: string, options: ConnectOptions = {}) {
    const sent: (string | undefined)[] = []
    const client = await connect(speak(during), {
      revisions: ['2025-11-25'],
      onMessage: (direction, message) =>
        direction === 'sent' && sent.push('method' in message ? message.method : undefined),
      ...options,
    })
    onTestFinished(() => client.close())
    sent.length = 0
    return { client, sent }
  }

  it('of a server are never answered, whatever they contain', async () => {
    faultyPeer('notices that its revision does not know')
    const { client, sent } = await open(`
      for (const method of ['notifications/unknown', 'notifications/cancelled', 'roots/list', 'ping']) {
        send({ method, params: { odd: true } })
      }
      send({ id: message.id, result: text('done') })`)
    await client.call('x')
    await client.ping()
    expect(sent).toEqual(['tools/call', 'ping'])
  })

  it('are not sent for a completed request', async () => {
    const { client, sent } = await open(`send({ id: message.id, result: text('done') })`)
    const stop = new AbortController()
    await client.call('x', {}, { signal: stop.signal })
    stop.abort()
    await client.ping()
    expect(sent).toEqual(['tools/call', 'ping'])
  })

  it("give a handler the reason of the server's cancellation", async () => {
    const reasons: unknown[] = []
    const { client } = await open(
      `send({ id: 'q', method: 'roots/list' })
       send({ method: 'notifications/cancelled', params: { requestId: 'q', reason: 'no longer needed' } })
       setTimeout(() => send({ id: message.id, result: text('done') }), 50)`,
      {
        onRoots: (context) =>
          new Promise((resolve) => {
            context.signal.addEventListener('abort', () => {
              reasons.push(context.signal.reason)
              resolve([])
            })
          }),
      },
    )
    await client.call('x')
    expect(reasons).toMatchObject([{ code: 'CANCELLED', message: expect.stringMatching(/no longer needed/) }])
  })
})
