import { describe, expect, it, onTestFinished } from 'vitest'
import { transports } from './everywhere.ts'

describe.each(transports)('over $name', ({ revisions, open }) => {
  it.each(revisions)('a client and a server connect at %s', async (revision) => {
    const served = await open('matrix')
    onTestFinished(() => served.close())
    const client = await served.connect({ revisions: [revision] })
    onTestFinished(() => client.close())
    expect(client.server.revision).toBe(revision)
    await client.ping()
  })
})
