import { createServer, type IncomingMessage } from 'node:http'
import { introspection, jwt, type VerifyToken } from '@jackfield/sdk/auth'
import type { HttpCaller } from '@jackfield/sdk/http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { authenticated, inSeconds, issuer, keys, mcp, tokenOf } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: string | object
}

/** A scripted web server that records its requests. */
async function web(answer: (request: IncomingMessage, body: string) => Reply) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    asked.push(request.url ?? '')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const { status = 200, headers = {}, body = '' } = answer(request, Buffer.concat(chunks).toString())
    response.writeHead(status, headers)
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return { asked, origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` }
}

async function signer(kid: string | undefined, alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid === undefined ? {} : { kid }) }
  const sign = (iss: string, changed: JWTPayload = {}, header: object = {}): Promise<string> =>
    new SignJWT({ iss, sub: 'alice', aud: mcp, exp: inSeconds(300), ...changed })
      .setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }), ...header })
      .sign(privateKey)
  return { jwk, sign }
}

describe('jwt', () => {
  test.each([
    ['', ['/.well-known/oauth-authorization-server']],
    ['/tenant', ['/.well-known/oauth-authorization-server/tenant']],
    [
      '/oidc',
      ['oauth-authorization-server/oidc', 'openid-configuration/oidc'].map((path) => `/.well-known/${path}`),
    ],
  ])('finds the keys of an issuer at "%s" in its metadata, once', async (path, expected) => {
    const { jwk, sign } = await signer('a')
    const { origin, asked } = await web(({ url = '' }) => {
      if (url.startsWith('/keys')) return { body: { keys: [jwk] } }
      if (path === '/oidc' && !url.startsWith('/oidc/')) return { status: 404 }
      return { body: { issuer: `${origin}${path}`, jwks_uri: `${origin}/keys?v=1` } }
    })
    const verify = jwt({ issuer: `${origin}${path}` })
    const tokens = await Promise.all([1, 2, 3].map(() => sign(`${origin}${path}`)))
    const claims = await Promise.all(tokens.map((token) => verify(token)))
    expect(claims).toMatchObject([{ sub: 'alice' }, { sub: 'alice' }, { sub: 'alice' }])
    const last = path === '/oidc' ? ['/oidc/.well-known/openid-configuration'] : []
    expect(asked).toEqual([...expected, ...last, '/keys?v=1'])
  })

  test('accepts no keys from the metadata of another issuer, and retries only after a while', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { jwk, sign } = await signer('a')
    let name = 'https://evil.com'
    const { origin, asked } = await web(({ url }) =>
      url === '/keys' ? { body: { keys: [jwk] } } : { body: { issuer: name, jwks_uri: `${origin}/keys` } },
    )
    const verify = jwt({ issuer: origin })
    const token = await sign(origin)
    await expect(verify(token)).rejects.toMatchObject({ code: 'PROTOCOL' })
    await expect(verify(token)).rejects.toMatchObject({ code: 'PROTOCOL' })
    expect(asked).toHaveLength(2)
    expect(asked).not.toContain('/keys')
    name = origin
    vi.setSystemTime(Date.now() + 5000)
    expect(await verify(token)).toMatchObject({ sub: 'alice' })
  })

  test('accepts no keys over plain http from another machine', async () => {
    const { sign } = await signer('a')
    const { origin } = await web(() => ({ body: { issuer: origin, jwks_uri: 'http://keys.example.com/' } }))
    await expect(jwt({ issuer: origin })(await sign(origin))).rejects.toMatchObject({ code: 'INVALID' })
  })

  test('fetches keys again for an unknown key id, but not for every one', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const [old, next] = [await signer('old'), await signer('new')]
    let published = [old.jwk]
    const { origin, asked } = await web(() => ({ body: { keys: published } }))
    const verify = jwt({ issuer, jwksUri: `${origin}/keys` })
    expect(await verify(await old.sign(issuer))).toMatchObject({ sub: 'alice' })
    published = [next.jwk]
    const strangers = await Promise.all(Array.from({ length: 20 }, () => next.sign(issuer)))
    for (const token of strangers) expect(await verify(token)).toBeUndefined()
    expect(asked).toHaveLength(1)
    vi.setSystemTime(Date.now() + 31_000)
    expect(await verify(await next.sign(issuer))).toMatchObject({ sub: 'alice' })
    expect(await verify(await old.sign(issuer))).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test('does not fetch keys for every token while they are unavailable', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { jwk, sign } = await signer('a')
    let status = 503
    const { origin, asked } = await web(() => ({ status, body: { keys: [jwk] } }))
    const verify = jwt({ issuer, jwksUri: `${origin}/keys` })
    const token = await sign(issuer)
    for (let n = 0; n < 5; n++) await expect(verify(token)).rejects.toMatchObject({ code: 'HTTP' })
    expect(asked).toHaveLength(1)
    status = 200
    vi.setSystemTime(Date.now() + 5000)
    expect(await verify(token)).toMatchObject({ sub: 'alice' })
  })

  test('fetches nothing for tokens of other issuers', async () => {
    const { sign } = await signer('a')
    const { origin, asked } = await web(() => ({ body: { keys: [] } }))
    const verify = jwt({ issuer, jwksUri: `${origin}/keys` })
    for (const token of ['opaque', 'a.b.c', await sign('https://evil.com')]) {
      expect(await verify(token)).toBeUndefined()
    }
    expect(asked).toEqual([])
  })

  test.each<[string, Reply, string]>([
    ['are too large', { body: { keys: [], more: 'a'.repeat(300_000) } }, 'LIMIT'],
    ['are somewhere else', { status: 302, headers: { location: '/keys2' } }, 'HTTP'],
    ['are away', { status: 500 }, 'HTTP'],
    ['are no JSON', { body: '<html>' }, 'PROTOCOL'],
  ])('fails, without a verdict on the token, when the keys %s', async (_what, reply, code) => {
    const { sign } = await signer('a')
    const { origin, asked } = await web(() => reply)
    const token = await sign(issuer)
    const failure = await jwt({ issuer, jwksUri: `${origin}/keys` })(token).catch((error) => error)
    expect(failure).toMatchObject({ code })
    expect(String(failure.stack)).not.toContain(token)
    expect(asked).toEqual(['/keys'])
  })

  test('fails when nothing responds', async () => {
    const { sign } = await signer('a')
    const fetch = () => Promise.reject(new TypeError('fetch failed'))
    const verify = jwt({ issuer, jwksUri: 'https://as.example.com/keys', fetch })
    await expect(verify(await sign(issuer))).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })

  test('tries every matching key for a token without a key id', async () => {
    const all = await Promise.all([1, 2, 3].map(() => signer(undefined)))
    const verify = jwt({ issuer, keys: { keys: all.map(({ jwk }) => jwk) } })
    for (const { sign } of all) expect(await verify(await sign(issuer))).toMatchObject({ sub: 'alice' })
    expect(await verify(await (await signer(undefined)).sign(issuer))).toBeUndefined()
  })

  test('accepts tokens without a type, unless the type is required', async () => {
    const types = [
      undefined,
      'JWT',
      'jwt',
      'at+jwt',
      'AT+JWT',
      'application/at+jwt',
      'logout+jwt',
      'dpop+jwt',
    ]
    const taken = async (requireType: boolean) => {
      const verify = jwt({ issuer, keys, requireType })
      const tokens = await Promise.all(types.map((typ) => tokenOf({}, typ === undefined ? {} : { typ })))
      const claims = await Promise.all(tokens.map((token) => verify(token)))
      return types.filter((_, index) => claims[index] !== undefined)
    }
    expect(await taken(false)).toEqual([undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt'])
    expect(await taken(true)).toEqual(['at+jwt', 'AT+JWT', 'application/at+jwt'])
  })

  test('accepts only the configured algorithms, and no symmetric one', async () => {
    const { jwk, sign } = await signer('a', 'RS256')
    const token = await sign(issuer)
    expect(await jwt({ issuer, keys: { keys: [jwk] } })(token)).toBeDefined()
    expect(await jwt({ issuer, keys: { keys: [jwk] }, algorithms: ['PS256'] })(token)).toBeUndefined()
    expect(() => jwt({ issuer, keys, algorithms: ['HS256'] })).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    )
    expect(() => jwt({ issuer: 'http://as.example.com' })).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    )
  })
})

describe('introspection', () => {
  const client = { clientId: 'shop:1', clientSecret: 'pass word%' }

  test('asks the authorization server, with its own client credentials', async () => {
    const seen: string[] = []
    const { origin } = await web(({ headers }, body) => {
      seen.push(headers.authorization ?? '', body)
      return { body: { active: true, sub: 'alice', scope: 'a b' } }
    })
    const verify = introspection({ endpoint: `${origin}/introspect`, issuer, ...client })
    expect(await verify('opaque')).toEqual({ active: true, sub: 'alice', scope: 'a b', iss: issuer })
    expect(Buffer.from(seen[0]?.split(' ')[1] ?? '', 'base64').toString()).toBe('shop%3A1:pass+word%25')
    expect(seen[1]).toBe('token=opaque&token_type_hint=access_token')
  })

  test('supports other authentication methods', async () => {
    const seen: string[] = []
    const { origin } = await web(({ headers }, body) => {
      seen.push(String(headers['x-key']), body)
      return { body: { active: true } }
    })
    const auth = async ({ headers, form }: { headers: Headers; form: URLSearchParams }): Promise<void> => {
      headers.set('x-key', 'k')
      form.set('client_assertion', 'signed')
    }
    await introspection({ endpoint: origin, clientId: 'shop', auth })('opaque')
    expect(seen).toEqual(['k', 'token=opaque&token_type_hint=access_token&client_assertion=signed'])
  })

  test.each([
    ['is not active', { active: false, sub: 'alice' }],
    ['says so in another way', { active: 'true', sub: 'alice' }],
    ['says nothing', {}],
    ['is of another issuer', { active: true, iss: 'https://evil.com' }],
  ])('rejects a token that %s', async (_what, body) => {
    const { origin } = await web(() => ({ body }))
    expect(await introspection({ endpoint: origin, issuer, ...client })('opaque')).toBeUndefined()
  })

  test('accepts another issuer only if configured, so that none can name subjects of another', async () => {
    const { origin } = await web(() => ({ body: { active: true, sub: 'alice', aud: mcp, iss: issuer } }))
    const endpoint = `${origin}/introspect`
    const lets = (verify: VerifyToken) =>
      authenticated({ authorizationServers: [issuer, origin], verify: [jwt({ issuer, keys }), verify] })
    const opaque: HttpCaller = {
      method: 'POST',
      url: '/mcp',
      header: (name) => (name === 'authorization' ? 'Bearer opaque' : undefined),
      repeats: () => false,
    }
    expect(await lets(introspection({ endpoint, ...client }))(opaque)).toMatchObject({
      status: 503,
      because: { code: 'PROTOCOL', message: expect.stringContaining('"issuer"') },
    })
    expect(await lets(introspection({ endpoint, issuer, ...client }))(opaque)).toMatchObject({
      principal: `${issuer}|alice`,
    })
  })

  test('caches a response for a short time, and sends one request for concurrent checks', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    let active = true
    const { origin, asked } = await web(() => ({ body: { active, sub: 'alice' } }))
    const verify = introspection({ endpoint: origin, ...client })
    await Promise.all([1, 2, 3].map(() => verify('opaque')))
    active = false
    expect(await verify('opaque')).toBeDefined()
    expect(asked).toHaveLength(1)
    vi.setSystemTime(Date.now() + 10_001)
    expect(await verify('opaque')).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test('caches a bounded number of responses, and none at all on request', async () => {
    const { origin, asked } = await web(() => ({ body: { active: true, sub: 'alice' } }))
    let calls = 0
    const fetch = async (): Promise<Response> => {
      calls++
      return Response.json({ active: true })
    }
    const counted = introspection({ endpoint: origin, ...client, fetch })
    for (let i = 0; i <= 1000; i++) await counted(`token${i}`)
    await counted('token1000')
    expect(calls).toBe(1001)
    await counted('token0')
    expect(calls).toBe(1002)
    const never = introspection({ endpoint: origin, ...client, cacheMs: 0 })
    await never('opaque')
    await never('opaque')
    expect(asked).toHaveLength(2)
  })

  test('a failure is no verdict, and is not cached', async () => {
    let status = 503
    const { origin } = await web(() => ({ status, body: { active: true, sub: 'alice' } }))
    const verify = introspection({ endpoint: origin, ...client })
    const failure = await verify('a-secret-token').catch((error) => error)
    expect(failure).toMatchObject({ code: 'HTTP', details: { status: 503 } })
    expect(String(failure.stack)).not.toContain('a-secret-token')
    status = 200
    expect(await verify('a-secret-token')).toBeDefined()
  })

  test('useless options are rejected', () => {
    const invalid = expect.objectContaining({ code: 'INVALID' })
    expect(() => introspection({ endpoint: 'https://as.example.com', clientId: 'shop' })).toThrow(invalid)
    expect(() => introspection({ endpoint: 'http://as.example.com', ...client })).toThrow(invalid)
  })
})
