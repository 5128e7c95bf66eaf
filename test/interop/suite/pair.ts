import type { ProtocolVersion } from '@jackfield/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Fault } from '../tap/check.ts'
import { Bench } from './bench.ts'
import { type Case, casesFor } from './cases/index.ts'
import { type Deviation, deviations } from './deviations.ts'
import type { Offer } from './offer.ts'
import type { ClientKind, ServerAddress } from './test-client.ts'

/** A server that runs. */
export interface Running {
  readonly address: ServerAddress
  stop(): Promise<void>
}

/** One client and one server, connected over one transport at one revision. */
export interface Pair {
  readonly client: ClientKind
  readonly server: string
  /** Whether the server is the one under test. */
  readonly ourServer: boolean
  readonly transport: 'stdio' | 'http' | 'sse'
  readonly revision: ProtocolVersion
  /** What distinguishes this pair from another one of the same four. */
  readonly how?: string
  /** Whether the client allows no other revision. */
  readonly only?: boolean
  readonly offer: Offer
  start(): Promise<Running>
}

export const enough = 40
const caseMs = 15_000

export function nameOf({ client, server, transport, revision, how }: Pair): string {
  return `${client.name} with ${server} over ${transport} at ${revision}${how === undefined ? '' : ` ${how}`}`
}

/** The cases of a pair. */
export function casesOf({ client: kind, revision, transport, offer }: Pair): Case[] {
  return casesFor(offer, { kind, revision, transport })
}

/** What the foreign side of a pair is known to send although the schema does not allow it. */
function deviationsOf({ client, server, revision, transport, how }: Pair): Deviation[] {
  const peer = client.ours ? server : client.name
  return deviations.filter(
    ({ peers, revisions, transports, except }) =>
      peers.includes(peer) &&
      (revisions?.includes(revision) ?? true) &&
      (transports?.includes(transport) ?? true) &&
      (except === undefined || except !== how),
  )
}

/** Runs every case of a pair, and checks every message with the official schema. */
export function describePair(pair: Pair): void {
  const { client, ourServer } = pair
  const cases = casesOf(pair)
  describe(nameOf(pair), () => {
    let running: Running | undefined
    let bench: Bench
    const peerFaults: Fault[] = []

    beforeAll(async () => {
      running = await pair.start()
      bench = new Bench(pair, running.address)
      bench.begin()
    })

    afterAll(() => running?.stop())

    const check = (faults: Fault[]): void => {
      const isOurs = ({ from }: Fault): boolean => (from === 'client' ? client.ours : ourServer)
      peerFaults.push(...faults.filter((fault) => !isOurs(fault)))
      const own = faults
        .filter(isOurs)
        .map(({ method, what, message }) => ({ method, what, sent: JSON.stringify(message) }))
      expect(own, 'what this project sends fits the official schema').toEqual([])
    }

    afterEach(async () => {
      if (bench !== undefined) check(await bench.settle())
    })

    it(`has ${cases.length} cases`, () => {
      expect(cases.length).toBeGreaterThanOrEqual(enough)
      expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
    })

    for (const { name, run } of cases) it(name, () => run(bench), caseMs)

    it('has no deviations from the protocol but the known ones', async () => {
      check(await bench.close())
      expect(bench.checked).toBeGreaterThan(2 * cases.length)
      if (process.env['SHOW_FAULTS'] !== undefined) {
        for (const fault of peerFaults) console.log(nameOf(pair), JSON.stringify(fault))
      }
      const summarize = (faults: readonly { method: string; what: string }[]): string =>
        [...new Set(faults.map(({ method, what }) => `${method}: ${what}`))].sort().join('\n')
      expect(summarize(peerFaults)).toBe(summarize(deviationsOf(pair)))
    })
  })
}
