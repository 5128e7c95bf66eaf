import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from '../limits/child.ts'

const program = '../sessions/flood-program.ts'
/** Far enough from the 63 of even chance that none of 32 places gets there once in a million runs. */
const farthestChi = 170

campaign(
  {
    id: 'initialize-flood',
    chapter: 'Sessions and streams',
    claim: 'Idle sessions are replaced by new ones, the least recently used first, and never one in use',
    trial: 'session begun and left',
    trials: { change: 3000, long: 100_000 },
  },
  async (campaignRun) => {
    const room = campaignRun.long ? 10_000 : 1000
    const found = await measuredBy(program, { sessions: campaignRun.trials, room }, 600_000)
    expect(figure(found, 'begun')).toBe(campaignRun.trials)
    expect(figure(found, 'wrong')).toBe(0)
    expect(figure(found, 'busyEnded')).toBe(0)
    expect(figure(found, 'bytes')).toBeLessThan(20_000)
    campaignRun.measured('heap', figure(found, 'bytes'), 'bytes/session')
  },
)

campaign(
  {
    id: 'session-ids',
    chapter: 'Sessions and streams',
    claim: 'Session ids are visible ASCII, all different, with uniformly distributed characters',
    trial: 'session id',
    trials: { test: 3_200, change: 12_800, long: 1_000_000 },
  },
  async (campaignRun) => {
    const found = await measuredBy(program, { sessions: campaignRun.trials, room: 1000 }, 600_000)
    expect(figure(found, 'begun')).toBe(campaignRun.trials)
    expect(figure(found, 'duplicates')).toBe(0)
    expect(figure(found, 'unprintable')).toBe(0)
    expect(figure(found, 'characters')).toBe(32)
    expect(figure(found, 'farthest')).toBeLessThan(farthestChi)
    campaignRun.measured('farthest from even chance', figure(found, 'farthest'), 'chi-square of 63')
  },
)
