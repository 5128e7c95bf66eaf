import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

/** The limit the program reads under. */
const limit = 256 * 1024

campaign(
  {
    id: 'small-pieces',
    chapter: 'Bytes and limits',
    claim: 'A message costs time and memory in proportion to its length, however small its chunks',
    trial: 'long message in small pieces',
    trials: { change: 7, long: 25 },
  },
  async (campaignRun) => {
    const found = await measuredBy('framing-program.ts', {
      what: 'pieces',
      size: campaignRun.trials,
      seed: campaignRun.seed,
    })
    campaignRun.setTrials(campaignRun.trials * 12 + 10)
    for (const framing of ['line', 'event']) {
      const nine = figure(found, `${framing} 9 MB`)
      campaignRun.measured(`9 MB as one ${framing}, in pieces of 1 KB`, Math.round(nine), 'ms of CPU')
      expect(nine).toBeLessThan(600)
      for (const piece of [1, 64]) {
        const ratio = figure(found, `${framing} ratio ${piece}`)
        campaignRun.measured(
          `twice the ${framing}, in pieces of ${piece} B`,
          Math.round(ratio * 100) / 100,
          'times the CPU',
        )
        expect(ratio).toBeLessThan(2.5)
      }
    }
    for (const what of ['line', 'event', 'event of short lines', 'event of empty lines']) {
      const heldBytes = figure(found, `${what} held`)
      campaignRun.measured(
        `kept of an unfinished ${what}`,
        Math.round((heldBytes / limit) * 10) / 10,
        'times the limit',
      )
      expect(heldBytes).toBeLessThan(8 * limit)
    }
  },
)

campaign(
  {
    id: 'every-cut',
    chapter: 'Bytes and limits',
    claim: 'Messages are parsed the same wherever their bytes are split, also within characters',
    trial: 'cut',
    trials: { test: 100, change: 300, long: 20_000 },
  },
  async (campaignRun) => {
    const found = await measuredBy(
      'framing-program.ts',
      { what: 'cuts', size: campaignRun.trials, seed: campaignRun.seed },
      campaignRun.long ? 600_000 : 100_000,
    )
    campaignRun.setTrials(figure(found, 'cuts'))
  },
)
