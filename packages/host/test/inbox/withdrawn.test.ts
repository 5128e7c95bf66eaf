import type { Client } from '@jackfield/sdk/client'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import type { HostOptions, InboxItem, ServerConfig } from '../../src/types/index.ts'
import { askingServer, schema } from '../fixtures/asking-server.ts'
import { hostOf, session, started, textOf, until, type Watched } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { ours } from '../gateway/clients.ts'

const rules = [{ id: 'all', verdict: 'allow' as const }]
const cli = { caller: 'cli' } as const
const params = { message: 'Which seat?', requestedSchema: schema }

interface TestServer {
  readonly config: ServerConfig
  /** Stops the server. */
  end(): Promise<void>
}

/** Kills the process of the server by the id that it returns. */
async function kill(host: Watched): Promise<void> {
  process.kill(Number(JSON.parse(textOf(await host.call('s__pid', {}, cli)))), 'SIGKILL')
}

async function overHttp(options: Partial<ServeHttpOptions> = {}): Promise<TestServer> {
  const listener = await serveHttp(askingServer(), { keys: ['k'.repeat(32)], ...options }).listen()
  onTestFinished(() => listener.close())
  const { pathname } = new URL(listener.url)
  const url = listener.url.replace(pathname, options.sse ?? pathname)
  return { config: { url }, end: () => listener.close() }
}

const own: ServerConfig = {
  command: process.execPath,
  args: [programFile(new URL('../fixtures/asking-server.ts', import.meta.url))],
}
const onStdio = (era: 'modern' | 'legacy') => async (): Promise<TestServer> => ({
  config: { ...own, era },
  end: async () => {},
})

/** Every way a host connects to servers, in both eras. The first server never cancels a question itself. */
const ways: Record<string, () => Promise<TestServer>> = {
  'stdio, session, of a server that cancels nothing': async () => ({
    config: session().config,
    end: async () => {},
  }),
  'stdio, session': onStdio('legacy'),
  'stdio, stateless': onStdio('modern'),
  'HTTP, session': async () => {
    const server = await overHttp()
    return { ...server, config: { ...server.config, era: 'legacy' } }
  },
  'HTTP, stateless': async () => {
    const server = await overHttp()
    return { ...server, config: { ...server.config, era: 'modern' } }
  },
  'HTTP+SSE': () => overHttp({ sse: '/sse' }),
}

/** A surface that shows the question until it is withdrawn, and records the reason. */
function patient() {
  const reasons: unknown[] = []
  const surface = person({
    elicitation: (_question, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          reject(signal.reason)
        })
      }),
  })
  return { surface, reasons }
}

async function hostFor(config: ServerConfig, options: Partial<HostOptions> = {}): Promise<Watched> {
  return started({ servers: { s: config }, rules, connect: { idlePingMs: 200 }, ...options })
}

async function oneOpen(host: Watched): Promise<InboxItem> {
  await until(() => host.inbox.list().length === 1, 'an open question')
  const [item] = host.inbox.list()
  if (item === undefined) throw new Error('There is none')
  return item
}

const withdrawn = (host: Watched, id: string): Promise<void> =>
  until(() => host.inbox.get(id)?.state === 'withdrawn', 'the question is withdrawn')

describe.each(Object.entries(ways))('a question over %s', (_way, make) => {
  it('is withdrawn on every surface, with the reason, when its call is cancelled', async () => {
    const [one, other] = [patient(), patient()]
    const { config } = await make()
    const host = await hostFor(config, { surface: one.surface })
    host.attach(other.surface)
    const stop = new AbortController()
    const call = host.call('s__ask', { params }, { ...cli, signal: stop.signal })
    const { id } = await oneOpen(host)
    await until(() => other.surface.asked.length === 1, 'both faces show it')
    stop.abort()
    expect((await call).error?.code).toBe('CANCELLED')
    await withdrawn(host, id)
    expect(host.inbox.get(id)?.reason).toMatch(/no longer wanted: .*cancelled/i)
    expect([one.reasons, other.reasons].map(({ length }) => length)).toEqual([1, 1])
    expect(host.events).toContainEqual({
      type: 'question',
      item: expect.objectContaining({ id, state: 'withdrawn' }),
      rows: expect.any(Array),
    })
    expect(host.activity({ kind: 'elicitation' })).toMatchObject([
      { outcome: 'withdrawn', detail: { reason: expect.stringMatching(/cancelled/i) } },
    ])
  })

  it('is withdrawn with the reason when its server disconnects', async () => {
    const { surface, reasons } = patient()
    const { config, end } = await make()
    const host = await hostFor(config, { surface })
    const call = host.call('s__ask', { params }, cli)
    const { id } = await oneOpen(host)
    await until(() => surface.asked.length === 1, 'the face shows it')
    if ('command' in config) await kill(host)
    else await end()
    await withdrawn(host, id)
    expect(host.inbox.get(id)?.reason).toMatch(/no longer wanted: The (server|request|connection) ./)
    expect(reasons).toHaveLength(1)
    expect((await call).result.isError).toBe(true)
  })

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'is withdrawn when a client of the gateway (%s) that does not support it cancels',
    async (revision) => {
      const { surface, reasons } = patient()
      const { config } = await make()
      const host = await hostFor(config, { surface })
      const gateway = host.gateway.open()
      onTestFinished(() => gateway.close())
      const client = await ours(gateway.server, { revisions: [revision] })
      const stop = new AbortController()
      const call = client.call('s__ask', { params }, { signal: stop.signal })
      call.catch(() => {})
      const { id } = await oneOpen(host)
      stop.abort()
      await expect(call).rejects.toMatchObject({ code: 'CANCELLED' })
      await withdrawn(host, id)
      expect(host.inbox.get(id)?.reason).toMatch(/no longer wanted: ./)
      expect(reasons).toHaveLength(1)
    },
  )

  it('is cancelled at the gateway client when the server disconnects', async () => {
    const { config, end } = await make()
    const host = hostOf({ servers: { s: config }, rules, connect: { idlePingMs: 200 } })
    const gateway = host.gateway.open()
    onTestFinished(() => gateway.close())
    await host.start()
    const shown: AbortSignal[] = []
    const client: Client = await ours(gateway.server, {
      revisions: ['2025-11-25'],
      onElicit: (_params, { signal }) => {
        shown.push(signal)
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      },
    })
    const call = client.call('s__ask', { params })
    call.catch(() => {})
    await until(() => shown.length === 1, 'the client was asked')
    if ('command' in config) await kill(host)
    else await end()
    await until(() => shown[0]?.aborted === true, 'the question was taken back')
    const done = await call.catch((error: unknown) => ({ isError: error instanceof Error }))
    expect(done.isError).toBe(true)
  })
})

describe('two concurrent calls over stdio, with an unknown cause of the question', () => {
  it('keep the question while one of them runs', async () => {
    const { surface } = patient()
    const host = await hostFor(session().config, { surface })
    const [first, second] = [new AbortController(), new AbortController()]
    const other = host.call('s__slow', {}, { ...cli, signal: first.signal })
    const call = host.call('s__ask', { params }, { ...cli, signal: second.signal })
    const { id } = await oneOpen(host)
    first.abort()
    expect((await other).error?.code).toBe('CANCELLED')
    expect((await host.call('s__look', {}, cli)).result.isError ?? false).toBe(false)
    expect(host.inbox.get(id)?.state).toBe('open')
    second.abort()
    expect((await call).error?.code).toBe('CANCELLED')
    await withdrawn(host, id)
  })
})
