import { describe, expect } from 'vitest'
import { isThere, left } from '../../../packages/redis/test/support/redis-server.ts'
import type { JsonObject } from '../../../packages/sdk/src/jsonrpc/message.ts'
import { settle } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { answered, asked, type Payment } from './asking.ts'
import { service } from './nodes.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'
const key = (of: number): string => String(of).padStart(32, 'k')
/** Longer than a state of the path `/brief` is good. */
const staleMs = 60

/** Key rings on the way from one key to the next: nodes may be one step apart. */
const steps = (of: number): [string[], string[], string[]] => [
  [key(of)],
  [key(of), key(of + 1)],
  [key(of + 1), key(of)],
]

describe.skipIf(!isThere)(`requestState on three nodes over Redis${left}`, () => {
  campaign(
    {
      id: 'sealed-state-on-redis',
      chapter: 'State',
      claim:
        'A response to an input request has its effect once, on any of three processes, while keys are rotated; an invalid state has none on any',
      trial:
        'payment that is asked for on one node and answered on all at once, after answers that are not good',
      trials: { change: 12, long: 3000 },
    },
    async ({ seed, trials, measured }) => {
      const random = new Random(seed)
      const { nodes, ledger } = await service(steps(0)[0])
      let refused = 0
      const refuse = async (response: JsonObject, where: string): Promise<void> => {
        refused++
        expect(response['error'], where).toEqual({
          code: -32602,
          message: 'The requestState is not valid here. Start the request over.',
        })
      }
      let rotations = 0
      let other: Payment | undefined
      for (let trial = 0; trial < trials; trial++) {
        const where = `trial ${trial}`
        const home = random.pick(nodes)
        const tool = random.pick<Payment['tool']>(['pay', 'payMuch'])
        const payment = await asked(home, tool, `order ${trial}`)
        const before = ledger().length

        for (const node of nodes) {
          const spoiled = mutated(payment.state, random)
          await refuse(await answered(node, { ...payment, state: spoiled }), `${where}: ${spoiled}`)
          await refuse(await answered(node, payment, 'mallory'), `${where}: another principal`)
          await refuse(await answered(node, { ...payment, order: 'other' }), `${where}: other arguments`)
          const wrong = tool === 'pay' ? 'payMuch' : 'pay'
          await refuse(await answered(node, { ...payment, tool: wrong }), `${where}: another tool`)
          if (other !== undefined) await refuse(await answered(node, other), `${where}: used before`)
        }
        if (trial % 6 === 0) {
          const late = await asked(home, tool, `order ${trial}`, '/brief')
          await settle(staleMs)
          for (const node of nodes) await refuse(await answered(node, late), `${where}: after its time`)
        }
        expect(ledger().length, where).toBe(before)

        // What was asked under the old first key is answered under the new one.
        if (trial % 4 === 3) {
          for (const keys of steps(rotations).slice(1)) {
            for (const node of nodes) await node.order({ keys })
          }
          rotations++
        }
        const answers = await Promise.all(nodes.map((node) => answered(node, payment)))
        const won = answers.filter((one) => 'result' in one)
        expect(won, `${where}: ${JSON.stringify(answers)}`).toHaveLength(1)
        expect(won[0], where).toMatchObject({ result: { content: [{ text: `accept order ${trial}` }] } })
        for (const one of answers) if (!('result' in one)) await refuse(one, `${where}: at the same time`)
        expect(ledger().slice(before), where).toEqual([`paid order ${trial}`])
        other = payment
        // Only now does the old key go, and with it whatever was sealed under it.
        if (trial % 4 === 3) for (const node of nodes) await node.order({ keys: [key(rotations)] })
      }
      measured('keys replaced', rotations, '')
      measured('answers refused', refused, '')
    },
  )
})

/** A state with a character or more changed, lost or added. */
function mutated(state: string, random: Random): string {
  for (;;) {
    const at = random.between(0, state.length - 1)
    const other = alphabet[random.between(0, alphabet.length - 1)] ?? ''
    const text = random.pick([
      `${state.slice(0, at)}${other}${state.slice(at + 1)}`,
      `${state.slice(0, at)}${state.slice(at + 1)}`,
      `${state.slice(0, at)}${other}${state.slice(at)}`,
    ])
    if (text !== state) return text
  }
}
