import {
  migratePostgres,
  type PostgresBackplane,
  type PostgresOptions,
  type PostgresPool,
  postgresBackplane,
  postgresTaskStore,
} from '@jackfield/postgres'
import { McpError } from '@jackfield/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../test/setup/ports.ts'
import { isInstalled, note, PostgresServer } from './support/postgres-server.ts'

const hour = 3_600_000
const watchdog = { timeout: 30_000, interval: 20 }

let server: PostgresServer
let schemas = 0
beforeAll(async () => {
  if (isInstalled) server = await PostgresServer.start({ isDurable: true })
}, 60_000)
afterAll(() => server?.stop())

async function open(
  options: Partial<PostgresOptions> = {},
): Promise<{ plane: PostgresBackplane; warnings: string[]; schema: string }> {
  const warnings: string[] = []
  const schema = `faults_${++schemas}`
  const plane = await postgresBackplane({
    url: server.url(),
    schema,
    onWarning: (message) => warnings.push(message),
    ...options,
  })
  onTestFinished(() => plane.close())
  return { plane, warnings, schema }
}

async function failure(work: Promise<unknown>): Promise<McpError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof McpError) return error
  throw new Error(`expected an McpError, and got ${error}`)
}

describe.skipIf(!isInstalled)(`a backplane on PostgreSQL${note}`, () => {
  it('that is unreachable is reported without its password', async () => {
    const url = `postgres://ada:open%20sesame@127.0.0.1:${await freePort()}/shop`
    const error = await failure(postgresBackplane({ url, timeoutMs: 200, onWarning: () => {} }))
    expect(error.code).toBe('CONNECT_FAILED')
    expect(error.message).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+\/shop cannot be reached \(.*ECONNREFUSED/)
    expect(error.message).not.toMatch(/sesame/)
  })

  it.each([
    [{ url: 'redis://127.0.0.1' }, /must look like postgres:/],
    [{ url: 'postgres://127.0.0.1/x', schema: 'a"b' }, /schema must be 1 to 40 lower-case letters/],
    [{ url: 'postgres://127.0.0.1/x', timeoutMs: 0 }, /timeoutMs must be more than 0/],
  ])('rejects %j', async (options, message) => {
    const error = await failure(postgresBackplane(options))
    expect(error).toMatchObject({ code: 'INVALID', message: expect.stringMatching(message) })
  })

  it('keeps stored data when PostgreSQL is killed, and reports that messages may be lost', async () => {
    const { plane, warnings } = await open()
    await plane.set('kept', 'value', hour)
    expect(await plane.add('used', 'yes', hour)).toBe(true)
    const received: string[] = []
    await plane.subscribe(
      'topic',
      (message) => received.push(message),
      () => received.push('lost'),
    )
    await server.kill()
    const { code } = await failure(plane.publish('topic', 'never'))
    expect(['CONNECT_FAILED', 'CONNECTION_CLOSED']).toContain(code)
    await server.restart()
    await vi.waitFor(async () => expect(await plane.get('kept')).toBe('value'), watchdog)
    expect(await plane.add('used', 'again', hour)).toBe(false)
    await vi.waitFor(() => expect(received).toEqual(['lost']), watchdog)
    await plane.publish('topic', 'hello')
    await vi.waitFor(() => expect(received).toEqual(['lost', 'hello']), watchdog)
    expect(warnings.join('\n')).toMatch(/was lost for messages.*is back for messages after \d+ ms/s)
  })

  it('waits for a PostgreSQL that is restarting, and rejects at once during a longer outage', async () => {
    const { plane } = await open({ timeoutMs: 400 })
    await plane.set('k', 'v', hour)
    await server.kill()
    await vi.waitFor(
      async () => expect((await failure(plane.get('k'))).code).toBe('CONNECT_FAILED'),
      watchdog,
    )
    await server.restart()
    await vi.waitFor(async () => expect(await plane.get('k')).toBe('v'), watchdog)
    const patient = await open({ timeoutMs: 20_000 })
    await patient.plane.set('k', 'v', hour)
    await server.kill()
    const waiting = patient.plane.get('k')
    await server.restart()
    expect(await waiting).toBe('v')
  })

  it('delivers the messages of a topic that is subscribed to while messages are polled', async () => {
    const pool = new pg.Pool({ connectionString: server.url() })
    onTestFinished(() => pool.end())
    const held = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let holdsNextPoll = false
    const slowPool: PostgresPool = {
      async query(text, values) {
        if (holdsNextPoll && text.includes('channel = ANY')) {
          holdsNextPoll = false
          held.resolve()
          await release.promise
        }
        return pool.query(text, values)
      },
    }
    const schema = `faults_${++schemas}`
    const plane = await postgresBackplane({ pool: slowPool, schema, listenUrl: false })
    onTestFinished(() => plane.close())
    const received: string[] = []
    await plane.subscribe('early', (message) => received.push(message))
    holdsNextPoll = true
    await held.promise
    await plane.subscribe('late', (message) => received.push(message))
    await plane.publish('late', 'first')
    await plane.publish('early', 'second')
    release.resolve()
    await vi.waitFor(() => expect(received).toEqual(['first', 'second']), watchdog)
  })

  it('aborts a statement that waits for a lock, and reports an unknown outcome', async () => {
    const { plane, schema } = await open({ timeoutMs: 300 })
    await plane.set('k', 'v', hour)
    const client = new pg.Client({ connectionString: server.url() })
    await client.connect()
    await client.query(`BEGIN; LOCK TABLE ${schema}.records`)
    const error = await failure(plane.swap('k', 'v', 'w', hour))
    expect(error).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/did not answer swap within 300 ms, so it may or may not have run/),
    })
    await client.end()
    await vi.waitFor(async () => expect(await plane.get('k')).toMatch(/^[vw]$/), watchdog)
  })

  it('finishes running operations when it is closed, and rejects later ones', async () => {
    const { plane } = await open()
    const under = Array.from({ length: 50 }, (_, at) => plane.append('log', `e${at}`, 1000, hour))
    const closing = plane.close()
    expect(new Set(await Promise.all(under)).size).toBe(50)
    await closing
    await plane.close()
    for (const work of [plane.get('k'), plane.publish('t', 'm'), plane.subscribe('t', () => {})]) {
      expect(await failure(work)).toMatchObject({ code: 'CONNECTION_CLOSED' })
    }
    const text = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'jackfield%'"
    await vi.waitFor(async () => expect(await server.run('postgres', text)).toEqual([['0']]), watchdog)
  })

  it('continues after a listener that throws', async () => {
    const { plane, warnings } = await open()
    const received: string[] = []
    await plane.subscribe('topic', () => {
      throw new Error('my fault')
    })
    await plane.subscribe('topic', (message) => received.push(message))
    await plane.publish('topic', 'hello')
    await vi.waitFor(() => expect(received).toEqual(['hello']), watchdog)
    expect(warnings).toEqual([expect.stringContaining('whose listener threw an error: my fault')])
  })

  it('refuses values that it could not return unchanged', async () => {
    const { plane } = await open()
    for (const work of [plane.set('k', '\ud800', hour), plane.get('\udc00'), plane.publish('t', '\ud800')]) {
      expect((await failure(work)).code).toBe('INVALID')
    }
    const error = await failure(plane.set('k', 'x'.repeat(64 * 2 ** 20 + 1), hour))
    expect(error).toMatchObject({ code: 'LIMIT', message: expect.stringMatching(/more than 67108864 bytes/) })
  })

  it('deletes expired values', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { plane, schema } = await open()
    await plane.set('short', 'v', 1)
    await plane.append('log', 'e', 5, 1)
    await plane.set('long', 'v', hour)
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(30_000)
      const text = `SELECT (SELECT count(*) FROM ${schema}.records), (SELECT count(*) FROM ${schema}.log_entries)`
      expect(await server.run('postgres', text)).toEqual([['1', '0']])
    }, watchdog)
  })
})

describe.skipIf(!isInstalled)(`the tables${note}`, () => {
  it('are created once by many nodes that start together, and not again', async () => {
    const options = { url: server.url(), schema: `faults_${++schemas}` }
    const planes = await Promise.all(Array.from({ length: 5 }, () => postgresBackplane(options)))
    await Promise.all(planes.map((plane) => plane.close()))
    await migratePostgres(options)
    const text = `SELECT version FROM ${options.schema}.migrations`
    expect(await server.run('postgres', text)).toEqual([[1]])
  })

  it('may be created in a deployment step, for nodes without the right to do so', async () => {
    const schema = `faults_${++schemas}`
    const name = `node_${schemas}`
    await server.run('postgres', `CREATE ROLE ${name} LOGIN`)
    const options = { url: server.url('postgres', name), schema }
    expect(await failure(postgresBackplane(options))).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/rejected the migration: permission denied/),
    })
    expect(await failure(postgresTaskStore({ ...options, migrate: false }))).toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(
        /version 0 of the tables, and this process needs version 1: call migratePostgres/,
      ),
    })
    await migratePostgres({ url: server.url(), schema })
    await server.run(
      'postgres',
      `GRANT USAGE ON SCHEMA ${schema} TO ${name};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name};
       GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${name}`,
    )
    const plane = await postgresBackplane({ ...options, migrate: false })
    onTestFinished(() => plane.close())
    expect(await plane.add('k', 'v', hour)).toBe(true)
    await plane.append('log', 'e', 5, hour)
    await plane.publish('t', 'x'.repeat(10_000))
    expect(await plane.spend?.('k', 1, { refillMs: 1, capacity: 5 })).toBe(0)
    const store = await postgresTaskStore({ ...options, migrate: false })
    onTestFinished(() => store.close())
    const task = { id: 'x', owner: 'ada', ttlMs: hour, holder: '', holdMs: 0, body: '{}' }
    expect(await store.add(task, { owner: 1, all: 1 })).toBeDefined()
    expect(await store.claim('one', 1000, { limit: 1 })).toHaveLength(1)
    await store.expire()
  })

  it('of a later version are rejected', async () => {
    const { schema } = await open()
    await server.run('postgres', `INSERT INTO ${schema}.migrations VALUES (99)`)
    expect(await failure(postgresBackplane({ url: server.url(), schema }))).toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/migrated by a later version of @jackfield\/postgres/),
    })
  })
})
