import { createServer } from 'node:http'
import { bearer, jwt } from '@jackfield/sdk/auth'
import { connect, http } from '@jackfield/sdk/client'
import { manual, oauth } from '@jackfield/sdk/client/auth'
import { serveHttp } from '@jackfield/sdk/http'
import { expect, onTestFinished, test } from 'vitest'
import { startAuthorizationServer } from '../auth-support/authorization-server.ts'
import { shop } from './support.ts'

const scopes = ['orders:read', 'orders:write']

/** A server on a port, its authorization server, and a way to sign in that needs no person. */
async function everything(options: { dpop: boolean; required: readonly string[] }) {
  const as = await startAuthorizationServer()
  const web = createServer()
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const address = web.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/mcp`
  as.addResource(url, { scopes })
  const { server, ran } = shop()
  const handler = serveHttp(server, {
    keys: ['k'.repeat(32)],
    authenticate: bearer({
      resource: url,
      authorizationServers: [as.issuer],
      verify: jwt({ issuer: as.issuer, requireType: true }),
      scopes: { required: options.required },
      ...(options.dpop ? { dpop: { required: true, nonces: true, algorithms: ['ES256', 'EdDSA'] } } : {}),
    }),
  })
  web.on('request', handler.node)
  onTestFinished(async () => {
    await handler.close()
    web.closeAllConnections()
    web.close()
    await as.close()
  })
  const redirect = manual({
    redirectUri: 'http://127.0.0.1/callback',
    ask: async (login) => {
      const { headers } = await fetch(login, { redirect: 'manual' })
      return headers.get('location') ?? ''
    },
  })
  return { as, url, ran, auth: oauth({ client: { name: 'A test' }, redirect }) }
}

test.each([
  ['2026-07-28', false],
  ['2026-07-28', true],
  ['2025-11-25', false],
  ['2025-11-25', true],
] as const)(
  'a client logs in, and logs in again for more scopes (%s, bound to a key: %s)',
  async (revision, dpop) => {
    const { as, url, ran, auth } = await everything({ dpop, required: ['orders:read'] })
    const client = await connect(http(url, { auth }), { revisions: [revision] })
    expect((await client.tools()).map(({ name }) => name)).toEqual(['whoami', 'sure'])
    expect(await client.call('refund', {})).toMatchObject({ content: [{ text: 'refunded' }] })
    expect(ran).toEqual(['refund'])
    const { content } = await client.call('whoami', {})
    expect(JSON.stringify(content)).toContain(`${as.issuer}|alice`)
    await client.close()
    expect(as.grants.map(({ scope }) => String(scope).split(' ').sort())).toEqual([['orders:read'], scopes])
  },
)

test('a client whose user refuses gets no access', async () => {
  const { as, url, auth } = await everything({ dpop: false, required: [] })
  as.denies = true
  await expect(connect(http(url, { auth }))).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
})
