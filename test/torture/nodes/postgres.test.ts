import { afterAll, beforeAll, describe, expect } from 'vitest'
import { isInstalled, note, PostgresServer } from '../../../packages/postgres/test/support/postgres-server.ts'
import { sendingTo, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { calls, clients, roundRobin, shop } from './shop.ts'

const watchdogMs = 60_000

describe.skipIf(!isInstalled)(
  `official clients on three nodes over PostgreSQL${note}`,
  { timeout: 120_000 },
  () => {
    let postgres: PostgresServer
    beforeAll(async () => {
      postgres = await PostgresServer.start({ isDurable: true })
    }, 60_000)
    afterAll(() => postgres?.stop())

    campaign(
      {
        id: 'calls-on-postgres',
        chapter: 'Sessions and streams',
        claim:
          'Calls of the official clients, half of which ask, complete on three processes over PostgreSQL that get their requests in turn, also while each is restarted with drain',
        trial: 'call',
        trials: { test: 60, change: 600, long: 20_000 },
      },
      async ({ trials }) => {
        const nodes = await shop(200, postgres.url())
        const all = await clients(`http://127.0.0.1:${nodes[0]?.port}/mcp`, 9, roundRobin(nodes))
        const under = calls(all, trials)
        for (const node of nodes) {
          await node.stop('SIGTERM')
          await node.start()
        }
        expect(await under).toEqual([])
        expect(await calls(all, 18)).toEqual([])
      },
    )

    campaign(
      {
        id: 'killed-postgres',
        chapter: 'Sessions and streams',
        claim:
          'After PostgreSQL was killed and restarted, a call that asked before goes on with the answer through another process, in the same session',
        trial: 'PostgreSQL killed while a call asks',
        trials: { test: 1, change: 3, long: 60 },
      },
      async ({ trials }) => {
        const nodes = await shop(0, postgres.url())
        for (let trial = 0; trial < trials; trial++) {
          const [first, second] = [0, 1].map((at) => nodes[(trial + at) % nodes.length])
          const begun = await session({ send: sendingTo(first?.port ?? 0) }, '2025-11-25')
          const call = await begun.call(1, 'buy', { arguments: { order: 'a' } })
          await until(() => call.messages().length === 1, watchdogMs)
          await postgres.restart()
          const headers = { 'mcp-session-id': begun.id, 'mcp-protocol-version': '2025-11-25' }
          const answer = {
            jsonrpc: '2.0',
            id: call.messages()[0]?.['id'],
            result: { action: 'accept', content: { ok: true } },
          }
          const send = sendingTo(second?.port ?? 0)
          // Until its node has connected again, it responds 503.
          let status = 503
          while (status === 503) ({ status } = await send({ headers, body: answer }))
          expect(status).toBe(202)
          await until(() => call.over(), watchdogMs)
          expect(call.messages()[1]).toMatchObject({ id: 1, result: { content: [{ text: 'accept a' }] } })
        }
      },
    )
  },
)
