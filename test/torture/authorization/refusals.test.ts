import { expect } from 'vitest'
import { authority } from '../../../packages/sdk/test/client-auth/support/authority.ts'
import {
  open,
  person,
  protectedServer,
} from '../../../packages/sdk/test/client-auth/support/protected-server.ts'
import { json, type Seen } from '../../../packages/sdk/test/client-auth/support/server.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { beforePosting, beforeTheCode, type Fault } from './faults.ts'

const posts = (seen: readonly Seen[]): string[] =>
  seen.filter(({ method }) => method === 'POST').map(({ url }) => url.pathname)

campaign(
  {
    id: 'unsafe-logins',
    chapter: 'Authorization',
    claim: 'A login that could be stolen or redirected fails before anything that could be abused is sent',
    trial: 'login at a server with one fault',
    trials: { test: 60, change: 180, long: 4_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    const faults = [...beforePosting, ...beforeTheCode]
    const late: ReadonlySet<Fault> = new Set(beforeTheCode.map(([, fault]) => fault))
    const first = random.between(0, faults.length - 1)
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const [what, fault] = faults[(first + trial) % faults.length] ?? ['nothing', (): void => {}]
      const where = `${what}, trial ${trial}`
      const one = await protectedServer()
      fault(one, one.as)
      const { auth, opened } = person()
      const error: unknown = await open(one, auth).catch((reason: unknown) => reason)
      expect(error, where).toMatchObject({ code: 'UNAUTHORIZED' })
      expect(String(error), where).not.toContain('555-0100')
      const early = !late.has(fault)
      expect(opened.length, where).toBe(early ? 0 : 1)
      expect(posts(one.as.seen), where).toEqual(early ? [] : ['/register'])
      expect(one.calls, where).toEqual([])
      one.close()
      one.as.close()
    }
    campaignRun.measured('kinds of fault', faults.length, 'kinds')
  },
)

campaign(
  {
    id: 'changed-authorization-server',
    chapter: 'Authorization',
    claim: 'Credentials of one authorization server are never sent to its replacement',
    trial: 'change of the authorization server',
    trials: { change: 15, long: 2_000 },
  },
  async (campaignRun) => {
    const random = new Random(campaignRun.seed)
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      const where = `trial ${trial}`
      const [first, second] = [await authority(), await authority(random.pick(['', '/tenant']))]
      const one = await protectedServer(first)
      const word = `first-${random.between(1, 1e9)}`
      first.metadata = {
        token_endpoint_auth_methods_supported: [
          random.pick(['none', 'client_secret_post', 'client_secret_basic']),
        ],
      }
      first.onRegister = ({ res, body }) => {
        const asked: object = JSON.parse(body)
        json(res, { ...asked, client_id: `${word}-client`, client_secret: `${word}-secret` }, 201)
        return true
      }
      first.token = {
        access_token: `${word}-access`,
        refresh_token: `${word}-refresh`,
        expires_in: random.pick([1, 3600]),
      }
      let atFirst = true
      one.allows = (token) => (atFirst ? token === `${word}-access` : second.good.has(token))
      const byHand = random.fraction() < 0.3
      const registered = { issuer: first.issuer, clientId: `${word}-client`, clientSecret: `${word}-secret` }
      const { auth } = person(byHand ? { client: { name: 'test', registered } } : {})
      const client = await open(one, auth)
      await client.call('x')
      const secrets = first.seen.flatMap(({ params }) =>
        ['code', 'code_verifier', 'state', 'code_challenge'].flatMap((name) => params.getAll(name)),
      )
      expect(secrets.length, where).toBeGreaterThan(3)

      atFirst = false
      one.resource = { ...one.resource, authorization_servers: [second.issuer] }
      // A metadata document may say what it likes about the other server.
      if (random.fraction() < 0.5) second.metadata = { revocation_endpoint: `${first.issuer}/revoke` }
      const postsBefore = posts(first.seen).length
      const again = await client.call('x').catch((reason: unknown) => reason)
      if (byHand) expect(again, where).toMatchObject({ code: 'UNAUTHORIZED' })
      else expect(one.calls, where).toHaveLength(2)
      const wire = JSON.stringify(second.seen.map(({ url, headers, body }) => [url.href, headers, body]))
      for (const secret of [word, ...secrets.filter((text) => text.length > 8)]) {
        expect(wire, where).not.toContain(secret)
        expect(decoded(second.seen), where).not.toContain(secret)
      }
      expect(posts(second.seen), where).toHaveLength(byHand ? 0 : 2)
      expect(
        posts(first.seen)
          .slice(postsBefore)
          .filter((path) => path !== '/token'),
        where,
      ).toEqual([])
      await client.close()
      for (const server of [one, first, second]) server.close()
    }
  },
)

/** The content of HTTP Basic credentials. */
function decoded(seen: readonly Seen[]): string {
  return seen
    .map(({ headers }) =>
      Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString(),
    )
    .join(' ')
}
