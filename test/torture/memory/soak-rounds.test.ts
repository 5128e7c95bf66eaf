import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from '../limits/child.ts'

campaign(
  {
    id: 'rounds-given-up',
    chapter: 'Memory',
    claim: 'What a server stores for an input request is removed when it expires, also without a response',
    trial: 'call that asks back, with 109 kB remembered for a client that never comes again',
    trials: { test: 160, change: 400, long: 10_000 },
  },
  async (campaignRun) => {
    const warm = campaignRun.trials / 4
    const plan = {
      way: 'given up',
      requests: campaignRun.trials - warm,
      warm,
      samples: 10,
      leak: 0,
      compiles: campaignRun.long,
    }
    const found = await measuredBy(
      '../memory/programs/rounds.ts',
      plan,
      campaignRun.long ? 1_000_000 : 110_000,
    )
    campaignRun.measured('slope of the heap', Math.round(figure(found, 'heap')), 'bytes/call')
    expect(figure(found, 'heapUpper')).toBeLessThan(campaignRun.long ? 1000 : 10_000)
    expect(figure(found, 'externalUpper')).toBeLessThan(campaignRun.long ? 1000 : 10_000)
    expect(figure(found, 'handles')).toBe(0)
  },
)
