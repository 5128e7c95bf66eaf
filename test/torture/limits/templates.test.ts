import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

campaign(
  {
    id: 'template-matching',
    chapter: 'Bytes and limits',
    claim: 'Matching a URI against a template takes time linear in the length of the URI',
    trial: 'template of several variables and a URI of 8 KB',
    trials: { test: 100, change: 300, long: 30_000 },
  },
  async (campaignRun) => {
    const found = await measuredBy(
      'templates-program.ts',
      { trials: campaignRun.trials, seed: campaignRun.seed },
      campaignRun.long ? 1_100_000 : 100_000,
    )
    const worst = figure(found, 'worst')
    const ratio = figure(found, 'ratio')
    campaignRun.measured('dearest match', Math.round(worst * 10) / 10, 'ms of CPU')
    campaignRun.measured('match on the average', Math.round(figure(found, 'mean') * 100) / 100, 'ms of CPU')
    campaignRun.measured('twice the URI', Math.round(ratio * 100) / 100, 'times the CPU')
    expect(worst).toBeLessThan(20)
    expect(ratio).toBeLessThan(2.5)
    expect(figure(found, 'matched')).toBeGreaterThan(campaignRun.trials / 8)
  },
)
