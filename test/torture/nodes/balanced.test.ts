import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { sendingTo, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { calls, clients, haproxy, hasHaproxy, roundRobin, type ShopNode, shop } from './shop.ts'

const watchdogMs = 60_000
const missing = hasHaproxy ? left : ' (needs the program haproxy, which is not installed)'

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
      id: 'taken-calls',
      chapter: 'Sessions and streams',
      claim:
        'A call that waits for an answer when its process is killed runs again on the process where its client resumes the stream, asks nothing twice, and has one response on every process',
      trial: 'process killed while its call asks',
      trials: { test: 1, change: 3, long: 60 },
    },
    async ({ trials }) => {
      const nodes = await shop()
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
      id: 'interrupted-calls',
      chapter: 'Sessions and streams',
      claim:
        'A call that runs when its process is killed is answered as interrupted, once, to the client that resumes its stream on another process, and the session continues',
      trial: 'process killed while its call runs',
      trials: { test: 1, change: 3, long: 60 },
    },
    async ({ trials }) => {
      const nodes = await shop()
      for (let trial = 0; trial < trials; trial++) {
        const [first, ...others] = inTurn(nodes, trial)
        const begun = await session({ send: sendingTo(first.port) }, '2025-11-25')
        const call = await begun.call(1, 'pack', { arguments: { order: 'a' }, _meta: { progressToken: 'p' } })
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
      id: 'paused-node',
      chapter: 'Sessions and streams',
      claim:
        'A process paused for longer than its lease serves every session when it resumes, also one whose call another process took over meanwhile, which has one response',
      trial: 'process paused while its call asks',
      trials: { test: 1, change: 2, long: 40 },
    },
    async ({ trials }) => {
      const nodes = await shop()
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
