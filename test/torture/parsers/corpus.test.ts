import { expect } from 'vitest'
import { faultyPeer } from '../../setup/faulty-peer.ts'
import { campaign } from '../campaign.ts'
import { type Case, cases, type Era } from './cases.ts'
import { type Sees, seenByEvents, seenByFolding, seenByParse, seenByPython } from './readers.ts'
import { overHttp, overLines, type Seen } from './ways.ts'

const eras: readonly Era[] = ['session', 'stateless']
const newline = 10
const broken = 'it sends a corpus of messages that are broken in every way there is'

campaign(
  {
    id: 'strict-json',
    chapter: 'Parsers',
    claim: 'A message that is not exact JSON, or is ambiguous, runs nothing and is refused with its code',
    trial: 'message over standard streams, HTTP or a proxy, in either era',
    trials: { test: 1_200, change: 3_600, long: 3_600 },
  },
  async (campaignRun) => {
    faultyPeer(broken)
    let made = 0
    // In the tests each message takes one way in each era, and another one in the other era.
    const everyWay = campaignRun.trials >= 3_600
    for (const [nthEra, era] of eras.entries()) {
      for (const [nthWay, [where, open]] of (
        [
          ['lines', () => overLines(era)],
          ['HTTP', () => overHttp('http', era)],
          ['a proxy', () => overHttp('gateway', era)],
        ] as const
      ).entries()) {
        const way = await open()
        const wrong: string[] = []
        for (const [at, one] of cases(era).entries()) {
          if (!everyWay && (at + nthEra) % 3 !== nthWay) continue
          if (where === 'lines' && one.bytes.includes(newline)) continue
          made++
          const seen = await way.send(one)
          const due = where !== 'lines' && era === 'stateless' && one.unsayable ? mismatch(one) : one.outcome
          if (seen !== due) wrong.push(`${one.name}: ${due} was due, it was ${seen}`)
        }
        await way.close()
        expect(wrong, `${era} over ${where}`).toEqual([])
      }
    }
    campaignRun.setTrials(made)
    campaignRun.measured('messages in the corpus', cases('session').length, '')
  },
)

/** What is no message is refused for that; anything else for headers that do not say what it is about. */
function mismatch({ outcome }: Case): Case['outcome'] {
  return outcome === -32600 ? outcome : -32020
}

campaign(
  {
    id: 'parser-differential',
    chapter: 'Parsers',
    claim: 'Other JSON parsers, before our server or behind our proxy, see the same tool called that runs',
    trial: 'message through a server or a proxy, and other readers',
    trials: { test: 400, change: 800, long: 2_400 },
  },
  async (campaignRun) => {
    let made = 0
    for (const era of eras) {
      const nth = campaignRun.long ? 1 : campaignRun.trials < 800 ? 6 : 3
      const corpus = cases(era).filter((_, at) => at % nth === campaignRun.seed % nth)
      const before = readBy(corpus.map(({ bytes }) => bytes))
      const server = await overHttp('http', era)
      const proxied = await overHttp('gateway', era)
      await proxied.behind()
      for (const [at, one] of corpus.entries()) {
        const ran = toolOf(await server.send(one))
        const readers = [...before].map(([reader, sees]) => [reader, sees[at]] as const)
        const others = readers.filter(([, name]) => ran !== undefined && name !== undefined && name !== ran)
        expect(others, `${era}: ${one.name}, before the server`).toEqual([])
        const passed = toolOf(await proxied.send(one))
        for (const bytes of await proxied.behind()) {
          for (const reader of [seenByParse, seenByEvents, seenByFolding]) {
            const name = reader(bytes)
            if (name !== undefined)
              expect(name, `${era}: ${one.name}, behind the proxy`).toBe(passed ?? seenByParse(one.bytes))
          }
        }
        expect(passed, `${era}: ${one.name}, through the proxy`).toBe(ran)
        made += 2
      }
      campaignRun.measured(`readers of the ${era} corpus`, before.size, '')
      await server.close()
      await proxied.close()
    }
    campaignRun.setTrials(made)
  },
)

function readBy(messages: readonly Buffer[]): Map<string, Sees[]> {
  const python = seenByPython(messages)
  const all: [string, Sees[]][] = [
    ['JSON.parse', messages.map(seenByParse)],
    ['jsonc-parser', messages.map(seenByEvents)],
  ]
  if (python === undefined) console.warn('Without python3 its reader is left out of the comparison')
  else all.push(['Python', python])
  return new Map(all)
}

function toolOf(seen: Seen): Sees {
  return seen === 'safe' || seen === 'secret' ? seen : undefined
}
