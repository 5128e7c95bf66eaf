import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import { type Answer, modern } from '../../../packages/sdk/test/serve/http-support.ts'
import { settle, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { as } from '../sessions/attacks.ts'
import { words } from '../sessions/callers.ts'
import { answered, asked, type Payment } from './asking.ts'
import { type Service, service } from './nodes.ts'

const redisTimeoutMs = 1000
const awayMs = 3000
/** Ten times what a call that needs Redis may take. */
const watchdogMs = 10 * redisTimeoutMs
const uri = 'vault://safe'

/** Ways in which Redis goes away and comes back. */
const outages = {
  paused: async ({ redis }: Service, meanwhile: () => Promise<void>): Promise<void> => {
    redis.pause()
    await meanwhile()
    redis.resume()
  },
  'killed and started anew': async ({ redis }: Service, meanwhile: () => Promise<void>): Promise<void> => {
    await redis.kill()
    await meanwhile()
    await redis.restart()
  },
}

describe.skipIf(!isThere)(`three nodes whose Redis goes away${left}`, () => {
  campaign(
    {
      id: 'outages-of-redis',
      chapter: 'Sessions and streams',
      claim:
        'During an outage of Redis of 3 s, calls without state complete, responses that need it are refused in time without effect; afterwards all of them work, used states stay used, and subscribers get the changes',
      trial: 'outage in the middle of calls to three processes',
      trials: { change: 2, long: 40 },
    },
    async ({ trials, measured }) => {
      const running = await service(['k'.repeat(32)], { redisTimeoutMs, durable: true })
      const { nodes, ledger } = running
      const ways = Object.entries(outages)
      const worst = { free: 0, refused: 0, back: 0 }
      let calls = 0
      for (let trial = 0; trial < trials; trial++) {
        const [name, goAway] = ways[trial % ways.length] ?? ['', async () => {}]
        const where = `trial ${trial}, Redis ${name}`
        const streams = await Promise.all(nodes.map(listening))
        const used = await asked(nodes[0], 'pay', `used ${trial}`)
        expect(await answered(nodes[1], used), where).toHaveProperty('result')
        const tools: Payment['tool'][] = ['pay', 'payMuch', 'pay']
        const waiting = await Promise.all(
          nodes.map((node, at) => asked(node, tools[at] ?? 'pay', `waiting ${trial} ${at}`)),
        )
        const before = ledger()
        const known = streams.map((one) => one.messages().length)

        await goAway(running, async () => {
          const end = performance.now() + awayMs
          await nodes[1].order({ changed: uri })
          let over = false
          const free = nodes.map(async (node) => {
            while (!over) {
              const started = performance.now()
              const params = { name: 'peek' }
              const answer = await (await node.send(modern('tools/call', params, as('alice')))).json()
              expect(answer, where).toMatchObject({ result: { content: [{ text: words['alice'] }] } })
              worst.free = Math.max(worst.free, performance.now() - started)
              calls++
              await settle(20)
            }
          })
          const needing = waiting.map(async (payment, at) => {
            const node = nodes[(at + 1) % nodes.length]
            if (node === undefined) throw new Error('No node')
            const started = performance.now()
            const { error } = await answered(node, payment)
            worst.refused = Math.max(worst.refused, performance.now() - started)
            expect(error, where).toEqual({
              code: -32603,
              message: expect.stringMatching(/cannot be reached\. Try again later/),
            })
          })
          await Promise.all(needing)
          await settle(Math.max(0, end - performance.now()))
          over = true
          await Promise.all(free)
        })
        expect(worst.refused, where).toBeLessThan(watchdogMs)
        expect(ledger(), where).toEqual(before)

        const back = performance.now()
        await until(() => streams.every((one, at) => one.messages().length > (known[at] ?? 0)), watchdogMs)
        for (const [at, node] of nodes.entries()) {
          const other = nodes[(at + 1) % nodes.length] ?? node
          let tries = 0
          await working(async () => {
            const order = `afterwards ${trial} ${at} ${tries++}`
            expect(await answered(other, await asked(node, 'payMuch', order)), where).toHaveProperty('result')
            expect(ledger().at(-1), where).toBe(`paid ${order}`)
          })
        }
        worst.back = Math.max(worst.back, performance.now() - back)
        expect(await answered(nodes[2], used), where).toHaveProperty('error.code', -32602)
        for (const [at, payment] of waiting.entries()) {
          // Redis may have taken what it did not answer: then the answer counts as used, and never twice.
          const answers = [await answered(nodes[at] ?? nodes[0], payment), await answered(nodes[0], payment)]
          expect(answers.filter((one) => 'result' in one).length, where).toBeLessThanOrEqual(1)
        }
        expect(new Set(ledger()).size, where).toBe(ledger().length)

        const received = streams.map((one) => one.messages().length)
        await nodes[1].order({ changed: uri })
        for (const [at, one] of streams.entries()) {
          await until(() => one.messages().length > (received[at] ?? 0), watchdogMs)
          one.drop()
        }
      }
      measured('calls that needed no state, during the outages', calls, '')
      measured('the longest of them', Math.round(worst.free), 'ms')
      measured('the latest refusal of an answer', Math.round(worst.refused), 'ms')
      measured('until all worked again', Math.round(worst.back), 'ms')
    },
  )
})

async function listening(node: Service['nodes'][0]): Promise<Answer> {
  const notifications = { resourceSubscriptions: [uri] }
  const answer = await node.send(modern('subscriptions/listen', { notifications }, as('alice')))
  // A node that reconnects to the others notifies of possible changes at once.
  await until(() => answer.messages().length > 0, watchdogMs)
  return answer
}

/** What some work gives as soon as it succeeds. */
async function working<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + watchdogMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > end) throw error
      await settle(20)
    }
  }
}
