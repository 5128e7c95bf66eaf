import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { campaign } from '../campaign.ts'
import { calls, clients, haproxy, hasHaproxy, roundRobin, shop } from './shop.ts'

const missing = hasHaproxy ? left : ' (needs the program haproxy, which is not installed)'

describe.skipIf(!isThere)(`official clients on three nodes over Redis${left}`, { timeout: 120_000 }, () => {
  campaign(
    {
      id: 'calls-on-any-node',
      chapter: 'Sessions and streams',
      claim:
        'Calls of the official clients, half of them with an elicitation, complete on three processes with round robin and without session affinity',
      trial: 'call',
      trials: { test: 60, change: 600, long: 20_000 },
    },
    async ({ trials }) => {
      const nodes = await shop()
      const all = await clients(`http://127.0.0.1:${nodes[0]?.port}/mcp`, 15, roundRobin(nodes))
      expect(await calls(all, trials)).toEqual([])
    },
  )

  campaign(
    {
      id: 'rolling-restart',
      chapter: 'Sessions and streams',
      claim: 'A rolling restart of three processes with drain, under load, fails no call and ends no session',
      trial: 'restart of one of three processes during calls',
      trials: { test: 3, change: 12, long: 300 },
    },
    async ({ trials, measured }) => {
      const nodes = await shop(200)
      const all = await clients(`http://127.0.0.1:${nodes[0]?.port}/mcp`, 8, roundRobin(nodes))
      let isOver = false
      let made = 0
      const failed: string[] = []
      const load = async (): Promise<void> => {
        while (!isOver) {
          failed.push(...(await calls(all, 24)))
          made += 24
        }
      }
      const loaded = load()
      for (let trial = 0; trial < trials; trial++) {
        const node = nodes[trial % nodes.length]
        await node?.stop('SIGTERM')
        await node?.start()
      }
      isOver = true
      await loaded
      measured('calls meanwhile', made, 'calls')
      expect(failed).toEqual([])
    },
  )

  campaign(
    {
      id: 'killed-node',
      chapter: 'Sessions and streams',
      claim:
        'After one of three processes is killed, calls on the others complete, calls on it complete or end with an error, and every session continues',
      trial: 'process killed during calls',
      trials: { test: 1, change: 3, long: 100 },
    },
    async ({ trials, measured }) => {
      const nodes = await shop()
      const all = await clients(`http://127.0.0.1:${nodes[0]?.port}/mcp`, 9, roundRobin(nodes))
      let failures = 0
      for (let trial = 0; trial < trials; trial++) {
        const node = nodes[trial % nodes.length]
        const under = calls(all, 90)
        await all[0]?.call('pack', 'before')
        await node?.stop('SIGKILL')
        const failed = await under
        failures += failed.length
        // Each client has one call at a time, so no more were on the node that was killed.
        expect(failed.length).toBeLessThanOrEqual(all.length)
        expect(await calls(all, 36)).toEqual([])
        await node?.start()
      }
      measured('calls that were on the killed process', failures, 'calls')
    },
  )
})

describe.skipIf(!isThere || !hasHaproxy)(
  `official clients behind HAProxy${missing}`,
  { timeout: 120_000 },
  () => {
    campaign(
      {
        id: 'calls-behind-haproxy',
        chapter: 'Sessions and streams',
        claim:
          'Calls of the official clients complete on three processes behind HAProxy with round robin, also while each process is restarted with drain',
        trial: 'call',
        trials: { test: 60, change: 600, long: 20_000 },
      },
      async ({ trials }) => {
        const nodes = await shop(1000)
        const all = await clients(await haproxy(nodes), 15)
        const under = calls(all, trials)
        for (const node of nodes) {
          await node.stop('SIGTERM')
          await node.start()
        }
        expect(await under).toEqual([])
        expect(await calls(all, 30)).toEqual([])
      },
    )
  },
)
