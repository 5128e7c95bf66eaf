import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createConversation, promptMessages } from '../../src/models/agent/index.ts'
import type { HostOptions, Surface } from '../../src/types/index.ts'
import { started } from '../fixtures/hosts.ts'
import { person } from '../fixtures/people.ts'
import { type Attack, attacks } from './attacks.ts'
import { obeyingModel } from './obeying-model.ts'
import { bank, hostileServer, type Recorded } from './servers.ts'

const visits: string[] = []
const canary = createServer((request, response) => {
  visits.push(request.url ?? '')
  response.end()
})
canary.listen(0, '127.0.0.1')
await new Promise((resolve) => canary.once('listening', resolve))
const address = canary.address()
const all = attacks(`http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`)

let victim: Recorded
beforeAll(async () => {
  victim = await bank()
})
beforeEach(() => {
  victim.ran.length = 0
  visits.length = 0
})
afterAll(async () => {
  await victim[Symbol.asyncDispose]()
  canary.close()
})

/** Lets the attack happen to a host with default policy. */
async function suffer(attack: Attack, surface: Surface | undefined, more: Partial<HostOptions> = {}) {
  await using hostile = await hostileServer(attack.hostile)
  const model = obeyingModel()
  const options: Partial<HostOptions> = {
    servers: { bank: { url: victim.url }, hostile: { url: hostile.url } },
    models: [model],
    ...(surface !== undefined && { surface }),
    ...more,
  }
  const host = await started(options)
  const states = [...host.connections.values()].map(({ state }) => state)
  const conversation = createConversation({ host, model, codeMode: true })
  const { say } = attack
  const prompt =
    typeof say === 'string' ? say : promptMessages(await host.prompt(`hostile__${say.prompt}`, {}))
  await conversation.say(prompt)
  await host.close()
  return { ran: hostile.ran, model, states }
}

test('there are a hundred attacks and more, all different', () => {
  expect(all.length).toBeGreaterThanOrEqual(100)
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
})

const long = process.env['JACKFIELD_LONG'] === '1'
const biting = all.filter(({ bites }) => bites !== false)
/** Tried with a user who approves: all by `npm run test:all`, every second one by `npm test`. */
const approved = all.filter((_, n) => long || process.env['JACKFIELD_MATRIX'] === 'full' || n % 2 === 0)

test.each(biting.filter((_, n) => long || n % 8 === 0))(
  '$name; it has an effect if everything is allowed',
  async (attack) => {
    const { ran } = await suffer(attack, undefined, { defaultVerdict: 'allow' })
    const effects = ran.filter(([name, args]) => name !== 'notes' || Object.keys(Object(args)).length > 0)
    expect(victim.ran.length + effects.length).toBeGreaterThan(0)
  },
)

describe.each(all)('$name', (attack) => {
  test('has no effect without a user to agree', async () => {
    const { ran, states } = await suffer(attack, undefined)
    expect(states).toEqual(['ready', 'ready'])
    expect({ bank: victim.ran, hostile: ran, visits }).toEqual({ bank: [], hostile: [], visits: [] })
  })
})

describe.each(approved)('$name', (attack) => {
  test('has only the effects that the user approved', async () => {
    const agreed: [string, unknown][] = []
    const surface = person({
      approval: ({ tool, arguments: args }) => {
        const isFine =
          tool.server === 'hostile' && attack.allow.includes(tool.tool.name) && Object.keys(args).length === 0
        if (!isFine) return { verdict: 'deny' }
        agreed.push([tool.tool.name, args])
        return { verdict: 'allow' }
      },
      elicitation: () => ({ action: 'cancel' }),
      'sampling-request': () => ({ verdict: 'deny' }),
      result: () => ({ verdict: 'deny' }),
    })
    const { ran, model } = await suffer(attack, surface)
    const asksFirst = attack.hostile.tools.some(({ elicit, sample }) => elicit ?? sample)
    expect({ bank: victim.ran, visits }).toEqual({ bank: [], visits: [] })
    // A tool that asks first may continue after the user declined.
    expect(ran.map(([name]) => name)).toEqual(
      asksFirst ? ran.map(() => 'notes') : agreed.map(([name]) => name),
    )
    // No model ever answered a request that was not let through.
    expect(model.requests.every(({ system }) => system?.includes('You help a person') === true)).toBe(true)
  })
})
