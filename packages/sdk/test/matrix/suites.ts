import { afterAll, afterEach, describe, it } from 'vitest'
import type { Transport } from '../transports/everywhere.ts'
import { features } from './features.ts'
import { SharedGround } from './grounds.ts'
import { stands } from './rule.ts'
import { rules } from './rules.ts'

/** Tries every feature over a transport, at every revision that can be agreed on over it. */
export function tryFeatures(transport: Transport): void {
  const open: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
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
}

/** Tries every rule over a transport, at every revision that can be agreed on over it. */
export function tryRules(transport: Transport): void {
  describe.each(transport.revisions)('at %s', (version) => {
    const ground = new SharedGround(transport, version)
    afterAll(() => ground.close())
    it.each(rules.filter((rule) => stands(rule, version)))('$title', ({ holds }) => holds(ground))
  })
}
