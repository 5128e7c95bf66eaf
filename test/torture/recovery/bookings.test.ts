import { McpError, RpcError } from '@jackfield/sdk'
import { type Client, connect, type Round } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { memoryBackplane } from '@jackfield/sdk/testing'
import type { TravelServer } from '@jackfield/server-travel'
import { expect, onTestFinished } from 'vitest'
import { readJson, travelServer } from '../../../servers/travel/test/fixture.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { Cutter } from './cutting.ts'

const keys = ['a secret that two nodes of one service share']
/** One question, because a round that was used and whose answer was lost cannot be taken up again. */
const request = {
  destination: 'Barcelona',
  departure: '2027-06-15',
  returnDate: '2027-06-22',
  travelerDetails: 'skip' as const,
}
const perServer = 10
const maxTries = 50

/** What became of one wish to book. */
interface Booked {
  tries: number
  /** Whether the booking was answered, or had to be looked for. */
  answered: boolean
}

async function bookings(client: Client<TravelServer>): Promise<unknown[]> {
  const { bookings } = Object(await readJson(client, 'travel://bookings'))
  if (!Array.isArray(bookings)) throw new Error('no list of bookings')
  return bookings
}

/** Books once, whatever breaks: the round is kept, taken up again, and looked up where it was used. */
async function book(client: Client<TravelServer>, cutter: Cutter, before: number): Promise<Booked> {
  let round: Round | undefined
  for (let tries = 1; tries <= maxTries; tries++) {
    try {
      const onRound = (asked: Round): void => {
        round = asked
      }
      const { structuredContent } = await client.call('bookVacation', request, {
        onRound,
        ...(round === undefined ? {} : { resume: round }),
      })
      expect(structuredContent).toMatchObject({ status: 'booked' })
      return { tries, answered: true }
    } catch (error) {
      if (error instanceof RpcError) {
        cutter.end()
        expect(await bookings(client), `a used round was booked: ${error.message}`).toHaveLength(before + 1)
        return { tries, answered: false }
      }
      if (!(error instanceof McpError) || !mayHaveRun.has(error.code)) throw error
    }
  }
  throw new Error(`not booked after ${maxTries} tries`)
}

const mayHaveRun = new Set(['OUTCOME_UNKNOWN', 'CONNECT_FAILED'])

campaign(
  {
    id: 'bookings',
    chapter: 'Sessions and streams',
    claim: 'A booking whose answer is cut off is resumed until its outcome is known, and made once',
    trial: 'booking over connections that are cut after a random byte',
    trials: { test: 20, change: 40, long: 10_000 },
  },
  async ({ trials, seed, measured }) => {
    const random = new Random(seed)
    const most = { cuts: 0, again: 0, looked: 0 }
    for (let made = 0; made < trials; made += perServer) {
      const server = travelServer()
      const backplane = memoryBackplane()
      const nodes = await Promise.all(
        [1, 2].map(() => serveHttp(server, { keys, backplane, onWarning: () => {} }).listen()),
      )
      onTestFinished(() => Promise.all(nodes.map((node) => node.close())).then(() => {}))
      const [first, second] = nodes
      if (first === undefined || second === undefined) throw new Error('no nodes')
      const cutter = await Cutter.before([first.port, second.port], random)
      const client = await connect<TravelServer>(cutter.url, {
        revisions: ['2026-07-28'],
        onElicit: () => ({ action: 'accept', content: { confirmBooking: true } }),
      })
      for (let trial = 0; trial < Math.min(perServer, trials - made); trial++) {
        cutter.begin()
        const { tries, answered } = await book(client, cutter, trial)
        cutter.end()
        most.again += tries - 1
        most.looked += answered ? 0 : 1
        expect(await bookings(client), `trial ${made + trial}: booked once`).toHaveLength(trial + 1)
      }
      most.cuts += cutter.cuts
      await client.close()
    }
    measured('connections cut', most.cuts, '')
    measured('calls made again', most.again, '')
    measured('answers lost for good, and the booking found', most.looked, '')
  },
)
