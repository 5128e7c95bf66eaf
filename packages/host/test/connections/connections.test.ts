import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Breaker, backoff } from '../../src/servers/connections/backoff.ts'
import {
  everything,
  filesystem,
  folder,
  hostOf,
  returned,
  rough,
  session,
  started,
  states,
  textOf,
  until,
  type Watched,
} from '../fixtures/hosts.ts'
import { statelessServer } from '../fixtures/stateless-server.ts'

const allow = [{ id: 'all', verdict: 'allow' }] as const

const pidOf = async (host: Watched): Promise<number> =>
  Number(returned(await host.call('s__pid', {}, { caller: 'cli' })))
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
async function stateless() {
  const server = await statelessServer()
  onTestFinished(() => server.stop().catch(() => {}))
  return server
}

describe('connecting', () => {
  it('starts servers of all kinds concurrently, with a state for each', async () => {
    const modern = await stateless()
    const { config } = session()
    const host = hostOf({
      connectTimeoutMs: 6_000,
      servers: {
        everything,
        files: filesystem(folder()),
        own: config,
        modern: { url: modern.url },
        missing: { command: 'no-such-program-anywhere' },
        exits: rough('exit'),
        silent: rough('silent'),
        refused: { url: 'http://127.0.0.1:9/mcp' },
        off: { command: 'no-such-program-either', disabled: true },
      },
    })
    const since = performance.now()
    await host.start()
    expect(performance.now() - since).toBeLessThan(30_000)

    const state = (name: string) => host.connections.get(name)
    expect(state('everything')).toMatchObject({ state: 'ready', era: 'session' })
    expect(state('files')).toMatchObject({ state: 'ready', era: 'session' })
    expect(state('own')).toMatchObject({ state: 'ready', era: 'session', revision: '2025-11-25' })
    expect(state('modern')).toMatchObject({ state: 'ready', era: 'stateless', revision: '2026-07-28' })
    expect(state('missing')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('no such program'),
    })
    expect(state('exits')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('no licence found'),
    })
    expect(state('silent')).toMatchObject({ state: 'failed' })
    expect(state('refused')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('127.0.0.1:9'),
    })
    expect(state('off')).toMatchObject({ state: 'disabled' })

    const readyBefore = host.events.findIndex(
      (event) => event.type === 'connection' && event.server === 'silent' && event.state.state === 'failed',
    )
    for (const name of ['everything', 'files', 'own', 'modern']) {
      const ready = host.events.findIndex(
        (event) => event.type === 'connection' && event.server === name && event.state.state === 'ready',
      )
      expect(ready).toBeGreaterThan(-1)
      expect(ready).toBeLessThan(readyBefore)
    }

    const names = host.tools().map((tool) => tool.name)
    expect(names).toEqual(
      expect.arrayContaining(['everything__echo', 'files__read_text_file', 'own__echo', 'modern__echo']),
    )
    expect(new Set(names).size).toBe(names.length)
    expect(host.prompts().map((prompt) => prompt.name)).toContain('own__greet')
    expect(host.resources()).toContainEqual(
      expect.objectContaining({ server: 'own', resource: expect.objectContaining({ uri: 'note://one' }) }),
    )
    expect(host.templates().map(({ server }) => server)).toContain('own')
    expect(host.instructions()).toContainEqual({ server: 'own', text: 'Use echo to test.' })
  })

  it('starts nothing before it is requested, and nothing that is disabled', async () => {
    const { config } = session()
    const host = hostOf({ servers: { s: { ...config, disabled: true } } })
    expect(host.connections.get('s')).toMatchObject({ state: 'disabled' })
    await host.start()
    expect(host.tools()).toEqual([])
    expect(host.activity()).toEqual([])
  })

  it('stops every process it started, even one that is still connecting', async () => {
    const { config } = session()
    const host = hostOf({ servers: { s: config, silent: rough('silent') }, rules: [...allow] })
    const starting = host.start()
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    const pid = await pidOf(host)
    await host.close()
    await starting
    expect(alive(pid)).toBe(false)
    expect(host.connections.get('s')).toMatchObject({ state: 'failed', reason: 'the host was closed' })
    expect(host.tools()).toEqual([])
    await expect(host.call('s__pid', {}, { caller: 'cli' })).rejects.toThrow('closed')
  })
})

describe('a lost server', () => {
  it('is restarted after kill -9, keeping its tools meanwhile', async () => {
    const { config } = session()
    const host = await started({ servers: { s: config }, rules: [...allow] })
    const before = await pidOf(host)
    const tools = host.tools()
    process.kill(before, 'SIGKILL')
    await until(() => host.connections.get('s')?.state === 'reconnecting', 'reconnecting')
    expect(host.connections.get('s')).toMatchObject({
      attempt: 1,
      reason: expect.stringContaining('SIGKILL'),
    })
    expect(host.tools()).toEqual(tools)
    // A call made now waits for the server instead of failing.
    const after = await pidOf(host)
    expect(after).not.toBe(before)
    expect(host.connections.get('s')?.state).toBe('ready')
    expect(states(host, 's')).toEqual(['connecting', 'ready', 'reconnecting', 'ready'])
  })

  it('leaves a running call with unknown outcome, never repeated', async () => {
    const { config, ran } = session()
    const host = await started({ servers: { s: config }, rules: [...allow] })
    const call = await host.call('s__crash', {}, { caller: 'chat' })
    expect(call.result.isError).toBe(true)
    expect(textOf(call)).toMatch(/unknown whether it had its effect.*Find out before calling it again/)
    expect(host.activity({ kind: 'call' })).toMatchObject([{ outcome: 'unknown' }])
    await until(() => host.connections.get('s')?.state === 'ready', 'ready again')
    expect(ran()).toEqual([['crash', null]])
  })

  it('fails permanently after too many failures within a minute', { timeout: 40_000 }, async () => {
    const host = await started({ servers: { s: rough('short-lived') } })
    await until(() => host.connections.get('s')?.state === 'failed', 'failed', 30_000)
    expect(host.connections.get('s')).toMatchObject({
      reason: expect.stringMatching(/too often within a minute.*code 1/),
    })
    const attempts = states(host, 's').filter((state) => state === 'reconnecting').length
    expect(attempts).toBeLessThanOrEqual(4)
    expect(host.tools()).toEqual([])
  })

  it('over HTTP is noticed by the next call and reconnected when it responds again', async () => {
    const server = await stateless()
    const host = await started({ servers: { s: { url: server.url } }, rules: [...allow] })
    await server.stop()
    const lost = await host.call('s__echo', { text: 'x' }, { caller: 'cli' })
    expect(lost.result.isError).toBe(true)
    await until(() => host.connections.get('s')?.state === 'reconnecting', 'reconnecting')
    await server.again()
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    expect(returned(await host.call('s__echo', { text: 'y' }, { caller: 'cli' }))).toEqual({ text: 'y' })
  })
})

describe('reconnecting', () => {
  it('replaces an open connection, keeping the tools meanwhile', async () => {
    const host = await started({ servers: { s: session().config }, rules: [...allow] })
    const before = await pidOf(host)
    const again = host.reconnect('s')
    expect(host.tools().length).toBeGreaterThan(0)
    await again
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    expect(await pidOf(host)).not.toBe(before)
    await until(() => !alive(before), 'the end of the first process')
    expect(states(host, 's')).toEqual(['connecting', 'ready', 'reconnecting', 'ready'])
  })

  it('does not wait for the next attempt, and revives a failed server', async () => {
    const server = await stateless()
    await server.stop()
    const host = await started({ servers: { m: { url: server.url } }, rules: [...allow] })
    expect(host.connections.get('m')).toMatchObject({ state: 'failed', error: { code: 'CONNECT_FAILED' } })
    await server.again()
    await host.reconnect('m')
    expect(host.connections.get('m')).toMatchObject({ state: 'ready' })

    const longest = vi.spyOn(Math, 'random').mockReturnValue(1)
    onTestFinished(() => longest.mockRestore())
    await server.stop()
    await host.call('m__echo', { text: 'x' }, { caller: 'cli' })
    const attempt = (): number => {
      const state = host.connections.get('m')
      return state?.state === 'reconnecting' ? state.attempt : 0
    }
    await until(() => attempt() >= 4, 'a pause of 3.2 s')
    await server.again()
    const since = performance.now()
    await host.reconnect('m')
    expect(host.connections.get('m')).toMatchObject({ state: 'ready' })
    expect(performance.now() - since).toBeLessThan(3_000)
  })

  it('is rejected for an unknown or disabled server', async () => {
    const host = hostOf({ servers: { off: { command: 'x', disabled: true } } })
    await expect(host.reconnect('off')).rejects.toThrow('off is disabled')
    await expect(host.reconnect('nope')).rejects.toThrow('no server named "nope"')
  })
})

describe('connection options', () => {
  it('restrict revisions and lists, and report every message', async () => {
    const messages: [string, string, string][] = []
    const host = await started({
      servers: { s: session().config },
      rules: [...allow],
      connect: {
        revisions: ['2025-06-18'],
        lists: ['prompts'],
        follow: false,
        onMessage: (server, direction, message) => {
          if ('method' in message) messages.push([server, direction, message.method])
        },
      },
    })
    expect(host.connections.get('s')).toMatchObject({ state: 'ready', revision: '2025-06-18' })
    expect(host.prompts()).toHaveLength(1)
    expect([host.tools(), host.resources()]).toEqual([[], []])
    const asked = messages.filter(([, direction]) => direction === 'sent').map(([, , method]) => method)
    expect(asked).toContain('prompts/list')
    expect(asked).not.toContain('tools/list')
    expect(asked).not.toContain('server/discover')
    expect(messages.every(([server]) => server === 's')).toBe(true)
  })

  it('report a failure with its code', async () => {
    const host = await started({
      servers: { s: session().config },
      connect: { revisions: ['2026-07-28'] },
    })
    expect(host.connections.get('s')).toMatchObject({ state: 'failed', error: { code: 'VERSION_MISMATCH' } })
  })
})

describe('watching', () => {
  it('reports changed lists until it is closed, and leaves a row', async () => {
    const host = await started({ servers: { s: session().config }, rules: [...allow] })
    const changes: unknown[] = []
    const watch = await host.watch('s', [], (change) => changes.push(change))
    await host.call('s__grow', {}, { caller: 'cli' })
    await until(() => changes.length > 0, 'a change')
    expect(changes[0]).toEqual({ type: 'tools' })
    await watch.close()
    await until(() => host.activity({ kind: 'change' })[0]?.outcome === 'ended', 'the row')
  })
})

describe('lists', () => {
  it('follow a growing session server', async () => {
    const { config } = session()
    const host = await started({ servers: { s: config }, rules: [...allow] })
    expect(host.tools().map((tool) => tool.name)).not.toContain('s__grown')
    await host.call('s__grow', {}, { caller: 'cli' })
    await until(() => host.trust.server('s').items.some(({ name }) => name === 'grown'), 'grown')
    host.trust.accept('s')
    expect(host.tools().map((tool) => tool.name)).toContain('s__grown')
    expect(host.events.some((event) => event.type === 'catalog')).toBe(true)
  })

  it('follow a growing stateless server', async () => {
    const server = await stateless()
    const host = await started({ servers: { s: { url: server.url } } })
    await until(() => server.methods.includes('subscriptions/listen'), 'listening')
    server.grow()
    await until(() => host.trust.server('s').items.some(({ name }) => name === 'grown'), 'grown')
    host.trust.accept('s')
    expect(host.tools().map((tool) => tool.name)).toContain('s__grown')
  })

  it('that cannot be fetched make a server degraded, until they can be', async () => {
    const host = await started({ servers: { s: rough('list-fails-at-first') } })
    expect(host.connections.get('s')).toMatchObject({
      state: 'degraded',
      reason: 'could not list tools: the database is locked (error -32603)',
      error: { code: -32603, message: 'the database is locked' },
    })
    expect(host.tools()).toEqual([])
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    expect(host.tools().map((tool) => tool.name)).toEqual(['s__twice', 's__once'])
  })

  it('that never arrive make a server degraded in time', async () => {
    const host = hostOf({ servers: { s: rough('lists-nothing') }, connectTimeoutMs: 3_000 })
    const since = performance.now()
    await host.start()
    expect(performance.now() - since).toBeLessThan(12_000)
    expect(host.connections.get('s')).toMatchObject({
      state: 'degraded',
      reason: 'could not list tools: No response to tools/list within 3 s',
    })
  })

  it('stay unchanged when refreshing them fails', async () => {
    const host = await started({ servers: { s: rough('list-fails-later') }, rules: [...allow] })
    await host.call('s__once', {}, { caller: 'cli' })
    await until(() => host.connections.get('s')?.state === 'degraded', 'degraded')
    expect(host.tools()).toHaveLength(2)
    await until(() => host.connections.get('s')?.state === 'ready', 'ready')
    expect(host.tools()).toHaveLength(2)
  })

  it('with duplicate names offer neither, with a warning', async () => {
    const host = await started({ servers: { s: rough('twice') } })
    expect(host.tools().map((tool) => tool.name)).toEqual(['s__once'])
    expect(host.events).toContainEqual(
      expect.objectContaining({ type: 'warning', server: 's', message: expect.stringContaining('twice') }),
    )
  })
})

it('with deceptive names are sanitized for terminals', async () => {
  const host = await started({ servers: { s: rough('hostile') }, rules: [...allow] })
  expect(host.tools().map(({ tool }) => tool.name)).toEqual(['twice', 'once'])
  host.trust.accept('s')
  const evil = host.tools().find(({ tool }) => tool.name.startsWith('evil'))
  expect(evil?.name).toMatch(/^s_[a-z2-7]{16}_evil_[a-zA-Z0-9_-]+$/)
  await host.call(evil?.name ?? '', {}, { caller: 'cli' })
  expect(host.activity({ kind: 'call' })).toMatchObject([
    { summary: 'evil⟦U+001B⟧[31m ⟦U+202E⟧gnp of s', outcome: 'ok' },
  ])
})

describe('pauses between attempts', () => {
  it('grow from 200 ms to 30 s, with random length up to the limit', () => {
    expect(backoff(1, () => 0)).toBe(200)
    expect(backoff(1, () => 1)).toBe(400)
    expect(backoff(4, () => 1)).toBe(3_200)
    expect(backoff(4, () => 0.5)).toBe(1_700)
    expect(backoff(40, () => 1)).toBe(30_000)
  })

  it('end with the fifth failure within a minute', () => {
    const breaker = new Breaker()
    expect([0, 1, 2, 3].map((at) => breaker.recordFailure(at))).toEqual([false, false, false, false])
    expect(breaker.recordFailure(59_000)).toBe(true)
    const slow = new Breaker()
    expect([0, 20_000, 40_000, 60_001, 80_000, 100_000].map((at) => slow.recordFailure(at))).not.toContain(
      true,
    )
  })
})
