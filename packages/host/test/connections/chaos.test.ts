import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { StderrFilter } from '../../src/servers/connections/opener.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { eraHttp } from '../fixtures/era-http.ts'
import { gate } from '../fixtures/gate.ts'
import { folder, session, started, states, textOf, until, type Watched } from '../fixtures/hosts.ts'

const at = (name: string): string => programFile(new URL(`../fixtures/${name}`, import.meta.url))
const eraServer = programFile(new URL('../fixtures/era-server.ts', import.meta.url))
const rules = [{ id: 'all', verdict: 'allow' as const }]
const stateOf = (host: Watched) => host.connections.get('s')?.state

function child(
  mode: string,
  more: Partial<ServerConfig> = {},
): { config: ServerConfig; messages: () => string[] } {
  const log = join(folder(), 'messages.log')
  return {
    config: {
      command: process.execPath,
      args: [eraServer],
      env: { MODE: mode, LOG: log },
      ...more,
    },
    messages: () =>
      readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[1] ?? ''),
  }
}

/** Makes pauses as short as they can be. */
function impatient(): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
}

describe.for(['2025-11-25', '2026-07-28'])('over HTTP, on %s', (mode) => {
  it("an outage of any length keeps the lists, is reported, and ends with the server's return", async () => {
    impatient()
    const server = await eraHttp(mode)
    const host = await started({ servers: { s: { url: server.url } }, rules, connect: { idlePingMs: 500 } })
    server.intercept = (_message, response) => {
      response.writeHead(502).end('bad gateway')
      return true
    }
    await until(() => {
      const state = host.connections.get('s')
      return state?.state === 'reconnecting' && state.attempt > 6
    }, 'a seventh attempt')
    expect(host.tools()).toHaveLength(1)
    server.intercept = () => false
    await until(() => stateOf(host) === 'ready', 'ready')
    expect(textOf(await host.call('s__hello', {}, { caller: 'cli' }))).toBe('hello')
    expect(states(host, 's')).not.toContain('failed')
  })

  it('three gateway failures affect only their calls', async () => {
    impatient()
    const server = await eraHttp(mode)
    const host = await started({ servers: { s: { url: server.url } }, rules })
    let left = 3
    server.intercept = (message, response) => {
      if (message.method !== 'tools/call' || left-- <= 0) return false
      response.writeHead(502).end()
      return true
    }
    for (const _ of [1, 2, 3]) {
      const lost = await host.call('s__hello', {}, { caller: 'chat' })
      expect(lost.error).toMatchObject({ code: expect.stringMatching(/HTTP|OUTCOME_UNKNOWN/) })
      expect(host.tools()).toHaveLength(1)
    }
    expect(textOf(await host.call('s__hello', {}, { caller: 'chat' }))).toBe('hello')
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(4)
    expect(stateOf(host)).toBe('ready')
  })

  it('a failed DNS lookup affects only its call', async () => {
    const server = await eraHttp(mode)
    const host = await started({ servers: { s: { url: server.url } }, rules })
    let left = 1
    server.intercept = (message, response) => {
      if (message.method !== 'tools/call' || left-- <= 0) return false
      response.writeHead(404).end('not here')
      return true
    }
    const lost = await host.call('s__hello', {}, { caller: 'chat' })
    expect(lost.error).toMatchObject({ message: expect.stringContaining('404') })
    expect(host.tools()).toHaveLength(1)
    expect(textOf(await host.call('s__hello', {}, { caller: 'chat' }))).toBe('hello')
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(2)
    expect(states(host, 's')).not.toContain('failed')
  })

  it('a hanging connection is detected by a ping, and reopened', async () => {
    impatient()
    const server = await eraHttp(mode)
    const way = await gate(Number(new URL(server.url).port))
    const url = `http://127.0.0.1:${way.port}/mcp`
    const host = await started({ servers: { s: { url } }, connect: { idlePingMs: 1_000 } })
    way.hang()
    await until(() => stateOf(host) === 'reconnecting', 'reconnecting')
    expect(host.connections.get('s')).toMatchObject({ reason: expect.stringMatching(/\d+ ms|in time/) })
    expect(host.tools()).toHaveLength(1)
    way.heal()
    await until(() => stateOf(host) === 'ready', 'ready', 25_000)
  })

  it('after a suspend, connections are checked at once', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const server = await eraHttp(mode)
    const host = await started({ servers: { s: { url: server.url } }, connect: { idlePingMs: 900 } })
    for (const minutes of [10, -60]) {
      const before = server.methods.filter((method) => method === 'tools/list').length
      vi.setSystemTime(Date.now() + minutes * 60_000)
      await until(
        () => server.methods.filter((method) => method === 'tools/list').length > before,
        'the lists asked for anew',
      )
      expect(stateOf(host)).toBe('ready')
    }
  })
})

describe('a subscription that its server ends repeatedly', () => {
  it('is renewed with growing pauses, while everything else continues', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
    onTestFinished(() => random.mockRestore())
    const server = await eraHttp('2026-07-28')
    const listens: number[] = []
    server.intercept = (message, response) => {
      const { id, method, params } = message
      if (method === 'server/discover') {
        const capabilities = { tools: { listChanged: true } }
        const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
        response.writeHead(200, { 'content-type': 'application/json' })
        const result = { ...cached, supportedVersions: ['2026-07-28'], capabilities }
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        return true
      }
      if (method !== 'subscriptions/listen') return false
      listens.push(performance.now())
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      const acknowledged = {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: params?.['notifications'], _meta },
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${JSON.stringify(acknowledged)}\n\n`)
      return true
    }
    const host = await started({ servers: { s: { url: server.url } }, rules })
    await until(() => listens.length === 5, 'the fifth watch', 20_000)
    const [, , , fourth = 0, fifth = 0] = listens
    expect(fifth - fourth).toBeGreaterThan(1_900)
    expect(states(host, 's')).toEqual(['connecting', 'ready'])
    expect(textOf(await host.call('s__hello', {}, { caller: 'cli' }))).toBe('hello')
  })
})

describe('a session that its server lost', () => {
  it('is reopened, and the affected call is made once', async () => {
    const server = await eraHttp('2025-11-25')
    let good = 1
    server.intercept = (message, response, request) => {
      const reply = (result: object): boolean => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `session-${good}` })
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
        return true
      }
      if (message.method === 'initialize') {
        const serverInfo = { name: 'forgets', version: '1' }
        return reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
      }
      const given = request.headers['mcp-session-id']
      if (given === undefined || given === `session-${good}`) return false
      response.writeHead(404).end()
      return true
    }
    const host = await started({ servers: { s: { url: server.url } }, rules })
    good = 2
    expect(textOf(await host.call('s__hello', {}, { caller: 'chat' }))).toBe('hello')
    expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(2)
    expect(server.methods.filter((method) => method === 'tools/call')).toHaveLength(2)
    expect(stateOf(host)).toBe('ready')
  })
})

describe('a program', () => {
  it('may write any amount of text that is no message', async () => {
    const host = await started({ servers: { s: child('noisy-call').config }, rules })
    expect(textOf(await host.call('s__hello', {}, { caller: 'cli' }))).toBe('hello')
    const warnings = host.events.filter((event) => event.type === 'warning')
    expect(warnings.length).toBeGreaterThan(0)
    expect(warnings.length).toBeLessThanOrEqual(20)
    expect(stateOf(host)).toBe('ready')
  })

  it('that never responds gets a cancellation', async () => {
    const { config, messages } = child('never-answers', { callTimeoutMs: 400 })
    const host = await started({ servers: { s: config }, rules })
    const call = await host.call('s__hello', {}, { caller: 'chat' })
    expect(call.error).toMatchObject({ code: expect.stringMatching(/TIMEOUT|OUTCOME_UNKNOWN/) })
    expect(textOf(call)).toContain('unknown whether it had its effect')
    await until(() => messages().includes('notifications/cancelled'), 'the notice')
    expect(stateOf(host)).toBe('ready')
  })

  it('that reports progress gets more time, and can still be cancelled', async () => {
    const { config, ran } = session()
    const host = await started({ servers: { s: { ...config, callTimeoutMs: 1_000 } }, rules })
    const stop = new AbortController()
    const calling = host.call('s__slow', {}, { caller: 'chat', signal: stop.signal })
    const progress = (): number => host.events.filter((event) => event.type === 'progress').length
    await until(() => progress() >= 30, 'progress beyond the time that silence has')
    stop.abort()
    await calling
    await until(() => ran().some(([what]) => what === 'slow cancelled'), 'the cancellation')
    expect(ran().map(([what]) => what)).toEqual(['slow', 'slow cancelled'])
  })

  it.for([
    ['endless-line', { error: { message: expect.stringContaining('more than 16777216 bytes') } }],
    ['stderr-flood', { error: null, result: { content: [{ type: 'text', text: 'hello' }] } }],
  ] as const)(
    'that floods its host uses little memory: %s',
    { timeout: 90_000 },
    async ([mode, expected]) => {
      const run = promisify(execFile)(process.execPath, [at('flood-host.ts'), mode, eraServer], {
        timeout: 80_000,
      })
      const found = JSON.parse((await run).stdout)
      expect(found).toMatchObject(expected)
      expect(found.maxRssMb).toBeLessThan(300)
      expect(found.characters).toBe(mode === 'stderr-flood' ? 262_144 : 0)
      expect(found.events).toBeLessThan(200)
    },
  )
})

describe('a clock change', () => {
  it.for([
    ['ten hours forward', 10],
    ['ten hours back', -10],
  ] as const)('%s during a call affects neither its outcome nor its duration', async ([, hours]) => {
    const server = await eraHttp('2025-11-25')
    const host = await started({ servers: { s: { url: server.url, callTimeoutMs: 20_000 } }, rules })
    let answer: (() => void) | undefined
    server.intercept = ({ id, method }, response) => {
      if (method !== 'tools/call') return false
      answer = () => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const result = { content: [{ type: 'text', text: 'done' }] }
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      }
      return true
    }
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const calling = host.call('s__hello', {}, { caller: 'chat' })
    await until(() => answer !== undefined, 'the call is under way')
    vi.setSystemTime(Date.now() + hours * 3_600_000)
    answer?.()
    expect(textOf(await calling)).toBe('done')
    const [row] = host.activity({ kind: 'call' })
    expect(row).toMatchObject({ outcome: 'ok' })
    expect(row?.durationMs).toBeGreaterThan(0)
    expect(row?.durationMs).toBeLessThan(3_600_000)
    expect(host.verifyActivity()).toMatchObject({ sound: true })
    expect(states(host, 's')).not.toContain('failed')
  })
})

describe('a host that connects, loses and connects again', () => {
  const cycles = process.env['JACKFIELD_LONG'] === '1' ? 100 : 6

  it('leaks nothing of earlier connections', { timeout: 600_000 }, async () => {
    const log = join(folder(), 'messages.log')
    const args = ['--expose-gc', at('cycle-host.ts'), String(cycles), eraServer, log]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const { settled }: { settled: number[] } = JSON.parse(stdout)
    expect(settled).toHaveLength(cycles)
    expect(Math.max(...settled)).toBeLessThan(300)
    expect((settled.at(-1) ?? 0) - (settled[Math.floor(cycles / 3)] ?? 0)).toBeLessThan(40)
  })
})

describe('output of a program outside the protocol', () => {
  it('is forwarded up to a limit, and the rest is counted', () => {
    let now = 0
    const shown: string[] = []
    const messages: string[] = []
    const quiet = new StderrFilter(
      (text) => shown.push(text),
      (message) => messages.push(message),
      { maxChars: 10, windowMs: 1_000 },
      () => now,
    )
    quiet.push('12345')
    quiet.push('6789012')
    quiet.push('more')
    expect(shown.join('')).toBe('1234567890')
    expect(messages).toEqual([expect.stringContaining('more to stderr than is shown')])
    now = 1_000
    quiet.push('again')
    expect(shown.at(-1)).toBe('again')
    expect(messages.at(-1)).toBe('6 characters that it wrote to stderr were not shown')
    quiet.push('x'.repeat(100))
    quiet.end()
    expect(messages.at(-1)).toBe('95 characters that it wrote to stderr were not shown')
  })
})
