import { describe, expect, test } from 'vitest'
import { adapters, modern, webAdapter } from '../serve/http-support.ts'
import { as, authenticated, issuer, mcp, metadataUrl, mounted, shop, tokenOf } from './support.ts'

const path = new URL(metadataUrl).pathname

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  test('the metadata names the issuers, for every client and origin', async () => {
    const authenticate = authenticated({
      scopes: { supported: ['orders:read'], required: ['mcp'] },
      name: 'The shop',
      documentation: 'https://example.com/docs',
      policy: 'https://example.com/policy',
      terms: 'https://example.com/terms',
    })
    const { send } = await mounted(mount, shop().server, { authenticate })
    const answer = await send({ method: 'GET', path, headers: { origin: 'https://evil.com' } })
    expect(answer.status).toBe(200)
    expect(answer.header('content-type')).toBe('application/json')
    expect(answer.header('access-control-allow-origin')).toBe('*')
    expect(await answer.json()).toEqual({
      resource: mcp,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: ['orders:read'],
      resource_name: 'The shop',
      resource_documentation: 'https://example.com/docs',
      resource_policy_uri: 'https://example.com/policy',
      resource_tos_uri: 'https://example.com/terms',
    })
  })

  test('a browser may send a preflight, and only reads are served', async () => {
    const { send } = await mounted(mount, shop().server, { authenticate: authenticated() })
    const preflight = await send({
      method: 'OPTIONS',
      path,
      headers: {
        origin: 'https://inspector.example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.header('access-control-allow-origin')).toBe('*')
    expect(preflight.header('access-control-allow-headers')).toBe('*')
    const post = await send({ path, body: {} })
    expect(post.status).toBe(405)
    expect(post.header('allow')).toBe('GET')
  })

  test('the Host is checked as well', async () => {
    const { send } = await mounted(mount, shop().server, { authenticate: authenticated() })
    expect((await send({ method: 'GET', path, headers: { host: 'evil.com' } })).status).toBe(403)
  })

  test('it is at the root only on request', async () => {
    const root = '/.well-known/oauth-protected-resource'
    const without = await mounted(mount, shop().server, { authenticate: authenticated() })
    expect((await without.send({ method: 'GET', path: root })).status).toBe(404)
    const also = await mounted(mount, shop().server, { authenticate: authenticated({ alsoAtRoot: true }) })
    const answers = await Promise.all([root, path].map((one) => also.send({ method: 'GET', path: one })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })

  test('a page of a listed origin may read challenges, and send the headers of a client', async () => {
    const origin = 'https://app.example.com'
    const { send } = await mounted(mount, shop().server, {
      authenticate: authenticated(),
      allowedOrigins: [origin],
    })
    const unauthorized = await send(modern('tools/list', {}, { origin }))
    const token = await tokenOf()
    const forbidden = await send(modern('tools/call', { name: 'refund' }, { origin, ...as(token) }))
    expect([unauthorized.status, forbidden.status]).toEqual([401, 403])
    for (const answer of [unauthorized, forbidden]) {
      expect(answer.header('access-control-allow-origin')).toBe(origin)
      expect(answer.header('access-control-expose-headers')).toContain('WWW-Authenticate')
    }
    const preflight = await send({
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-headers': 'authorization, dpop' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.header('access-control-allow-headers')).toBe('authorization, dpop')
  })
})

test('a resource at the root of its origin has its metadata there', async () => {
  const authenticate = authenticated({ resource: 'https://mcp.example.com' })
  expect([...(authenticate.documents?.keys() ?? [])]).toEqual(['/.well-known/oauth-protected-resource'])
  const { send } = await mounted(webAdapter, shop().server, { authenticate })
  const answer = await send({ method: 'GET', path: '/.well-known/oauth-protected-resource' })
  expect(await answer.json()).toMatchObject({ resource: 'https://mcp.example.com' })
})
