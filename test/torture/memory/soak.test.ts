import { expect } from 'vitest'
import { type CampaignRun, campaign } from '../campaign.ts'
import { figure, type Measured, measuredBy } from '../limits/child.ts'

interface Soak {
  program: 'soak-http' | 'soak-lines' | 'soak-client'
  way: string
  /** Handles that may be open at the end and were not at the beginning: those of a pool of connections. */
  pool?: number
}

/** Bytes of the heap for each request that a run of the tests and the long mode may seem to keep. */
interface Gate {
  change: number
  long: number
}

/** A short run seems to keep 1 to 5 bytes a request. */
const usual: Gate = { change: 16, long: 4 }

/** Puts a fifth of the requests to warm up in a short run, a tenth in a long one, and measures the others. */
function run({ program, way }: Soak, campaignRun: CampaignRun, leak = 0): Promise<Measured> {
  const warm = campaignRun.trials / (campaignRun.long ? 10 : 5)
  const plan = {
    way,
    requests: campaignRun.trials - warm,
    warm,
    samples: campaignRun.long ? 45 : 12,
    leak,
    compiles: campaignRun.long,
  }
  return measuredBy(`../memory/programs/${program}.ts`, plan, campaignRun.long ? 58 * 60_000 : 110_000)
}

async function holds(of: Soak, campaignRun: CampaignRun, gate: Gate): Promise<void> {
  const found = await run(of, campaignRun)
  campaignRun.measured('slope of the heap', rounded(figure(found, 'heap')), 'bytes/request')
  campaignRun.measured('at most (95 %)', rounded(figure(found, 'heapUpper')), 'bytes/request')
  expect(figure(found, 'heapUpper')).toBeLessThan(campaignRun.long ? gate.long : gate.change)
  expect(figure(found, 'externalUpper')).toBeLessThan(campaignRun.long ? gate.long : gate.change)
  expect(figure(found, 'handles')).toBeLessThanOrEqual(of.pool ?? 0)
  expect(figure(found, 'listeners')).toBeLessThanOrEqual(0)
  expect(figure(found, 'warnings')).toBe(0)
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

const trial = 'request of one of twenty kinds, also refused, taken back and too large'
const trials = { test: 4_000, change: 10_000, long: 1_000_000 }

campaign(
  {
    id: 'soak-http',
    chapter: 'Memory',
    claim: 'A server keeps nothing of answered requests over HTTP',
    trial,
    trials,
    longMinutes: 60,
  },
  (campaignRun) => holds({ program: 'soak-http', way: 'modern' }, campaignRun, usual),
)

campaign(
  {
    id: 'soak-sessions',
    chapter: 'Memory',
    claim: 'A server keeps nothing of answered requests in sessions over HTTP',
    trial,
    trials,
    longMinutes: 60,
  },
  (campaignRun) => holds({ program: 'soak-http', way: 'session' }, campaignRun, usual),
)

campaign(
  {
    id: 'soak-lines',
    chapter: 'Memory',
    claim: 'A server keeps nothing of answered requests of both eras over stdio',
    trial,
    trials,
    longMinutes: 60,
  },
  (campaignRun) => holds({ program: 'soak-lines', way: 'both' }, campaignRun, usual),
)

campaign(
  {
    id: 'soak-client',
    chapter: 'Memory',
    claim: 'A client keeps nothing of its completed requests, in either era',
    trial,
    trials,
    longMinutes: 60,
  },
  (campaignRun) => holds({ program: 'soak-client', way: 'memory' }, campaignRun, usual),
)

campaign(
  {
    id: 'soak-client-http',
    chapter: 'Memory',
    claim: 'A client over HTTP keeps nothing of its completed requests, in either era',
    trial,
    trials: { test: 1_000, change: 3000, long: 200_000 },
    longMinutes: 60,
  },
  // What 800 requests seem to keep scatters by a hundred bytes each.
  (campaignRun) =>
    holds({ program: 'soak-client', way: 'http', pool: 16 }, campaignRun, { change: 256, long: 16 }),
)

campaign(
  {
    id: 'soak-leak',
    chapter: 'Memory',
    claim: 'A leak of 32 bytes per request is detected above the noise of a run',
    trial: 'request of which 32 bytes are kept on purpose',
    trials,
    longMinutes: 60,
  },
  async (campaignRun) => {
    const found = await run({ program: 'soak-lines', way: 'both' }, campaignRun, 32)
    campaignRun.measured('slope of the heap', rounded(figure(found, 'heap')), 'bytes/request')
    expect(figure(found, 'heapUpper')).toBeGreaterThan(campaignRun.long ? usual.long : usual.change)
  },
)
