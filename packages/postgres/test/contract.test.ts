import { type PostgresOptions, postgresBackplane, postgresTaskStore } from '@jackfield/postgres'
import type { Backplane } from '@jackfield/sdk'
import type { TaskStore } from '@jackfield/sdk/extensions/tasks'
import { backplaneContract, memoryBackplane, taskStoreContract } from '@jackfield/sdk/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { requireSame } from '../../redis/test/support/same-answers.ts'
import { isInstalled, note, PostgresServer } from './support/postgres-server.ts'

let server: PostgresServer
let schemas = 0
beforeAll(async () => {
  if (isInstalled) server = await PostgresServer.start()
})
afterAll(() => server?.stop())

/** Options of one way to reach the database, for a schema of its own. */
type Way = (schema: string) => PostgresOptions

const byUrl: Way = (schema) => ({ url: server.url(), schema, maxConnections: 5 })
const withPool: Way = (schema) => {
  const pool = new pg.Pool({ connectionString: server.url(), max: 5 })
  onTestFinished(() => pool.end())
  return { pool, schema, listenUrl: server.url() }
}
const polling: Way = (schema) => ({ ...byUrl(schema), listenUrl: false })

const ways = [
  { name: 'by URL', way: byUrl },
  { name: 'with a pool', way: withPool },
  { name: 'without a connection that listens', way: polling },
]

describe.skipIf(!isInstalled).each(ways)(`a backplane on PostgreSQL $name${note}`, ({ way }) => {
  const open = async (connections: number): Promise<Backplane[]> => {
    const schema = `backplane_${++schemas}`
    const all = await Promise.all(Array.from({ length: connections }, () => postgresBackplane(way(schema))))
    onTestFinished(async () => {
      await Promise.all(all.map((one) => one.close()))
    })
    return all
  }
  for (const { name, run } of backplaneContract(open)) it(name, run)
})

describe.skipIf(!isInstalled).each(ways)(`a task store on PostgreSQL $name${note}`, ({ way }) => {
  const open = (connections: number): Promise<TaskStore[]> => {
    const schema = `tasks_${++schemas}`
    return Promise.all(Array.from({ length: connections }, () => postgresTaskStore(way(schema))))
  }
  for (const { name, run } of taskStoreContract(open)) it(name, run)
})

describe.skipIf(!isInstalled)(`the backplanes in memory and on PostgreSQL${note}`, () => {
  it('return the same results for every sequence of commands', async () => {
    const plane = await postgresBackplane(byUrl('same'))
    onTestFinished(() => plane.close())
    await requireSame(memoryBackplane(), plane, 40)
    expect(await server.run('postgres', 'SELECT count(*) > 0 FROM same.records')).toEqual([[true]])
  })
})
