import { McpError } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { expect } from 'vitest'
import { begun, result, type Seen, scripted } from '../../../packages/sdk/test/client/support/http.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'

const parallel = 100
const passing = [500, 502, 503, 504] as const

/** A server that forgets its sessions, or fails for a while, on request. */
class Forgetful {
  runs = 0
  #session = 1
  #failing = 0
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  forget(): void {
    this.#session++
  }

  fail(times: number): void {
    this.#failing = times
  }

  receive(one: Seen): void {
    const { message, method, headers, res } = one
    if (begun(one, `s${this.#session}`)) return
    if (method === 'GET') res.writeHead(405).end()
    else if (this.#failing-- > 0) res.writeHead(this.#random.pick(passing)).end()
    else if (headers['mcp-session-id'] !== `s${this.#session}`) res.writeHead(404).end()
    else if (message.method === 'tools/call') {
      this.runs++
      result(one, { content: [] })
    } else result(one, { tools: [] })
  }
}

const list = (client: Client): Promise<unknown> => client.tools({ cache: 'bypass' })

campaign(
  {
    id: 'lost-session',
    chapter: 'Sessions and streams',
    claim: `A session that is lost under ${parallel} calls is started again once, and one behind a failing gateway is kept`,
    trial: 'session forgotten',
    trials: { test: 4, change: 8, long: 1_000 },
  },
  async ({ trials, seed }) => {
    const random = new Random(seed)
    const forgetful = new Forgetful(random)
    const server = await scripted((one) => forgetful.receive(one))
    const client = await connect(server.url, { revisions: ['2025-11-25'] })
    const begins = (): number => server.of('initialize').length
    await list(client)
    for (let trial = 1; trial <= trials; trial++) {
      const [before, runsBefore] = [begins(), forgetful.runs]
      forgetful.fail(3)
      for (const _ of [1, 2, 3]) {
        const failed = await client.call('pay').catch((error: unknown) => error)
        expect(failed).toBeInstanceOf(McpError)
        expect(failed).toMatchObject({ code: expect.stringMatching(/^(HTTP|OUTCOME_UNKNOWN)$/) })
      }
      await list(client)
      expect(begins(), `trial ${trial}: failures of a gateway end no session`).toBe(before)
      forgetful.forget()
      const calls = Array.from({ length: parallel }, (_, nth) =>
        nth % 2 === 0 ? list(client) : client.call('pay'),
      )
      await Promise.all(calls)
      expect(begins(), `trial ${trial}: one new session`).toBe(before + 1)
      expect(forgetful.runs, `trial ${trial}: each call ran once`).toBe(runsBefore + parallel / 2)
    }
    await client.close()
  },
)
