import { expect } from 'vitest'
import { programFile } from '../../setup/program-file.ts'
import { type CampaignRun, campaign } from '../campaign.ts'
import { figure, type Measured, measuredBy } from '../limits/child.ts'

const program = '../memory/programs/host-program.ts'
/** The allowance for processes and connections that are still closing. */
const maxHandles = 6

function host({ long }: CampaignRun, input: object): Promise<Measured> {
  const server = programFile(new URL('programs/host-server.ts', import.meta.url))
  return measuredBy(program, { ...input, server }, long ? 1_100_000 : 110_000)
}

function checkHeld(found: Measured): void {
  expect(figure(found, 'intact')).toBe(1)
  expect(figure(found, 'listeners')).toBeLessThanOrEqual(0)
  expect(figure(found, 'handles')).toBeLessThanOrEqual(maxHandles)
  expect(figure(found, 'left')).toBeLessThanOrEqual(maxHandles)
}

campaign(
  {
    id: 'host-calls',
    chapter: 'Memory',
    claim: 'A host that calls a tool repeatedly stores rows of it, and keeps nothing in memory',
    trial: 'call through a host',
    trials: { test: 60, change: 300, long: 10_000 },
  },
  async (campaignRun) => {
    const found = await host(campaignRun, { what: 'calls', count: campaignRun.trials, chars: 100 })
    checkHeld(found)
    expect(figure(found, 'stored')).toBeLessThan(10_000)
    campaignRun.measured('store', Math.round(figure(found, 'stored')), 'bytes/call')
    if (!campaignRun.long) return
    expect(figure(found, 'upper')).toBeLessThan(200)
    campaignRun.measured('heap at most', Math.round(figure(found, 'upper')), 'bytes/call')
  },
)

campaign(
  {
    id: 'host-connections',
    chapter: 'Memory',
    claim: 'A host that connects and disconnects repeatedly keeps no process, socket or listener',
    trial: 'connection made, used and closed',
    trials: { test: 12, change: 30, long: 1000 },
  },
  async (campaignRun) => {
    const found = await host(campaignRun, { what: 'connections', count: campaignRun.trials, chars: 100 })
    checkHeld(found)
    campaignRun.measured('store', Math.round(figure(found, 'stored')), 'bytes/connection')
    if (!campaignRun.long) return
    expect(figure(found, 'upper')).toBeLessThan(4000)
    campaignRun.measured('heap at most', Math.round(figure(found, 'upper')), 'bytes/connection')
  },
)

campaign(
  {
    id: 'host-log',
    chapter: 'Memory',
    claim: 'The store of a host with limited messages and a pruned log stops growing once it is full',
    trial: 'message through a full store',
    trials: { test: 300, change: 600, long: 10_000 },
  },
  async (campaignRun) => {
    const bounds = campaignRun.long ? { megabytes: 1, pruned: 500 } : { megabytes: 0.1, pruned: 20 }
    // Each call is a message there and one back.
    const found = await host(campaignRun, {
      what: 'calls',
      count: campaignRun.trials / 2,
      chars: 1000,
      ...bounds,
    })
    checkHeld(found)
    expect(figure(found, 'file')).toBeLessThan(figure(found, 'first') * 1.5)
    campaignRun.measured('store once it is full', Math.round(figure(found, 'first') / 1000), 'kB')
    campaignRun.measured('store at the end', Math.round(figure(found, 'file') / 1000), 'kB')
  },
)
