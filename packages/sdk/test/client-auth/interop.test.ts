import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, it, onTestFinished } from 'vitest'
import { type AuthorizationServer, startAuthorizationServer } from '../auth-support/authorization-server.ts'
import { open, type ProtectedServer, person, protectedServer } from './support/protected-server.ts'

/** A protected server whose tokens come from an authorization server that others wrote. */
async function protectedServerOf(as: AuthorizationServer): Promise<ProtectedServer & { expire(): void }> {
  onTestFinished(() => as.close())
  const seen = new Set<string>()
  const expired = new Set<string>()
  const one = Object.assign(await protectedServer(), {
    expire() {
      for (const token of seen) expired.add(token)
    },
  })
  as.addResource(one.url, { scopes: ['read', 'write'] })
  const keys = createRemoteJWKSet(new URL(`${as.issuer}/jwks`))
  one.resource = { resource: one.url, authorization_servers: [as.issuer], scopes_supported: ['read'] }
  one.allows = async (token, { method }) => {
    const checked = await jwtVerify(token, keys, { issuer: as.issuer, audience: one.url }).catch(
      () => undefined,
    )
    seen.add(token)
    if (checked === undefined || expired.has(token)) return false
    const scopes = String(checked.payload['scope']).split(' ')
    const wanted = method === 'tools/call' ? 'write' : 'read'
    return scopes.includes(wanted) || `Bearer error="insufficient_scope", scope="${wanted}"`
  }
  return one
}

it('logs in, refreshes and steps up at a third-party authorization server', async () => {
  const as = await startAuthorizationServer({ path: '/tenant' })
  const one = await protectedServerOf(as)
  const { auth, opened } = person()
  const client = await open(one, auth)
  await Promise.all(Array.from({ length: 10 }, () => client.call('x')))
  expect(opened).toHaveLength(2)
  expect(
    as.grants.filter(({ grantType }) => grantType === 'authorization_code').map(({ scope }) => scope),
  ).toEqual([expect.stringContaining('read'), expect.stringMatching(/read.*write|write.*read/)])
  one.expire()
  await client.call('x')
  expect(as.grants.at(-1)?.grantType).toBe('refresh_token')
  expect(opened).toHaveLength(2)
})

it('binds tokens to a key, with a nonce, at a third-party authorization server', async () => {
  const as = await startAuthorizationServer({ dpopNonces: true })
  const one = await protectedServerOf(as)
  const { auth, opened } = person({ dpop: true })
  const client = await open(one, auth)
  await client.call('x')
  expect(opened).toHaveLength(2)
  expect(one.calls[0]?.headers.authorization).toMatch(/^DPoP /)
})

it('gets the refusal of a user', async () => {
  const as = await startAuthorizationServer()
  const one = await protectedServerOf(as)
  as.denies = true
  await expect(open(one, person().auth)).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
    details: { error: 'access_denied', issuer: as.issuer },
  })
})
