import type { ServerResponse } from 'node:http'
import { type Authorization, oauth } from '@jackfield/sdk/client/auth'
import { expect } from 'vitest'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { answers, isReserved, spellings } from './spellings.ts'
import { onlyThisWeb, somewhere, type Web } from './web.ts'

const server = 'https://mcp.example/mcp'
const issuer = 'https://as.example'
const fields = [
  'resource_metadata',
  'authorization_servers',
  'registration_endpoint',
  'token_endpoint',
  'authorization_endpoint',
  'revocation_endpoint',
  'jwks_uri',
] as const
const ways = ['direct', 'redirected', 'named', 'rebound'] as const

interface Case {
  readonly field: (typeof fields)[number]
  readonly way: (typeof ways)[number]
  readonly spelling: string
}

const cases = fields.flatMap((field) =>
  ways.flatMap((way) => spellings.map((spelling): Case => ({ field, way, spelling }))),
)
/** Shares no factor with the number of cases, so that steps of it come to each of them. */
const step = 7919

campaign(
  {
    id: 'led-astray',
    chapter: 'Authorization',
    claim: 'No public server makes a client connect to a private address',
    trial: 'login or logout at a server that names one',
    trials: { test: 200, change: 1_500, long: cases.length },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const web = await onlyThisWeb()
    const first = random.between(0, cases.length - 1)
    let completed = 0
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const one = cases[(first + trial * step) % cases.length]
      if (one === undefined) throw new Error('No case')
      const answer = answers[random.between(0, answers.length - 1)] ?? '127.0.0.1'
      const where = `${one.field} ${one.way} to ${one.spelling} or ${answer}, trial ${trial}`
      const challenge = play(web, one, answer)
      const { opened, error } = await loginAndOut(challenge)
      expect(web.reached.filter(isReserved), where).toEqual([])
      expect(opened.map(({ hostname }) => hostname).filter(leadsAway(one)), where).toEqual([])
      if (error === undefined) completed++
      web.reached.length = 0
    }
    campaignRun.measured('spellings of hosts', spellings.length, 'spellings')
    campaignRun.measured('logins that were sound all the same', completed, 'logins')
    // A login is still possible where nothing leads astray, and what can do no harm does not hinder one.
    expect(completed).toBeGreaterThan(0)
    play(web, { field: 'token_endpoint', way: 'named', spelling: '' }, somewhere)
    expect(await loginAndOut('Bearer')).toMatchObject({ error: undefined, revoked: 'revoked' })
    expect(new Set(web.reached)).toEqual(new Set([somewhere]))
  },
)

/** Whether a page that is opened is one the case leads astray to; how a name resolves later depends on the browser. */
function leadsAway({ way, field }: Case): (host: string) => boolean {
  return (host) =>
    field === 'authorization_endpoint' && way !== 'rebound' && host !== 'as.example' && way !== 'redirected'
}

/** Makes the web one in which a field leads astray; gives the challenge of the server. */
function play(web: Web, { field, way, spelling }: Case, answer: string): string {
  const bad =
    way === 'direct'
      ? `https://${spelling}/x`
      : way === 'redirected'
        ? `${issuer}/hop`
        : 'https://trap.example/x'
  web.names.clear()
  web.names.set('trap.example', way === 'named' ? [[answer]] : [[somewhere], [answer]])
  // One sound address among the answers makes none of the others sound.
  if (way === 'named' && answer !== somewhere && spelling.length % 2 === 0) {
    web.names.set('trap.example', [[somewhere, answer]])
  }
  const resource = {
    resource: server,
    authorization_servers: [field === 'authorization_servers' ? bad : issuer],
  }
  const described = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    jwks_uri: `${issuer}/keys`,
    code_challenge_methods_supported: ['S256'],
    ...(field === 'resource_metadata' || field === 'authorization_servers' ? {} : { [field]: bad }),
  }
  const issued = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer', expires_in: 3600 }
  const pages: Readonly<Record<string, object>> = {
    '/mcp': resource,
    '/x': { ...resource, ...issued },
    '/.well-known/oauth-protected-resource/mcp': resource,
    '/.well-known/oauth-authorization-server': described,
    '/register': { client_id: 'c' },
    '/token': issued,
    '/revoke': {},
  }
  web.answer = (request, response, url) => {
    request.resume()
    const { pathname } = url
    const led =
      way === 'redirected' &&
      (pathname.startsWith('/hop') || pathname.startsWith('/.well-known/oauth-authorization-server/hop'))
    if (led)
      return redirect(
        response,
        url.searchParams.has('again') ? `https://${spelling}/x` : `${issuer}/hop?again`,
      )
    const page = pages[pathname]
    const status = page === undefined ? 404 : pathname === '/register' ? 201 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(page ?? {}))
  }
  return field === 'resource_metadata' ? `Bearer resource_metadata="${bad}"` : 'Bearer'
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location: encodeURI(location) }).end()
}

/** Logs in as the server asks for, and out again; a person agrees to everything. */
async function loginAndOut(
  challenge: string,
): Promise<{ opened: URL[]; error: unknown; revoked: string | undefined }> {
  const opened: URL[] = []
  const auth: Authorization = oauth({
    client: { name: 'test' },
    redirect: {
      begin: async () => ({
        uri: 'http://127.0.0.1:3456/callback',
        open: async (url) => {
          opened.push(url)
          return new URL(`http://127.0.0.1:3456/callback?code=c&state=${url.searchParams.get('state')}`)
        },
        close: async () => {},
      }),
    },
  })
  const headers = new Headers({ 'www-authenticate': Buffer.from(challenge).toString('latin1') })
  const refusal = { status: 401, headers, sent: {}, method: 'POST', url: new URL(server), background: false }
  const never = new AbortController().signal
  const error: unknown = await auth.refused(refusal, never).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const { outcome } = await auth.revoke(server)
  if (error !== undefined) expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
  return { opened, error, revoked: outcome }
}
