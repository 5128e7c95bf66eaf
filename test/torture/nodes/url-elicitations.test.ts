import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { urlElicitationClient } from '../../../packages/sdk/test/serve/url-elicitation-client.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { as } from '../sessions/attacks.ts'
import { service } from './nodes.ts'

const watchdogMs = 30_000

describe.skipIf(!isThere)(`URL elicitations on three nodes over Redis${left}`, () => {
  campaign(
    {
      id: 'url-elicitations-on-redis',
      chapter: 'Sessions and streams',
      claim:
        'The completion of a URL elicitation, received by any of three processes, is sent once to the session that started it and to no other',
      trial: 'URL elicitation that completes on a random node, and again on another',
      trials: { change: 30, long: 3000 },
    },
    async ({ seed, trials }) => {
      const random = new Random(seed)
      const { nodes } = await service(['k'.repeat(32)])
      const clients = []
      for (const node of nodes) {
        for (const who of ['alice', 'alice', 'mallory']) {
          clients.push({ ...(await urlElicitationClient(node, as(who), watchdogMs)), due: [] as string[] })
        }
      }
      for (let trial = 0; trial < trials; trial++) {
        const client = clients[random.between(0, clients.length - 1)]
        if (client === undefined) throw new Error('No client')
        const id = String(await client.elicit('payByUrl'))
        client.due.push(id)
        await random.pick(nodes).order({ completed: id })
        await until(() => client.stream.messages().length >= client.due.length, watchdogMs)
        await random.pick(nodes).order({ completed: id })
        await random.pick(nodes).order({ completed: `${id} of nobody` })
      }
      // The last message of each node comes after all of its earlier ones.
      for (const node of nodes) {
        for (const one of clients) {
          const id = String(await one.elicit('payByUrl'))
          one.due.push(id)
          await node.order({ completed: id })
          await until(() => one.stream.messages().length >= one.due.length, watchdogMs)
        }
      }
      for (const [nth, { stream, due }] of clients.entries()) {
        expect(stream.messages(), `session ${nth}`).toEqual(
          due.map((elicitationId) => ({
            jsonrpc: '2.0',
            method: 'notifications/elicitation/complete',
            params: { elicitationId },
          })),
        )
        stream.drop()
      }
    },
  )
})
