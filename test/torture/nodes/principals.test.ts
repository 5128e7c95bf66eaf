import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { attackAll, prepare } from '../sessions/attacks.ts'
import { principalOf } from '../sessions/callers.ts'
import { service } from './nodes.ts'

describe.skipIf(!isThere)(`the data of principals on three nodes over Redis${left}`, () => {
  campaign(
    {
      id: 'foreign-principals-on-redis',
      chapter: 'Sessions and streams',
      claim: 'State of one principal does not exist for another, on any of three processes over one Redis',
      trial: 'request of another principal that names it',
      trials: { change: 500, long: 1_000_000 },
      longMinutes: 120,
    },
    async (campaignRun) => {
      const { nodes, ledger } = await service(['k'.repeat(32)])
      const [home] = nodes
      const alice = await prepare(home)
      await attackAll(nodes, alice, new Random(campaignRun.seed), campaignRun.trials)
      expect(ledger()).toEqual([])
      await alice.unharmed(() => home.order({ open: true }))
      expect(ledger()).toEqual(Array.from({ length: 2 }, () => `accepted ${principalOf('alice')}`))
    },
  )
})
