import { afterEach, describe, it } from 'vitest'
import { transports } from '../transports/everywhere.ts'
import { features } from './features.ts'

const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each(transports)('over $name', (transport) => {
  describe.each(transport.revisions)('at %s', (version) => {
    it.each(features)('$title', async ({ run }) => {
      const served = await transport.open('matrix')
      open.push(() => served.close())
      await run({
        version,
        transport: transport.name,
        async open(options = {}) {
          const client = await served.connect({ ...options, revisions: [version] })
          open.push(() => client.close())
          return client
        },
      })
    })
  })
})
