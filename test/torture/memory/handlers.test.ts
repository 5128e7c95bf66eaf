import { expect } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from '../limits/child.ts'

/** How the program calls the ways to its server, and what they are. */
const ways = {
  stateless: 'HTTP without sessions',
  session: 'HTTP sessions',
  lines: 'sessions on standard streams',
  'stateless lines': 'standard streams without sessions',
} as const
/** Bytes; a leaked call takes several times that. */
const maxKept = 1000

campaign(
  {
    id: 'hard-handlers',
    chapter: 'Memory',
    claim:
      'Handlers that throw, hang, are cancelled, ask without an answer or continue after their end leave no call, timer or rejection behind, and the server keeps serving',
    trial: 'call of a hard handler',
    trials: { change: 60, long: 2000 },
  },
  async (campaignRun) => {
    const { seed, trials, long } = campaignRun
    const found = await measuredBy(
      '../memory/programs/handlers-clients.ts',
      { seed, trials, server: programFile(new URL('programs/handlers-server.ts', import.meta.url)) },
      long ? 1_000_000 : 110_000,
    )
    let made = 0
    for (const [way, name] of Object.entries(ways)) {
      made += figure(found, `${way} made`)
      expect(figure(found, `${way} made`)).toBeGreaterThanOrEqual(trials)
      expect(figure(found, `${way} timers`), `timers over ${name}`).toBeLessThanOrEqual(4)
      expect(figure(found, `${way} handles`), `handles over ${name}`).toBeLessThanOrEqual(4)
      if (!long) continue
      const upper = figure(found, `${way} upper`)
      expect(upper, `heap over ${name}`).toBeLessThan(maxKept)
      campaignRun.measured(`heap at most, ${name}`, Math.round(upper), 'bytes/call')
    }
    campaignRun.setTrials(made)
  },
)
