import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { loadLayers } from '../../src/config/layers.ts'
import type { HostOptions } from '../../src/types/index.ts'
import { exportOf, folder, session, started } from '../fixtures/hosts.ts'
import { roundsServer, text } from '../inbox/rounds-server.ts'

const cli = { caller: 'cli' } as const

async function called(options: Partial<HostOptions>, times = 1) {
  const host = await started({ servers: { s: session().config }, defaultVerdict: 'allow', ...options })
  for (let n = 0; n < times; n++) await host.call('s__echo', { text: 'a word '.repeat(2_000) }, cli)
  return host
}

describe('the message log', () => {
  it('stores nothing if it is off; activity rows stay', async () => {
    const store = join(folder(), 'activity.db')
    const host = await called({ store, log: { keep: false } })
    expect(await host.trace.list({ filter: 'kind:wire' })).toEqual([])
    expect(await host.trace.list({ filter: 'kind:call' })).toMatchObject([{ tool: 'echo', status: 'ok' }])
    expect(host.activity({ kind: 'call' })).toHaveLength(1)
    expect(host.trace.counters()).toMatchObject({ events: 0, unwritten: 0 })
  })

  it('keeps the configured size, the newest', async () => {
    const host = await called({ log: { megabytes: 0.1 } }, 30)
    const { bytes, dropped } = host.trace.counters()
    expect(bytes).toBeLessThanOrEqual(110_000)
    expect(dropped).toBeGreaterThan(20)
    expect((await host.trace.list({ filter: 'kind:wire', limit: 1_000 })).at(-1)?.method).toBe('tools/call')
  })

  it('keeps nothing older than configured, also after it was turned off', async () => {
    const store = join(folder(), 'activity.db')
    const first = await called({ store })
    expect(first.trace.counters().events).toBeGreaterThan(0)
    await first.close()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 86_400_000 })
    try {
      const recorded = await called({ store, log: { keep: false, days: 3 } })
      expect(recorded.trace.counters().events).toBeGreaterThan(0)
      await recorded.close()
      const gone = await called({ store, log: { keep: false, days: 1 } })
      expect(gone.trace.counters().events).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('masks the named headers, and sends trace context only if enabled', async () => {
    const server = await roundsServer(() => text('x'))
    const servers = { s: { url: server.url, headers: { 'X-Tenant': 'tenant-of-mine' } } }
    const one = { servers, defaultVerdict: 'allow' as const }
    const plain = await started(one)
    await plain.call('s__book', {}, cli)
    expect(await exportOf(plain, 'har')).toContain('tenant-of-mine')
    const masked = await started({ ...one, log: { maskedHeaders: ['x-tenant'], traceparent: true } })
    await masked.call('s__book', {}, cli)
    expect(await exportOf(masked, 'har')).not.toContain('tenant-of-mine')
    const [before, after] = server.calls
    expect(before?._meta).not.toHaveProperty('traceparent')
    expect(after?._meta).toHaveProperty('traceparent')
  })
})

describe('jackfield.log', () => {
  const read = (log: unknown) =>
    parseConfig(JSON.stringify({ mcpServers: {}, jackfield: { log } }), { env: {} })

  it('is parsed with its position', () => {
    const { log, settings, problems } = parseConfig(
      '{\n "mcpServers": {},\n "jackfield": {\n  "log": {\n   "days": 7,\n   "maskedHeaders": ["X-Tenant"]\n } } }',
      { file: '/etc/jackfield.json', env: {} },
    )
    expect(log).toEqual({ days: 7, maskedHeaders: ['X-Tenant'] })
    expect(problems).toEqual([])
    expect(settings).toEqual([
      { field: 'log.days', file: '/etc/jackfield.json', path: 'jackfield.log.days', line: 5 },
      {
        field: 'log.maskedHeaders',
        file: '/etc/jackfield.json',
        path: 'jackfield.log.maskedHeaders',
        line: 6,
      },
    ])
  })

  it.each([
    [{ days: 0 }, 'jackfield.log.days'],
    [{ days: '7' }, 'jackfield.log.days'],
    [{ megabytes: -1 }, 'jackfield.log.megabytes'],
    [{ keep: 'no' }, 'jackfield.log.keep'],
    [{ maskedHeaders: ['X Y'] }, 'jackfield.log.maskedHeaders[0]'],
    [{ retention: 3 }, 'jackfield.log.retention'],
    [7, 'jackfield.log'],
  ])('%j is reported and left out', (log, path) => {
    const config = read(log)
    expect(config.problems).toMatchObject([{ path, severity: 'error' }])
    expect(config.log.days ?? config.log.megabytes ?? config.log.keep).toBeUndefined()
  })

  it('of a working folder masks more and changes nothing else', async () => {
    const home = folder()
    const cwd = folder()
    const own = join(home, 'own.json')
    const write = (file: string, log: object): void =>
      writeFileSync(file, JSON.stringify({ mcpServers: {}, jackfield: { log } }))
    write(join(cwd, '.mcp.json'), {
      keep: false,
      days: 9_999,
      traceparent: true,
      maskedHeaders: ['X-Theirs'],
    })
    const { log, problems, settings } = await loadLayers({ cwd, home, env: {} })
    expect(log).toEqual({ maskedHeaders: ['X-Theirs'] })
    expect(problems).toMatchObject([
      { path: 'jackfield.log', message: expect.stringContaining('keep, days, traceparent') },
    ])
    expect(settings.map(({ field }) => field)).toEqual(['log.maskedHeaders'])
    write(own, { days: 3, maskedHeaders: ['X-Mine'] })
    const named = await loadLayers({ cwd, home, env: {}, files: [own] })
    expect(named.log).toEqual({ days: 3, maskedHeaders: ['X-Mine'] })
  })
})
