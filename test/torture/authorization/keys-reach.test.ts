import { jwt } from '@jackfield/sdk/auth'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { good, keys } from './forgery.ts'
import { answers, isReserved, spellings } from './spellings.ts'
import { onlyThisWeb, somewhere, type Web } from './web.ts'

const issuer = 'https://as.example'
const ways = ['direct', 'redirected', 'named', 'rebound'] as const

interface Case {
  readonly way: (typeof ways)[number]
  readonly spelling: string
}

const cases = ways.flatMap((way) => spellings.map((spelling): Case => ({ way, spelling })))
/** Shares no factor with the number of cases, so that steps of it come to each of them. */
const step = 7919

campaign(
  {
    id: 'keys-led-astray',
    chapter: 'Authorization',
    claim: 'No public authorization server makes a server fetch keys from a private address',
    trial: 'token of an authorization server that names such a place for its keys',
    trials: { test: 200, change: 600, long: cases.length },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const web = await onlyThisWeb()
    const first = random.between(0, cases.length - 1)
    let sound = 0
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const one = cases[(first + trial * step) % cases.length]
      if (one === undefined) throw new Error('No case')
      const answer = answers[random.between(0, answers.length - 1)] ?? '127.0.0.1'
      const where = `${one.way} to ${one.spelling} or ${answer}, trial ${trial}`
      const asked = play(web, one, answer)
      if (await isVerified()) sound++
      expect(web.reached.filter(isReserved), where).toEqual([])
      expect(asked, where).toContain('/.well-known/oauth-authorization-server')
      web.reached.length = 0
    }
    campaignRun.measured('spellings of hosts', spellings.length, 'spellings')
    campaignRun.measured('tokens that were verified all the same', sound, 'tokens')
    // Keys are still found where nothing leads astray, at whatever name.
    play(web, { way: 'named', spelling: '' }, somewhere)
    expect(await isVerified()).toBe(true)
  },
)

/** Whether a token of the issuer is verified; one that cannot be verified is reported as such, and never as invalid. */
async function isVerified(): Promise<boolean> {
  const verify = jwt({ issuer })
  try {
    expect(await verify(good(false, { iss: issuer }))).toMatchObject({ sub: 'alice' })
    return true
  } catch (error) {
    expect(error).toMatchObject({ name: 'McpError' })
    return false
  }
}

/** Makes the web one in which the issuer names a place for its keys; gives the paths that are asked for. */
function play(web: Web, { way, spelling }: Case, answer: string): readonly string[] {
  const asked: string[] = []
  const bad = way === 'direct' ? `https://${spelling}/keys` : 'https://trap.example/keys'
  web.names.clear()
  web.names.set('trap.example', way === 'named' ? [[answer]] : [[somewhere], [answer]])
  if (way === 'named' && answer !== somewhere && spelling.length % 2 === 0) {
    web.names.set('trap.example', [[somewhere, answer]])
  }
  web.answer = (request, response, { pathname }) => {
    request.resume()
    asked.push(pathname)
    if (pathname === '/keys' && way === 'redirected') {
      response.writeHead(307, { location: encodeURI(`https://${spelling}/keys`) }).end()
      return
    }
    const page = pathname === '/keys' ? keys : { issuer, jwks_uri: bad }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
  }
  return asked
}
