import { describe, expect, it } from 'vitest'
import { authority } from './support/authority.ts'
import { open, type ProtectedServer, person, protectedServer } from './support/protected-server.ts'

describe('the metadata URL of a resource', () => {
  it.each([
    ['quoted', (url: string) => `Bearer resource_metadata="${url}"`],
    ['after commas in quotes', (url: string) => `Bearer realm="a, b", resource_metadata="${url}"`],
    ['after quotes in quotes', (url: string) => `Bearer realm="a\\", x=\\"", resource_metadata="${url}"`],
    ['in other cases', (url: string) => `bEaReR Resource_Metadata="${url}"`],
    ['without quotes', (url: string) => `Bearer resource_metadata=${url}`],
    ['with blanks about', (url: string) => `Bearer  realm = "x" ,  resource_metadata = "${url}"`],
    ['behind another challenge', (url: string) => `Basic realm="x", Bearer resource_metadata="${url}"`],
    ['behind a token challenge', (url: string) => `Negotiate YWJj==, Bearer resource_metadata="${url}"`],
    ['behind a bare scheme', (url: string) => `Negotiate, Bearer resource_metadata="${url}"`],
    ['before another challenge', (url: string) => `Bearer resource_metadata="${url}", Basic realm="y"`],
    ['in a header of its own', (url: string) => ['Basic realm="x"', `Bearer resource_metadata="${url}"`]],
  ])('is in the challenge: %s', async (_, challenge) => {
    const one = await protectedServer()
    one.resourcePath = '/elsewhere/about.json'
    one.challenge = challenge(`${one.origin}/elsewhere/about.json`)
    const { auth, opened } = person()
    await open(one, auth)
    expect(opened).toHaveLength(1)
    expect(one.seen.filter(({ method }) => method === 'GET').map(({ url }) => url.pathname)).toEqual([
      '/elsewhere/about.json',
    ])
  })

  it.each([
    ['the path', '/.well-known/oauth-protected-resource/mcp', 1],
    ['the root', '/.well-known/oauth-protected-resource', 2],
  ])('is the well-known URL of %s', async (_, place, tries) => {
    const one = await protectedServer()
    one.resourcePath = place
    await open(one, person().auth)
    const gets = one.seen.filter(({ method }) => method === 'GET').map(({ url }) => url.pathname)
    expect(gets).toEqual(
      ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'].slice(0, tries),
    )
  })

  it('is not guessed when the challenge has one', async () => {
    const one = await protectedServer()
    one.challenge = `Bearer resource_metadata="${one.origin}/gone"`
    await expect(open(one, person().auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('/gone'),
    })
    expect(one.as.seen).toEqual([])
  })
})

describe('the resource parameter', () => {
  it.each([
    ['the server', '/mcp'],
    ['the server with a slash', '/mcp/'],
    ['its origin', ''],
    ['its origin with a slash', '/'],
  ])('may be %s, and is sent literally in both requests', async (_, path) => {
    const one = await protectedServer()
    const resource = `${one.origin}${path}`
    one.resource = { ...one.resource, resource }
    const { auth, opened } = person()
    await open(one, auth)
    expect(opened[0]?.searchParams.get('resource')).toBe(resource)
    expect(one.as.at('/token')[0]?.params.get('resource')).toBe(resource)
  })

  it.each([
    ['another origin', () => 'https://other.example/mcp'],
    ['another port', (origin: string) => `${origin}0/mcp`],
    ['another path', (origin: string) => `${origin}/other`],
    ['half a segment', (origin: string) => `${origin}/mc`],
    ['a deeper path', (origin: string) => `${origin}/mcp/more`],
    ['a fragment', (origin: string) => `${origin}/mcp#x`],
    ['a query', (origin: string) => `${origin}/mcp?x`],
    ['a password', (origin: string) => `${origin.replace('//', '//a:b@')}/mcp`],
    ['nothing', () => undefined],
  ])('of %s ends the attempt before the user is asked', async (_, resource) => {
    const one = await protectedServer()
    one.resource = { ...one.resource, resource: resource(one.origin) }
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    expect(opened).toEqual([])
    expect(one.as.seen).toEqual([])
  })
})

describe('server text about the login', () => {
  const long = 'x'.repeat(60_000)
  it.each([
    [
      'the resource',
      '\u009b2J\u202e',
      (one: ProtectedServer, text: string) => {
        one.resource = { resource: text }
      },
    ],
    [
      'the resource',
      long,
      (one: ProtectedServer, text: string) => {
        one.resource = { resource: text }
      },
    ],
    [
      'the issuer',
      '/\u001b[2J',
      (one: ProtectedServer, text: string) => {
        one.resource = { ...one.resource, authorization_servers: [`${one.as.origin}${text}`] }
      },
    ],
    [
      'the issuer',
      `/${long}`,
      (one: ProtectedServer, text: string) => {
        one.resource = { ...one.resource, authorization_servers: [`${one.as.origin}${text}`] }
      },
    ],
    [
      'the issuer of the metadata',
      '\u009b2J\u202e',
      (one: ProtectedServer, text: string) => {
        one.as.metadata = { issuer: text }
      },
    ],
  ])('is one short line in an error: %s', async (_, text, expected) => {
    const one = await protectedServer()
    expected(one, text)
    const error: unknown = await open(one, person().auth).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
    const message = error instanceof Error ? error.message : ''
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(message.length).toBeLessThan(1_000)
  })
})

describe('the authorization server', () => {
  const oauth2 = '/.well-known/oauth-authorization-server'
  const oidc = '/.well-known/openid-configuration'

  it.each([
    ['', oauth2, [oauth2]],
    ['', oidc, [oauth2, oidc]],
    ['/tenant', `${oauth2}/tenant`, [`${oauth2}/tenant`]],
    ['/tenant', `${oidc}/tenant`, [`${oauth2}/tenant`, `${oidc}/tenant`]],
    ['/tenant', `/tenant${oidc}`, [`${oauth2}/tenant`, `${oidc}/tenant`, `/tenant${oidc}`]],
  ])('with the issuer path "%s" has its metadata at %s', async (path, place, tried) => {
    const one = await protectedServer(await authority(path))
    one.as.metadataPath = place
    await open(one, person().auth)
    const asked = one.as.seen.map(({ url }) => url.pathname).filter((name) => name.includes('.well-known'))
    expect(asked).toEqual(tried)
  })

  it.each([
    ['another issuer', (issuer: string) => issuer.replace('127.0.0.1', 'localhost')],
    ['a slash more', (issuer: string) => `${issuer}/`],
    ['another case', (issuer: string) => issuer.replace('http', 'HTTP')],
  ])('whose metadata names %s is not used', async (_, issuer) => {
    const one = await protectedServer()
    one.as.metadata = { issuer: issuer(one.as.issuer) }
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      details: { issuer: one.as.issuer },
    })
    expect(opened).toEqual([])
    expect(one.as.at('/register')).toEqual([])
  })

  it('without metadata is an error if the server names it', async () => {
    const one = await protectedServer()
    one.as.metadataPath = '/nowhere'
    await expect(open(one, person().auth)).rejects.toThrow(/which publishes no metadata/)
  })

  it('is the server itself if there is no metadata at all (2025-03-26)', async () => {
    const as = await authority()
    as.metadataPath = '/nowhere'
    const one = await protectedServer(as)
    one.resource = undefined
    const handle = one.as
    // The presumed endpoints are on the server's own origin, so requests for them are handed over.
    const { auth, opened } = person({
      fetch: (url, init) =>
        fetch(
          ['/token', '/register'].includes(url.pathname) ? new URL(url.pathname, handle.origin) : url,
          init,
        ),
      redirect: {
        begin: async () => ({
          uri: 'http://127.0.0.1:3456/callback',
          async open(url) {
            opened.push(url)
            const moved = new URL(`${url.pathname}${url.search}`, handle.origin)
            const { headers } = await fetch(moved, { redirect: 'manual' })
            const back = new URL(headers.get('location') ?? '')
            back.searchParams.delete('iss')
            return back
          },
          close: async () => {},
        }),
      },
    })
    await open(one, auth)
    const [page] = opened
    expect(`${page?.origin}${page?.pathname}`).toBe(`${one.origin}/authorize`)
    expect(page?.searchParams.get('code_challenge_method')).toBe('S256')
    expect(page?.searchParams.get('resource')).toBe(one.url)
  })

  it.each([
    [404, '', 'requires a token, and names no authorization server that issues one'],
    [405, '', 'requires a token, and names no authorization server that issues one'],
    [401, 'No token', 'requires a token, and names no authorization server that issues one'],
    [403, '{"message":"no"}', 'requires a token, and names no authorization server that issues one'],
    [403, '{"error":"access_denied"}', 'refused to register this client'],
  ])(
    'is said to be missing if the server has no endpoint for a registration either: %i %s',
    async (status, body, message) => {
      const one = await protectedServer()
      one.resource = undefined
      const { auth } = person({
        fetch: (url, init) =>
          url.pathname === '/register' ? Promise.resolve(new Response(body, { status })) : fetch(url, init),
      })
      await expect(open(one, auth)).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining(message),
      })
    },
  )

  it('is the one this client is registered with, of several', async () => {
    const one = await protectedServer()
    one.resource = { ...one.resource, authorization_servers: ['https://other.example', one.as.issuer] }
    const registered = { issuer: one.as.issuer, clientId: 'by-hand' }
    const { auth, opened } = person({ client: { name: 'test', registered } })
    await open(one, auth)
    expect(opened[0]?.searchParams.get('client_id')).toBe('by-hand')
    expect(one.as.at('/register')).toEqual([])
  })
})
