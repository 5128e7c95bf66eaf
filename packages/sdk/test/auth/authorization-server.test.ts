import { bearer, introspection, jwt } from '@jackfield/sdk/auth'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from '../auth-support/authorization-server.ts'
import { refresh, signIn, type Tokens } from '../auth-support/sign-in.ts'
import { type Adapter, type Ask, adapters, type Mounted, modern } from '../serve/http-support.ts'
import { prover } from './dpop-support.ts'
import { as, challengeOf, mcp, mounted, shop } from './support.ts'

const scopes = ['orders:read', 'orders:write']
const service = {
  client_id: 'shop-server',
  client_secret: 'a-secret-of-the-server',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
}

async function start(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const server = await startAuthorizationServer({ clients: [service], ...options })
  onTestFinished(() => server.close())
  server.addResource(mcp, { scopes })
  server.addResource('https://other.example.com', { scopes })
  return server
}

function protect(mount: Adapter, server: AuthorizationServer, dpop = false): Promise<Mounted> {
  const { issuer } = server
  const authenticate = bearer({
    resource: mcp,
    authorizationServers: [issuer],
    verify: jwt({ issuer, requireType: true }),
    ...(dpop ? { dpop: true } : {}),
  })
  return mounted(mount, shop().server, { authenticate })
}

const refund = (tokens: Pick<Tokens, 'accessToken'>): Ask =>
  modern('tools/call', { name: 'refund' }, as(tokens.accessToken))

describe.each(adapters)('over the %s adapter, with an authorization server', (_adapter, mount) => {
  test('a user logs in, needs more scopes, logs in again and continues', async () => {
    const server = await start()
    const { send } = await protect(mount, server)
    const first = await signIn(server, { resource: mcp, scope: 'orders:read' })
    const refused = await send(refund(first))
    expect(refused.status).toBe(403)
    const { scope } = challengeOf(refused).params
    const more = await signIn(server, { resource: mcp, scope: scope ?? '', clientId: first.clientId })
    expect((await send(refund(more))).status).toBe(200)
  })

  test('refreshed tokens keep working, and those of other resources never do', async () => {
    const server = await start()
    const { send } = await protect(mount, server)
    const tokens = await signIn(server, { resource: mcp, scope: scopes.join(' ') })
    const renewed = await refresh(server, tokens, mcp)
    expect((await send(refund(renewed))).status).toBe(200)
    const foreign = await signIn(server, { resource: 'https://other.example.com', scope: scopes.join(' ') })
    expect((await send(refund(foreign))).status).toBe(401)
  })

  test('a service has its own token, and is its own principal', async () => {
    const server = await start()
    const { send } = await protect(mount, server)
    const response = await fetch(`${server.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${service.client_id}:${service.client_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: mcp, scope: 'orders:read' }),
    })
    const { access_token } = await response.json()
    const answer = await send(modern('tools/call', { name: 'whoami' }, as(access_token)))
    expect(await answer.text()).toContain(`${server.issuer}|shop-server`)
  })

  test('opaque tokens are introspected, until they are revoked', async () => {
    const server = await start()
    server.addResource(mcp, { scopes, format: 'opaque' })
    const { issuer } = server
    const verify = introspection({
      endpoint: `${issuer}/token/introspection`,
      issuer,
      clientId: service.client_id,
      clientSecret: service.client_secret,
      cacheMs: 0,
    })
    const authenticate = bearer({ resource: mcp, authorizationServers: [issuer], verify })
    const { send } = await mounted(mount, shop().server, { authenticate })
    const tokens = await signIn(server, { resource: mcp, scope: scopes.join(' ') })
    expect((await send(refund(tokens))).status).toBe(200)
    const form = { token: tokens.accessToken, client_id: tokens.clientId }
    await fetch(`${issuer}/token/revocation`, { method: 'POST', body: new URLSearchParams(form) })
    expect((await send(refund(tokens))).status).toBe(401)
    expect((await send(refund({ accessToken: 'made-up' }))).status).toBe(401)
  })

  test('tokens that are bound to a key need that key', async () => {
    const server = await start()
    const { send } = await protect(mount, server, true)
    const key = await prover()
    const proof = () => key.prove({ method: 'POST', url: `${server.issuer}/token` })
    const headers = async () => ({ dpop: await proof() })
    const { accessToken: token } = await signIn(server, { resource: mcp, scope: scopes.join(' '), headers })
    const call = async (by = key): Promise<Ask> => {
      const dpop = await by.prove({ method: 'POST', url: mcp, token })
      return modern('tools/call', { name: 'refund' }, { ...as(token, 'DPoP'), dpop })
    }
    expect((await send(await call())).status).toBe(200)
    expect((await send(await call(await prover()))).status).toBe(401)
    expect((await send(refund({ accessToken: token }))).status).toBe(401)
  })
})

test('the authorization server rejects the login when the user does, and names itself', async () => {
  const server = await start({ path: '/tenant' })
  server.denies = true
  const issuer = encodeURIComponent(server.issuer)
  await expect(signIn(server, { resource: mcp })).rejects.toThrow(
    new RegExp(`error=access_denied.*iss=${issuer}`),
  )
  server.denies = false
  expect(await signIn(server, { resource: mcp, scope: 'orders:read' })).toMatchObject({
    scope: 'orders:read',
  })
})

test('a refresh token can be used once', async () => {
  const server = await start()
  const tokens = await signIn(server, { resource: mcp, scope: 'orders:read' })
  await refresh(server, tokens, mcp)
  await expect(refresh(server, tokens, mcp)).rejects.toThrow('invalid_grant')
  expect(server.grants.map(({ grantType }) => grantType)).toEqual(['authorization_code', 'refresh_token'])
})
