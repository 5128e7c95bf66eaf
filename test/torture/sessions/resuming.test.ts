import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from '../limits/child.ts'
import { Random } from '../random.ts'

/** A little more than all bytes of the stream. */
const wholeBytes = 33_000
const revisions = 3
const cutsOfAStream = 9

campaign(
  {
    id: 'cut-streams',
    chapter: 'Sessions and streams',
    claim: 'A stream that is cut at any byte resumes after the last whole event, with every event once',
    trial: 'cut of a 200-event stream',
    trials: { test: 350, change: 2_300, long: revisions * wholeBytes * cutsOfAStream },
    changeMinutes: 4,
    longMinutes: 90,
  },
  async (campaignRun) => {
    const streams = Math.ceil(campaignRun.trials / cutsOfAStream)
    const each = Math.ceil(streams / revisions)
    // The first cuts are spread over the stream, and in the long mode made at each of its bytes.
    const step = Math.max(1, Math.floor(wholeBytes / each))
    const from = new Random(campaignRun.seed).between(0, step - 1)
    const found = await measuredBy(
      '../sessions/cuts-program.ts',
      { trials: streams, wholeBytes, from, step, seed: campaignRun.seed },
      campaignRun.long ? 85 * 60_000 : 200_000,
    )
    const cuts = figure(found, 'cuts')
    campaignRun.setTrials(cuts)
    expect(cuts).toBeGreaterThan(campaignRun.trials * 0.7)
    campaignRun.measured('streams that were cut', streams, '')
    campaignRun.measured(
      'cut before the first id, so that the outcome is unknown',
      figure(found, 'withoutId'),
      'streams',
    )
  },
)
