import { bearer, jwt } from '@jackfield/sdk/auth'
import { expect, onTestFinished } from 'vitest'
import { challengeOf, shop } from '../../../packages/sdk/test/auth/support.ts'
import { type Answer, modern, nodeAdapter } from '../../../packages/sdk/test/serve/http-support.ts'
import { campaign } from '../campaign.ts'
import { Random } from '../random.ts'
import { forged, good, issuer, keys, mcp } from './forgery.ts'

/** A server that sets nothing but what it must, and how often its handlers ran. */
async function protectedShop() {
  const { server, ran } = shop()
  const authenticate = bearer({
    resource: mcp,
    authorizationServers: [issuer],
    verify: jwt({ issuer, keys }),
  })
  const mounted = await nodeAdapter(server, { authenticate })
  onTestFinished(() => mounted.close())
  const send = (token: string): Promise<Answer> =>
    mounted.send(modern('tools/call', { name: 'refund' }, { authorization: `Bearer ${token}` }))
  return { send, ran }
}

campaign(
  {
    id: 'forged-tokens',
    chapter: 'Authorization',
    claim: 'An invalid token is refused with a challenge, and no handler runs',
    trial: 'forged token',
    trials: { test: 150, change: 400, long: 40_000 },
  },
  async (campaignRun) => {
    const { send, ran } = await protectedShop()
    const random = new Random(campaignRun.seed)
    const kinds = Object.entries(forged)
    for (let trial = 0; trial < campaignRun.trials; trial++) {
      // Each kind comes in its turn; between them come good tokens with one bit turned.
      const [what, make] = kinds[trial % (kinds.length * 2)] ?? ['one bit turned', () => turned(random)]
      const token = make()
      const answer = await send(token)
      const where = `${what}, trial ${trial}: ${token.slice(0, 2000)}`
      expect(answer.status, where).toBe(401)
      expect(challengeOf(answer), where).toEqual({
        scheme: 'Bearer',
        params: {
          error: 'invalid_token',
          error_description: expect.stringContaining('The access token'),
          resource_metadata: 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp',
        },
      })
      expect(await answer.text(), where).not.toContain(token)
    }
    campaignRun.measured('kinds of forgery', kinds.length, 'kinds')
    expect(ran).toEqual([])
    const scope = 'orders:write orders:read'
    for (const withRsa of [false, true]) expect((await send(good(withRsa, { scope }))).status).toBe(200)
    expect(ran).toEqual(['refund', 'refund'])
  },
)

/** A good token with one bit turned, also where a signature has bits that mean nothing. */
function turned(random: Random): string {
  const token = good(random.fraction() < 0.5)
  for (;;) {
    const at = random.between(0, token.length - 1)
    const other = String.fromCharCode(token.charCodeAt(at) ^ (1 << random.between(0, 6)))
    if (/[\w-]/.test(other)) return token.slice(0, at) + other + token.slice(at + 1)
  }
}
