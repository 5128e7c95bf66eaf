import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

/** Longer than the 100 ms for which an event loop may be blocked: slow machines must not fail a run. */
const maxMs = 250

campaign(
  {
    id: 'hostile-schemas',
    chapter: 'Bytes and limits',
    claim: 'No schema or pattern of a peer blocks the process',
    trial: 'schema of a peer with a value to check',
    trials: { test: 300, change: 1000, long: 100_000 },
  },
  async (campaignRun) => {
    const found = await measuredBy(
      'schemas-program.ts',
      { pairs: campaignRun.trials, seed: campaignRun.seed },
      campaignRun.long ? 1_100_000 : 100_000,
    )
    campaignRun.setTrials(figure(found, 'right') + figure(found, 'wrong') + figure(found, 'refused'))
    const worst = figure(found, 'worst')
    const worstOfChance = figure(found, 'worst of chance')
    campaignRun.measured('longest check, of the schemas made to last', Math.round(worst), 'ms of CPU')
    campaignRun.measured('longest check, of the schemas of chance', Math.round(worstOfChance), 'ms of CPU')
    for (const [name, spent] of Object.entries(found)) {
      if (name.startsWith('of ')) expect(spent, name).toBeLessThan(maxMs)
    }
    expect(worstOfChance).toBeLessThan(maxMs)
    expect(figure(found, 'right')).toBeGreaterThan(campaignRun.trials / 20)
    expect(figure(found, 'wrong')).toBeGreaterThan(campaignRun.trials / 20)
  },
)
