import { expect } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { type CampaignRun, campaign } from '../campaign.ts'
import { figure, type Measured, measuredBy } from '../limits/child.ts'

/** Bytes of the heap that a session or a stream may seem to leave, of which each takes 5 000 while it is there. */
const gate = { change: 400, long: 20 }

/** Warms up with two fifths in a short run and a tenth in a long one, and measures what the others leave. */
function run(program: 'drops' | 'streams', campaignRun: CampaignRun, leak = 0): Promise<Measured> {
  const warm = campaignRun.trials * (campaignRun.long ? 0.1 : 0.4)
  const samples = campaignRun.long ? 30 : 10
  const plan = {
    way: 'all',
    requests: campaignRun.trials - warm,
    warm,
    samples,
    leak,
    compiles: campaignRun.long,
    ...(program === 'drops' && { crowd: programFile(new URL('programs/crowd.ts', import.meta.url)) }),
  }
  return measuredBy(`../memory/programs/${program}.ts`, plan, campaignRun.long ? 58 * 60_000 : 110_000)
}

/** A short run is measured a second time if it is over the limit: a leak is in both, the noise of other work seldom. */
async function leavesNothing(
  program: 'drops' | 'streams',
  campaignRun: CampaignRun,
  unit: string,
): Promise<void> {
  let found = await run(program, campaignRun)
  const isOver = figure(found, 'heapUpper') >= gate.change || figure(found, 'externalUpper') >= gate.change
  if (isOver && !campaignRun.long) found = await run(program, campaignRun)
  campaignRun.measured('slope of the heap', Math.round(figure(found, 'heap')), unit)
  campaignRun.measured('at most (95 %)', Math.round(figure(found, 'heapUpper')), unit)
  expect(figure(found, 'heapUpper')).toBeLessThan(campaignRun.long ? gate.long : gate.change)
  expect(figure(found, 'externalUpper')).toBeLessThan(campaignRun.long ? gate.long : gate.change)
  expect(figure(found, 'handles')).toBe(0)
  expect(figure(found, 'listeners')).toBeLessThanOrEqual(0)
  expect(figure(found, 'warnings')).toBe(0)
}

campaign(
  {
    id: 'sessions-dropped',
    chapter: 'Memory',
    claim: 'A session leaves neither memory nor handles behind, however it ends',
    trial: 'session ended by DELETE, FIN, RST, silence, or the crash of its client',
    trials: { test: 200, change: 1000, long: 100_000 },
    longMinutes: 60,
  },
  (campaignRun) => leavesNothing('drops', campaignRun, 'bytes/session'),
)

campaign(
  {
    id: 'streams-dropped',
    chapter: 'Memory',
    claim: 'A stream of changes leaves nothing behind, in either era and at either end',
    trial: 'stream opened, sent a change, and dropped',
    trials: { test: 300, change: 2000, long: 100_000 },
    longMinutes: 60,
  },
  (campaignRun) => leavesNothing('streams', campaignRun, 'bytes/stream'),
)

campaign(
  {
    id: 'streams-leak',
    chapter: 'Memory',
    claim: 'A leak of one kilobyte per stream is detected above the noise of a run',
    trial: 'stream of which 1024 bytes are kept on purpose',
    trials: { test: 300, change: 2000, long: 100_000 },
    longMinutes: 60,
  },
  async (campaignRun) => {
    const found = await run('streams', campaignRun, 1024)
    campaignRun.measured('slope of the heap', Math.round(figure(found, 'heap')), 'bytes/stream')
    expect(figure(found, 'heapUpper')).toBeGreaterThan(campaignRun.long ? gate.long : gate.change)
  },
)
