import { connect, http } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { createDatabaseServer } from '@jackfield/server-database'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eras, errorOf, shop, sqliteFile, structuredOf } from './fixture.ts'

describe.each(eras)('a cursor over HTTP on %s', (era) => {
  test('is valid for the principal that received it, and once', async () => {
    const { server, close } = createDatabaseServer({ databases: { sales: sqliteFile(shop) } })
    const mounted = await serveHttp(server, {
      authenticate: async (request) => ({ principal: request.header('authorization') ?? 'unknown' }),
    }).listen({ port: 0 })
    onTestFinished(async () => {
      await mounted.close()
      await close()
    })
    const clientOf = async (name: string) => {
      const client = await connect(http(mounted.url, { headers: { authorization: name } }), {
        revisions: [era],
      })
      onTestFinished(() => client.close())
      return client
    }
    const [ada, ben] = [await clientOf('Ada'), await clientOf('Ben')]
    const { nextCursor } = structuredOf(await ada.call('query', { sql: 'SELECT id FROM orders', limit: 1 }))
    expect(errorOf(await ben.call('next_page', { cursor: nextCursor }))).toContain('not valid')
    expect(structuredOf(await ada.call('next_page', { cursor: nextCursor }))['rows']).toEqual([[2], [3]])
    expect(errorOf(await ada.call('next_page', { cursor: nextCursor }))).toContain('not valid')
  })
})
