import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { session } from '../../../packages/sdk/test/serve/http-support.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { as } from '../sessions/attacks.ts'
import { words } from '../sessions/callers.ts'
import { service } from './nodes.ts'

const watchdogMs = 30_000
const revision = '2025-11-25'

describe.skipIf(!isThere)(`sessions on three nodes over Redis${left}`, () => {
  campaign(
    {
      id: 'resuming-on-redis',
      chapter: 'Sessions and streams',
      claim:
        'An interrupted stream is resumed on any process, with every event once, and not for another principal',
      trial: 'stream that breaks off and is resumed on every node',
      trials: { change: 12, long: 2000 },
    },
    async ({ seed, trials }) => {
      const random = new Random(seed)
      const { nodes } = await service(['k'.repeat(32)])
      for (const node of nodes) await node.order({ open: true })
      for (let trial = 0; trial < trials; trial++) {
        const where = `trial ${trial}`
        const home = random.pick(nodes)
        const mine = await session(home, revision, as('alice'))
        const params = { name: 'slow', _meta: { progressToken: 'p' } }
        const call = await mine.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
        await until(() => call.messages().length >= 1, watchdogMs)
        const [progress] = call.messages()
        expect(progress, where).toMatchObject({ method: 'notifications/progress' })
        const last = call.events.find(({ data }) => data !== '')?.id
        call.drop()

        const headers = { 'mcp-session-id': mine.id, 'mcp-protocol-version': revision, ...as('alice') }
        for (const node of nodes) {
          const stolen = { ...headers, ...as('mallory'), 'last-event-id': last }
          const refused = await node.send({ method: 'GET', headers: stolen })
          expect(refused.status, where).toBe(404)
          expect(await refused.text(), where).not.toContain(words['alice'])
        }
        for (const node of nodes.toSorted(() => random.between(0, 1) - 0.5)) {
          const resumed = await node.send({ method: 'GET', headers: { ...headers, 'last-event-id': last } })
          await until(() => resumed.over(), watchdogMs)
          const rest = resumed.messages()
          expect(rest, where).toHaveLength(1)
          expect(rest[0], where).toMatchObject({ id: 7, result: { content: [{ text: words['alice'] }] } })
        }
        expect((await mine.end()).status, where).toBe(204)
      }
    },
  )
})
