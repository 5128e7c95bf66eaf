import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { type Answer, modern, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { as } from '../sessions/attacks.ts'
import { service } from './nodes.ts'

const uri = 'vault://safe'
const watchdogMs = 30_000
const revision = '2025-11-25'

describe.skipIf(!isThere)(`changes on three nodes over Redis${left}`, () => {
  campaign(
    {
      id: 'changes-on-redis',
      chapter: 'Sessions and streams',
      claim:
        'A change on one of three processes is sent once to each subscriber on any of them, in both eras',
      trial: 'resource that changes on a node by chance',
      trials: { change: 30, long: 10_000 },
    },
    async ({ seed, trials, measured }) => {
      const random = new Random(seed)
      const { nodes } = await service(['k'.repeat(32)])
      const streams: { answer: Answer; before: number }[] = []
      for (const node of nodes) {
        const notifications = { resourceSubscriptions: [uri] }
        const listening = await node.send(modern('subscriptions/listen', { notifications }, as('alice')))
        await until(() => listening.messages().length === 1, watchdogMs)
        streams.push({ answer: listening, before: 1 })
        const mine = await session(node, revision, as('alice'))
        const subscribed = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } }
        expect((await mine.post(subscribed)).status).toBe(200)
        streams.push({ answer: await mine.get(), before: 0 })
      }
      const elapsedMs: number[] = []
      for (let trial = 0; trial < trials; trial++) {
        const started = performance.now()
        await random.pick(nodes).order({ changed: uri })
        const areNotified = (): boolean =>
          streams.every(({ answer, before }) => answer.messages().length > before + trial)
        await until(areNotified, watchdogMs)
        elapsedMs.push(performance.now() - started)
      }
      for (const { answer, before } of streams) {
        const messages = answer.messages().slice(before)
        expect(messages).toHaveLength(trials)
        for (const message of messages) {
          expect(message).toMatchObject({ method: 'notifications/resources/updated', params: { uri } })
        }
        answer.drop()
      }
      elapsedMs.sort((a, b) => a - b)
      measured(
        'until all six streams were notified, half of the time',
        Math.round(elapsedMs[trials >> 1] ?? 0),
        'ms',
      )
    },
  )
})
