import { defineServer, type JsonObject, type Server, tool } from '@jackfield/sdk'
import { expect } from 'vitest'
import { z } from 'zod'
import { DuplexConnection } from '../../../packages/sdk/src/transports/server/duplex-connection.ts'
import { nodeAdapter, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { initialize, initialized, meta, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

type Id = string | number

/** What one client sends requests on, and all that came back. */
interface Channel {
  call(id: Id, token: string): void
  /** Settles when the server has taken it. */
  cancel(id: Id): Promise<void>
  readonly answers: JsonObject[]
  close(): Promise<void>
}

const ids: readonly [Id, ...Id[]] = [1, '1', 0, '0', -1, '', '1.0', '__proto__', 'constructor', 'toString']
const stepsInSchedule = 50
const watchdogMs = 60_000

campaign(
  {
    id: 'ids-in-flight',
    chapter: 'Sessions and streams',
    claim: 'Of two concurrent requests with one id the first is answered and the second refused',
    trial: 'request, answer or cancellation at a random moment',
    trials: { test: 500, change: 1500, long: 60_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const ways = [inSession, stateless, overHttp]
    for (let schedule = 0; schedule * stepsInSchedule < campaignRun.trials; schedule++) {
      for (const way of ways.slice(schedule % 3, (schedule % 3) + 1)) await play(way, random, schedule)
    }
  },
)

/** Plays one schedule against what should come of it. */
async function play(
  way: (server: Server) => Promise<Channel>,
  random: Random,
  schedule: number,
): Promise<void> {
  const pending = new Map<string, () => void>()
  const channel = await way(holding(pending))
  const running = new Map<Id, string>()
  const expected: string[] = []
  for (let step = 0; step < stepsInSchedule; step++) {
    const id = random.pick(ids)
    const token = running.get(id)
    const chance = random.fraction()
    if (token === undefined || chance < 0.4) {
      const fresh = `${schedule}.${step}`
      channel.call(id, fresh)
      if (token === undefined) {
        running.set(id, fresh)
        await until(() => pending.has(fresh), watchdogMs)
      } else {
        expected.push(textFor(id, 'refused'))
      }
    } else {
      running.delete(id)
      if (chance < 0.6) {
        await channel.cancel(id)
        pending.get(token)?.()
      } else {
        expected.push(textFor(id, token))
        pending.get(token)?.()
      }
    }
    await until(() => channel.answers.length >= expected.length, watchdogMs)
  }
  for (const [id, token] of running) {
    expected.push(textFor(id, token))
    pending.get(token)?.()
  }
  await until(() => channel.answers.length >= expected.length, watchdogMs)
  await channel.close()
  const got = channel.answers.map((answer) => {
    const { error, result } = Object(answer)
    return textFor(Object(answer)['id'], error?.code === -32600 ? 'refused' : result?.content?.[0]?.text)
  })
  expect(got.sort(), `schedule ${schedule}`).toEqual(expected.sort())
}

const textFor = (id: Id, what: string): string => `${typeof id} ${id}: ${what}`

/** A server whose one tool returns its token when it is released. */
function holding(pending: Map<string, () => void>): Server {
  const waitForRelease = tool({
    input: z.object({ token: z.string() }),
    run: ({ token }) => new Promise<string>((resolve) => pending.set(token, () => resolve(token))),
  })
  return defineServer({ name: 'holding', version: '1.0.0', tools: { hold: waitForRelease } })
}

const request = (id: Id, token: string, more: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'hold', arguments: { token }, ...more },
})
const cancellation = (requestId: Id): JsonObject => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})

async function inSession(server: Server): Promise<Channel> {
  const answers: JsonObject[] = []
  const connection = new DuplexConnection(server, (message) => answers.push({ ...message }))
  connection.receive(initialize())
  connection.receive(initialized)
  await until(() => answers.length === 1, watchdogMs)
  answers.length = 0
  return {
    answers,
    call: (id, token) => connection.receive(request(id, token)),
    cancel: async (id) => {
      connection.receive(cancellation(id))
    },
    close: () => connection.shutdown(),
  }
}

async function stateless(server: Server): Promise<Channel> {
  const answers: JsonObject[] = []
  const connection = new DuplexConnection(server, (message) => answers.push({ ...message }))
  return {
    answers,
    call: (id, token) => connection.receive(request(id, token, { _meta: meta() })),
    cancel: async (id) => {
      connection.receive(cancellation(id))
    },
    close: () => connection.shutdown(),
  }
}

async function overHttp(server: Server): Promise<Channel> {
  const answers: JsonObject[] = []
  const mounted = await nodeAdapter(server)
  const own = await session(mounted)
  let open = Promise.resolve()
  const post = async (body: JsonObject): Promise<void> => {
    const answer = await own.post(body)
    const text = await answer.text()
    if (text.startsWith('{')) answers.push(JSON.parse(text))
    else answers.push(...answer.messages())
  }
  return {
    answers,
    call: (id, token) => {
      const posted = post(request(id, token))
      open = Promise.all([open, posted]).then(() => {})
    },
    cancel: (id) => post(cancellation(id)),
    close: async () => {
      await open
      await mounted.close()
    },
  }
}
