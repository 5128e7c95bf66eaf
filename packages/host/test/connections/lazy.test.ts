import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { IdleTimer, Traffic } from '../../src/servers/connections/liveness.ts'
import type { ServerConfig } from '../../src/types/index.ts'
import { eraHttp } from '../fixtures/era-http.ts'
import { folder, hostOf, started, states, textOf, until } from '../fixtures/hosts.ts'

const program = programFile(new URL('../fixtures/era-server.ts', import.meta.url))
const rules = [{ id: 'all', verdict: 'allow' as const }]

function lazy(more: Partial<ServerConfig> = {}): { config: ServerConfig; pids: () => Set<string> } {
  const log = join(folder(), 'messages.log')
  const pids = (): Set<string> => {
    try {
      return new Set(
        readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' ')[0] ?? ''),
      )
    } catch {
      return new Set()
    }
  }
  const config = {
    command: process.execPath,
    args: [program],
    env: { MODE: '2025-11-25', LOG: log },
    lazy: true,
    ...more,
  }
  return { config, pids }
}

describe('a lazy server', () => {
  it('keeps its lists up to date although they cannot be stored', async () => {
    const at = folder()
    const store = join(at, 'store.db')
    const env = { DEFINITIONS: join(at, 'definitions.json'), LOG: join(at, 'log') }
    const define = (...names: string[]): void => {
      const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }))
      writeFileSync(env.DEFINITIONS, JSON.stringify({ tools }))
    }
    define('reload')
    const args = [programFile(new URL('../fixtures/definition-server.ts', import.meta.url))]
    const servers = { s: { command: process.execPath, args, env, lazy: true } }
    const host = await started({ servers, rules, store, unpinned: ['s'] })
    const other = new DatabaseSync(store)
    onTestFinished(() => other.close())
    other.exec(
      "CREATE TRIGGER full BEFORE INSERT ON manifests BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    )
    const tools = (): string[] => host.tools().map(({ tool }) => tool.name)
    for (const added of ['one', 'two']) {
      define('reload', added)
      await host.call('s__reload', {}, { caller: 'cli' })
      await until(() => tools().includes(added), added)
    }
    expect(host.events).toContainEqual({
      type: 'warning',
      server: 's',
      message: 'Its lists could not be stored: disk is full',
    })
    other.exec('DROP TRIGGER full')
    define('reload', 'three')
    await host.call('s__reload', {}, { caller: 'cli' })
    await until(() => tools().includes('three'), 'three')
    await host.close()
    const next = await started({
      servers: { s: { command: process.execPath, args, env, lazy: true } },
      store,
    })
    expect(next.connections.get('s')?.state).toBe('asleep')
    expect(next.tools().map(({ tool }) => tool.name)).toEqual(['reload', 'three'])
  })

  it('is started once for its lists, and then only for a call', async () => {
    const store = join(folder(), 'store.db')
    const { config, pids } = lazy()
    const first = await started({ servers: { s: config }, store })
    expect(first.connections.get('s')).toMatchObject({ state: 'ready' })
    await first.close()
    expect(pids().size).toBe(1)

    const host = await started({ servers: { s: config }, store, rules })
    expect(host.connections.get('s')).toMatchObject({ state: 'asleep', listedMs: expect.any(Number) })
    expect(host.tools().map(({ name }) => name)).toEqual(['s__hello'])
    expect(host.toolSearch.search('greet').matches).toHaveLength(1)
    expect(pids().size).toBe(1)

    const calling = host.call('s__hello', {}, { caller: 'chat' })
    await until(() => states(host, 's').includes('connecting'), 'starting')
    expect(host.connections.get('s')).toMatchObject({ state: 'connecting' })
    expect(host.tools()).toHaveLength(1)
    expect(textOf(await calling)).toBe('hello')
    expect(states(host, 's')).toEqual(['asleep', 'connecting', 'ready'])
    expect(pids().size).toBe(2)
  })

  it('is stopped when idle, and starts again for the next call', async () => {
    const { config, pids } = lazy({ sleepAfterMs: 150 })
    const host = await started({ servers: { s: config }, rules })
    await host.call('s__hello', {}, { caller: 'cli' })
    await until(() => host.connections.get('s')?.state === 'asleep', 'asleep')
    expect(host.tools()).toHaveLength(1)
    expect(textOf(await host.call('s__hello', {}, { caller: 'cli' }))).toBe('hello')
    expect(pids().size).toBe(2)
  })

  it('keeps running for the conversation that used it', async () => {
    const host = await started({ servers: { s: lazy({ sleepAfterMs: 100 }).config }, rules })
    await host.call('s__hello', {}, { caller: 'chat', conversation: 'one' })
    // A second one without a conversation sleeps meanwhile, which shows that the time is up.
    const other = await started({ servers: { s: lazy({ sleepAfterMs: 300 }).config }, rules })
    await until(() => other.connections.get('s')?.state === 'asleep', 'the other one asleep')
    expect(host.connections.get('s')).toMatchObject({ state: 'ready' })
    host.endConversation('one')
    await until(() => host.connections.get('s')?.state === 'asleep', 'asleep')
  })

  it('never uses lists that it showed to another principal', async () => {
    const store = join(folder(), 'store.db')
    const server = await eraHttp('2025-11-25')
    const as = (token: string): ServerConfig => ({
      url: server.url,
      lazy: true,
      headers: { authorization: `Bearer ${token}` },
    })
    await (await started({ servers: { s: as('first') }, store })).close()
    const same = await started({ servers: { s: as('first') }, store })
    expect(same.connections.get('s')).toMatchObject({ state: 'asleep' })
    await same.close()
    const other = await started({ servers: { s: as('second') }, store })
    expect(other.connections.get('s')).toMatchObject({ state: 'ready' })
  })

  it('that fails to start reports it, and the call is not made', async () => {
    const store = join(folder(), 'store.db')
    const server = await eraHttp('2025-11-25')
    const servers = { s: { url: server.url, lazy: true } }
    await (await started({ servers, store })).close()
    const host = hostOf({ servers, store, rules, connectTimeoutMs: 6_000 })
    await host.start()
    server.intercept = (_message, response) => {
      response.writeHead(503).end('closed for the night')
      return true
    }
    const call = await host.call('s__hello', {}, { caller: 'cli' })
    expect(call.result.isError).toBe(true)
    expect(textOf(call)).toContain('was not called')
    expect(host.connections.get('s')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('503'),
    })
  })
})

describe('whether a lazy server is idle', () => {
  it('depends on its use, on open requests and on conversations', () => {
    let now = 0
    const traffic = new Traffic(() => now)
    const sleep = new IdleTimer(1_000, () => now)
    expect(sleep.dueMs(traffic)).toBe(1_000)
    now = 900
    sleep.use('one')
    expect(sleep.dueMs(traffic)).toBe(3_600_000)
    sleep.endConversation('one')
    expect(sleep.dueMs(traffic)).toBe(1_000)
    now = 1_000
    traffic.record('sent', { jsonrpc: '2.0', id: 1, method: 'tools/call' })
    now = 50_000
    expect(sleep.dueMs(traffic)).toBeGreaterThan(0)
    traffic.record('received', { jsonrpc: '2.0', id: 1, result: {} })
    expect(sleep.dueMs(traffic)).toBe(1_000)
    now = 51_000
    expect(sleep.dueMs(traffic)).toBe(0)
    sleep.use('silent')
    now += 3_600_000
    expect(sleep.dueMs(traffic)).toBe(0)
  })

  it('does not depend on a subscription, nor on cancelled requests', () => {
    const traffic = new Traffic(() => 0)
    traffic.record('sent', { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' })
    expect(traffic.isBusy).toBe(false)
    traffic.record('sent', { jsonrpc: '2.0', id: 'a', method: 'tools/call' })
    traffic.record('received', { jsonrpc: '2.0', id: 'a', method: 'sampling/createMessage' })
    traffic.record('sent', { jsonrpc: '2.0', id: 'a', result: {} })
    expect(traffic.isBusy).toBe(true)
    traffic.record('sent', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } })
    expect(traffic.isBusy).toBe(false)
  })
})
