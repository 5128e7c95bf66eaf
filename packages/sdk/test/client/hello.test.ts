import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectOptions, connect, type Target } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { child } from './support/child.ts'
import { begun, discovered, failure, result, type Seen, scripted } from './support/http.ts'

const version = 'io.modelcontextprotocol/protocolVersion'

async function open(target: Target, options: ConnectOptions = {}) {
  const client = await connect(target, options)
  onTestFinished(() => client.close())
  return client
}

/** A file the child appends a line to each time it starts. */
function counter() {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'starts')
  return {
    code: `import { appendFileSync } from 'node:fs'; appendFileSync(${JSON.stringify(path)}, process.pid + '\\n')\n`,
    starts: () => readFileSync(path, 'utf8').trim().split('\n').length,
  }
}

describe('a server over stdio', () => {
  it('of the stateless era is detected by its response to server/discover', async () => {
    const client = await open(child(`each((message) => modern(message))`))
    expect(client.server).toMatchObject({
      revision: '2026-07-28',
      era: 'stateless',
      capabilities: { tools: {} },
    })
  })

  it.each<[string, string, string?]>([
    ['-32601', `send({ id: message.id, error: { code: -32601, message: 'Method not found' } })`],
    ['-32602', `send({ id: message.id, error: { code: -32602, message: 'Invalid request parameters' } })`],
    ['an unknown code', `send({ id: message.id, error: { code: 77, message: 'what?' } })`],
    ['an empty result', `send({ id: message.id, result: {} })`, 'a result that lacks everything'],
    [
      'a result of another kind',
      `send({ id: message.id, result: { resultType: 'x', supportedVersions: [] } })`,
    ],
  ])('that answers server/discover with %s is legacy, in the same process', async (_, answer, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const { code, starts } = counter()
    const client = await open(
      child(`${code} each((message) => {
        if (message.method === 'server/discover') ${answer}
        else if (message.method === 'initialize') legacy(message)
      })`),
    )
    expect(client.server).toMatchObject({ revision: '2025-11-25', era: 'session', info: { name: 'child' } })
    expect(starts()).toBe(1)
  })

  it('that does not respond to server/discover is legacy after the probe time, in the same process', async () => {
    const { code, starts } = counter()
    const client = await open(
      child(`${code} each((message) => { if (message.method === 'initialize') legacy(message) })`),
      { probeTimeoutMs: 150 },
    )
    expect(client.server.era).toBe('session')
    expect(starts()).toBe(1)
  })

  it('that only responds slowly to server/discover is modern', async () => {
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') setTimeout(() => modern(message), 300)
      })`),
      { probeTimeoutMs: 50 },
    )
    expect(client.server.era).toBe('stateless')
  })

  it('that exits on server/discover is restarted once, and not probed again', async () => {
    const { code, starts } = counter()
    const client = await open(
      child(`${code} each((message) => {
        if (message.method === 'server/discover') process.exit(1)
        if (message.method === 'initialize') legacy(message)
      })`),
    )
    expect(client.server.era).toBe('session')
    expect(starts()).toBe(2)
  })

  it('that always exits is a failure, not a loop', async () => {
    const { code, starts } = counter()
    await expect(connect(child(`${code} process.exit(2)`))).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
    expect(starts()).toBe(2)
  })

  it('that never responds times out, and its process ends', async () => {
    let pid = 0
    const began = performance.now()
    const attempt = connect(
      child(`console.error(process.pid); each(() => {})`, {
        onStderr: (text) => {
          pid ||= Number(text)
        },
      }),
      { probeTimeoutMs: 100, connectTimeoutMs: 400 },
    )
    await expect(attempt).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(performance.now() - began).toBeLessThan(8_000)
    expect(() => process.kill(pid, 0)).toThrow()
  })

  it('is not probed with server/discover when only older revisions are allowed', async () => {
    const client = await open(
      child(
        `each((message) => message.method === 'initialize' ? legacy(message) : message.id && process.exit(9))`,
      ),
      { revisions: ['2025-11-25'] },
    )
    expect(client.server.revision).toBe('2025-11-25')
  })

  it('of the older era gets no initialize when only 2026-07-28 is allowed', async () => {
    const attempt = connect(
      child(
        `each((message) => send({ id: message.id, error: { code: -32601, message: 'Method not found' } }))`,
      ),
      { revisions: ['2026-07-28'] },
    )
    await expect(attempt).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringContaining('"revisions"'),
    })
  })

  it('that answers initialize with an unknown revision is rejected', async () => {
    const attempt = connect(
      child(`each((message) => message.method === 'initialize' &&
        send({ id: message.id, result: { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: info } }))`),
      { revisions: ['2025-06-18', '2025-11-25'] },
    )
    await expect(attempt).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringMatching(/2024-11-05/),
    })
  })

  it('may ping before it responds to initialize', async () => {
    const client = await open(
      child(`
        let greeting
        each((message) => {
          if (message.method === 'initialize') {
            greeting = message
            send({ id: 'p', method: 'ping' })
          } else if (message.id === 'p' && message.result) legacy(greeting)
        })`),
      { revisions: ['2025-11-25'] },
    )
    expect(client.server.era).toBe('session')
  })
})

describe('a server over HTTP', () => {
  const legacy = (one: Seen): void => {
    if (begun(one)) return
    if (one.method === 'GET') one.res.writeHead(405).end()
    else result(one, { tools: [] })
  }

  it.each<[string, (one: Seen) => void, string?]>([
    [
      '400 and -32000 without an id',
      (one) => noId(one, 400, -32000, 'Bad Request: Unsupported protocol version'),
    ],
    ['400 and no body', (one) => one.res.writeHead(400).end()],
    ['404 and a page', (one) => one.res.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found')],
    ['500', (one) => one.res.writeHead(500).end()],
    ['an empty result', (one) => result(one, {}), 'a result that lacks everything'],
    ['a broken connection', (one) => one.res.destroy()],
    [
      '-32022 without naming versions',
      (one) => failure(one, -32022, 'Unsupported protocol version'),
      'an error that lacks its data',
    ],
  ])('that answers server/discover with %s is legacy', async (_, answer, fault) => {
    if (fault !== undefined) faultyPeer(fault)
    const server = await scripted((one) => {
      if (one.message.method === 'server/discover') answer(one)
      else legacy(one)
    })
    const client = await open(server.url)
    expect(client.server.era).toBe('session')
    await expect(client.tools()).resolves.toEqual([])
  })

  it('that rejects a revision it lists as supported is probed again once', async () => {
    const server = await scripted((one) => {
      if (server.seen.length === 1) {
        failure(one, -32022, 'Unsupported', 400, { supported: ['2026-07-28'], requested: '2026-07-28' })
      } else discovered(one)
    })
    const client = await open(server.url)
    expect(client.server.era).toBe('stateless')
    expect(server.of('server/discover').map((one) => one.message.params._meta[version])).toEqual([
      '2026-07-28',
      '2026-07-28',
    ])
  })

  it.each<[number, object?]>([[-32020], [-32021, { requiredCapabilities: {} }]])(
    'that rejects with %i is modern, and gets no initialize',
    async (code, data) => {
      const server = await scripted((one) => failure(one, code, 'no', 400, data))
      await expect(connect(server.url)).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
      expect(server.of('initialize')).toEqual([])
      expect(server.of('server/discover')).toHaveLength(2)
    },
  )

  it('that names only revisions this client does not allow is a mismatch that lists both', async () => {
    const server = await scripted((one) =>
      failure(one, -32022, 'Unsupported', 400, { supported: ['2030-01-01'], requested: '2026-07-28' }),
    )
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringMatching(/2030-01-01.*2026-07-28/),
    })
    expect(server.of('initialize')).toEqual([])
  })

  it('that lists an older revision as its newest gets initialize with it', async () => {
    const server = await scripted((one) => {
      if (one.message.method === 'server/discover') {
        failure(one, -32022, 'Unsupported', 400, {
          supported: ['2025-03-26', '2025-06-18'],
          requested: '2026-07-28',
        })
      } else if (one.message.method === 'initialize') {
        const { protocolVersion } = one.message.params
        result(one, { protocolVersion, capabilities: {}, serverInfo: { name: 'a', version: '1' } })
      } else legacy(one)
    })
    const client = await open(server.url)
    expect(client.server.revision).toBe('2025-06-18')
  })

  it.each([401, 403])(
    'that responds with %i requires credentials, and is not considered legacy',
    async (status) => {
      const server = await scripted((one) => one.res.writeHead(status).end())
      await expect(connect(server.url)).rejects.toMatchObject({ code: 'UNAUTHORIZED', details: { status } })
      expect(server.of('initialize')).toEqual([])
    },
  )

  it('that requires another version in initialize gets it', async () => {
    const server = await scripted((one) => {
      const { protocolVersion } = one.message.params ?? {}
      if (one.message.method === 'initialize' && protocolVersion !== '2024-11-05') {
        failure(one, -32602, 'Unsupported protocol version', 200, { supported: ['2024-11-05'] })
      } else if (one.message.method === 'initialize') {
        result(one, { protocolVersion, capabilities: {}, serverInfo: { name: 'a', version: '1' } })
      } else legacy(one)
    })
    const client = await open(server.url)
    expect(client.server.revision).toBe('2024-11-05')
  })

  it('may respond to a notification with 200 and a body', async () => {
    const server = await scripted((one) => {
      if (one.message.method?.startsWith('notifications/')) result(one, {})
      else legacy(one)
    })
    const client = await open(server.url)
    await expect(client.tools()).resolves.toEqual([])
  })

  it('that never accepts notifications/initialized times out', async () => {
    const server = await scripted((one) => {
      if (!one.message.method?.startsWith('notifications/')) legacy(one)
    })
    const began = performance.now()
    await expect(connect(server.url, { connectTimeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(performance.now() - began).toBeLessThan(8_000)
  })

  it("gets the client's identity and its capabilities, and no others", async () => {
    const server = await scripted((one) => {
      if (!discovered(one)) result(one, { tools: [] })
    })
    await open(server.url, {
      info: { name: 'me', version: '2' },
      onElicit: () => ({ action: 'cancel' }),
      elicitation: { form: true, url: true },
      onRoots: [],
    })
    expect(server.seen[0]?.message.params._meta).toEqual({
      [version]: '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'me', version: '2' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} }, roots: {} },
    })
  })

  it('is abandoned when the caller aborts', async () => {
    const server = await scripted(() => {})
    const stop = new AbortController()
    const attempt = connect(server.url, { signal: stop.signal })
    setTimeout(() => stop.abort(), 50)
    await expect(attempt).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})

describe('options', () => {
  it('that declare capabilities without handlers are rejected', async () => {
    await expect(connect('http://127.0.0.1:9/', { elicitation: { form: true } })).rejects.toThrow(/onElicit/)
    await expect(connect('http://127.0.0.1:9/', { sampling: { tools: true } })).rejects.toThrow(/onSample/)
    await expect(connect('http://127.0.0.1:9/', { revisions: [] })).rejects.toMatchObject({ code: 'INVALID' })
  })
})

function noId(one: Seen, status: number, code: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })
  one.res.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
