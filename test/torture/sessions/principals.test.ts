import { memoryTaskStore } from '@jackfield/sdk/extensions/tasks'
import { memoryBackplane } from '@jackfield/sdk/testing'
import { expect, onTestFinished } from 'vitest'
import { nodeAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { attackAll, prepare } from './attacks.ts'
import { authenticate, principalOf, wordOf } from './callers.ts'
import { vault } from './vault.ts'

campaign(
  {
    id: 'foreign-principals',
    chapter: 'Sessions and streams',
    claim: 'State of one principal does not exist for another, on any node',
    trial: 'request of another principal that names it',
    trials: { test: 500, change: 1_500, long: 2_000_000 },
    longMinutes: 120,
  },
  async (campaignRun) => {
    const [backplane, store] = [memoryBackplane(), memoryTaskStore()]
    const nodes = await Promise.all(
      [1, 2, 3].map(async () => {
        const one = vault(store, wordOf)
        const mounted = await nodeAdapter(one.server, { authenticate, backplane })
        onTestFinished(() => mounted.close())
        return { ...one, mounted }
      }),
    )
    const [home] = nodes
    if (home === undefined) throw new Error('No node')
    const alice = await prepare(home.mounted)
    const adapters = nodes.map(({ mounted }) => mounted)
    await attackAll(adapters, alice, new Random(campaignRun.seed), campaignRun.trials)
    expect(nodes.flatMap(({ accepted }) => accepted)).toEqual([])
    await alice.unharmed(home.open)
    expect(home.accepted).toEqual([principalOf('alice'), principalOf('alice')])
  },
)
