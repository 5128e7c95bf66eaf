import { afterAll, beforeAll, describe, expect } from 'vitest'
import { isInstalled, note, PostgresServer } from '../../../packages/postgres/test/support/postgres-server.ts'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { sendingTo, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { type ShopNode, shop } from './shop.ts'

const watchdogMs = 60_000

function inTurn(nodes: readonly ShopNode[], trial: number): [ShopNode, ShopNode, ShopNode] {
  const [first, second, third] = [0, 1, 2].map((at) => nodes[(trial + at) % nodes.length])
  if (first === undefined || second === undefined || third === undefined) throw new Error('three nodes')
  return [first, second, third]
}

const headersOf = (id: string) => ({ 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' })

const resuming = (id: string, last: string | undefined) => (node: ShopNode) =>
  sendingTo(node.port)({ method: 'GET', headers: { ...headersOf(id), 'last-event-id': last } })

/** Answers a question on a node, and returns the status. */
async function answer(id: string, question: unknown, node: ShopNode): Promise<number> {
  const result = { action: 'accept', content: { ok: true } }
  const body = { jsonrpc: '2.0', id: question, result }
  return (await sendingTo(node.port)({ headers: headersOf(id), body })).status
}

/** The store that the nodes share. */
interface Store {
  /** Ends the names of the campaigns, and their claims. */
  readonly suffix: string
  readonly where: string
  shop(): Promise<ShopNode[]>
}

describe.skipIf(!isThere)(`calls taken over by another node, over Redis${left}`, { timeout: 120_000 }, () => {
  takeovers({ suffix: '', where: '', shop })
})

describe.skipIf(!isInstalled)(
  `calls taken over by another node, over PostgreSQL${note}`,
  { timeout: 120_000 },
  () => {
    let postgres: PostgresServer
    beforeAll(async () => {
      postgres = await PostgresServer.start({ isDurable: true })
    }, 60_000)
    afterAll(() => postgres?.stop())

    takeovers({
      suffix: '-on-postgres',
      where: ', over PostgreSQL',
      shop: () => shop(0, postgres.url()),
    })
  },
)

/** The campaigns of calls whose process is killed or paused. */
function takeovers(store: Store): void {
  campaign(
    {
      id: `taken-calls${store.suffix}`,
      chapter: 'Sessions and streams',
      claim: `A call that waits for an answer when its process is killed runs again on the process where its client resumes the stream, asks nothing twice, and has one response on every process${store.where}`,
      changeMinutes: 5,
      trial: 'process killed while its call asks',
      trials: { test: 1, change: 3, long: 60 },
    },
    async ({ trials }) => {
      const nodes = await store.shop()
      for (let trial = 0; trial < trials; trial++) {
        const [first, second, third] = inTurn(nodes, trial)
        const begun = await session({ send: sendingTo(first.port) }, '2025-11-25')
        const call = await begun.call(1, 'buy', { arguments: { order: 'a' } })
        await until(() => call.messages().length === 1, watchdogMs)
        await first.stop('SIGKILL')
        const resume = resuming(begun.id, call.events.at(-1)?.id)
        const resumed = await resume(second)
        expect(await answer(begun.id, call.messages()[0]?.['id'], third)).toBe(202)
        await until(() => resumed.over(), watchdogMs)
        const response = { id: 1, result: { content: [{ text: 'accept a' }] } }
        expect(resumed.messages()).toMatchObject([response])
        for (const node of [second, third]) {
          const again = await resume(node)
          await until(() => again.over(), watchdogMs)
          expect(again.messages()).toMatchObject([response])
        }
        await first.start()
      }
    },
  )

  campaign(
    {
      id: `interrupted-calls${store.suffix}`,
      chapter: 'Sessions and streams',
      claim: `A call that runs when its process is killed is answered as interrupted, once, to the client that resumes its stream on another process, and the session continues${store.where}`,
      changeMinutes: 5,
      trial: 'process killed while its call runs',
      trials: { test: 1, change: 3, long: 60 },
    },
    async ({ trials }) => {
      const nodes = await store.shop()
      for (let trial = 0; trial < trials; trial++) {
        const [first, ...others] = inTurn(nodes, trial)
        const begun = await session({ send: sendingTo(first.port) }, '2025-11-25')
        const call = await begun.call(1, 'ship', { arguments: { order: 'a' }, _meta: { progressToken: 'p' } })
        await until(() => call.messages().length === 1, watchdogMs)
        await first.stop('SIGKILL')
        const resume = resuming(begun.id, call.events.at(-1)?.id)
        for (const node of others) {
          const resumed = await resume(node)
          await until(() => resumed.over(), watchdogMs)
          const responses = resumed.messages().filter(({ id }) => id !== undefined)
          expect(responses).toMatchObject([{ id: 1, error: { code: -32603, data: { interrupted: true } } }])
          expect(
            (
              await sendingTo(node.port)({
                headers: headersOf(begun.id),
                body: { jsonrpc: '2.0', id: 2, method: 'tools/list' },
              })
            ).status,
          ).toBe(200)
        }
        await first.start()
      }
    },
  )

  campaign(
    {
      id: `paused-node${store.suffix}`,
      chapter: 'Sessions and streams',
      claim: `A process paused for longer than its lease serves every session when it resumes, also one whose call another process took over meanwhile, which has one response${store.where}`,
      changeMinutes: 5,
      trial: 'process paused while its call asks',
      trials: { test: 1, change: 2, long: 40 },
    },
    async ({ trials }) => {
      const nodes = await store.shop()
      for (let trial = 0; trial < trials; trial++) {
        const [paused, other] = inTurn(nodes, trial)
        const begun = await session({ send: sendingTo(paused.port) }, '2025-11-25')
        const call = await begun.call(1, 'buy', { arguments: { order: 'a' } })
        await until(() => call.messages().length === 1, watchdogMs)
        paused.signal('SIGSTOP')
        const resume = resuming(begun.id, call.events.at(-1)?.id)
        const resumed = await resume(other)
        expect(await answer(begun.id, call.messages()[0]?.['id'], other)).toBe(202)
        await until(() => resumed.over(), watchdogMs)
        const response = { id: 1, result: { content: [{ text: 'accept a' }] } }
        expect(resumed.messages()).toMatchObject([response])
        paused.signal('SIGCONT')
        expect((await begun.call(2, 'look', { arguments: { order: 'b' } })).status).toBe(200)
        for (const node of [paused, other]) {
          const again = await resume(node)
          await until(() => again.over(), watchdogMs)
          expect(again.messages()).toMatchObject([response])
        }
        const next = await begun.call(3, 'buy', { arguments: { order: 'c' } })
        await until(() => next.messages().length === 1, watchdogMs)
        await answer(begun.id, next.messages()[0]?.['id'], other)
        await until(() => next.over(), watchdogMs)
        expect(next.messages()[1]).toMatchObject({ id: 3, result: { content: [{ text: 'accept c' }] } })
      }
    },
  )
}
