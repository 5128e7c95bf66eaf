import { memoryStore, oauth } from '@jackfield/sdk/client/auth'
import { describe, expect, it } from 'vitest'
import { authority } from './support/authority.ts'
import { open, person, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

describe('a login', () => {
  it('uses PKCE, state, resource and scopes, and the call succeeds', async () => {
    const one = await protectedServer()
    one.challenge = 'Bearer scope="read  write read"'
    const { auth, opened } = person()
    const client = await open(one, auth)
    await client.call('x')
    const [page] = opened
    expect(Object.fromEntries(page?.searchParams ?? [])).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: 'http://127.0.0.1:3456/callback',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{22,}$/),
      resource: one.url,
      scope: 'read write',
    })
    expect(one.calls[0]?.headers.authorization).toMatch(/^Bearer access-\d+-secret$/)
    expect(one.seen.every(({ url }) => !url.search.includes('secret'))).toBe(true)
  })

  it('uses new secrets each time', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    await auth.forget(one.url)
    await client.call('x')
    const [first, second] = opened.map(({ searchParams }) => [
      searchParams.get('state'),
      searchParams.get('code_challenge'),
    ])
    expect(second?.some((value) => first?.includes(value))).toBe(false)
  })

  it.each([
    ['the scopes of the challenge', 'Bearer scope="a b"', ['c'], undefined, 'a b'],
    ['the scopes of the resource if the challenge has none', 'Bearer', ['c', 'd'], undefined, 'c d'],
    ['no scopes if neither has any', 'Bearer', undefined, undefined, null],
    [
      'the scopes of the challenge, and offline_access if the server supports it',
      'Bearer scope="a"',
      undefined,
      ['a', 'offline_access'],
      'a offline_access',
    ],
    [
      'no scopes if neither has any, although the server supports offline_access',
      'Bearer',
      undefined,
      ['offline_access'],
      null,
    ],
  ])('requests %s', async (_, challenge, ofResource, ofServer, asked) => {
    const one = await protectedServer()
    one.challenge = challenge
    one.resource = { ...one.resource, scopes_supported: ofResource }
    one.as.metadata = { scopes_supported: ofServer }
    const { auth, opened } = person()
    await open(one, auth)
    expect(opened[0]?.searchParams.get('scope')).toBe(asked)
  })

  it('does not start without PKCE support', async () => {
    for (const methods of [undefined, [], ['plain']]) {
      const one = await protectedServer()
      one.as.metadata = { code_challenge_methods_supported: methods }
      const { auth, opened } = person()
      await expect(open(one, auth)).rejects.toThrow(/PKCE/)
      expect(opened).toEqual([])
      expect(one.as.at('/register')).toEqual([])
    }
  })

  it('is not repeated for a call that was only denied', async () => {
    const one = await protectedServer()
    const { auth, opened } = person()
    const client = await open(one, auth)
    one.allows = (token, { method }) =>
      one.as.good.has(token) && (method !== 'tools/call' || 'Bearer error="other"')
    await expect(client.call('x')).rejects.toMatchObject({ code: 'UNAUTHORIZED', details: { status: 403 } })
    expect(opened).toHaveLength(1)
  })

  it('is not repeated for a server that rejects the tokens of its own authorization server', async () => {
    const one = await protectedServer()
    one.allows = () => false
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toThrow(
      /refuses a token that its authorization server has just issued/,
    )
    expect(opened).toHaveLength(1)
  })

  it('may take longer than connecting or a call may', async () => {
    const one = await protectedServer()
    const slow = { connectTimeoutMs: 400, probeTimeoutMs: 200, timeoutMs: 400 }
    const opened: URL[] = []
    const patient = oauth({
      client: { name: 'test' },
      redirect: {
        begin: async () => ({
          uri: 'http://127.0.0.1:3456/callback',
          async open(url) {
            opened.push(url)
            await new Promise((resolve) => setTimeout(resolve, 700))
            const { headers } = await fetch(url, { redirect: 'manual' })
            return new URL(headers.get('location') ?? '')
          },
          close: async () => {},
        }),
      },
    })
    const client = await open(one, patient, { ...slow, revisions: ['2026-07-28', '2025-11-25'] })
    expect(one.seen.some(({ body }) => body.includes('"initialize"'))).toBe(false)
    await patient.forget(one.url)
    await client.call('x')
    expect(opened).toHaveLength(2)
  })

  it('ends when the only call that waits for it is cancelled', async () => {
    const one = await protectedServer()
    let gaveUp = false
    let closed = false
    const auth = oauth({
      client: { name: 'test' },
      redirect: {
        begin: async () => ({
          uri: 'http://127.0.0.1:3456/callback',
          open: (_, signal) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                gaveUp = true
                reject(signal.reason)
              })
              stop.abort()
            }),
          close: async () => {
            closed = true
          },
        }),
      },
    })
    const stop = new AbortController()
    await expect(open(one, auth, { signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect.poll(() => [gaveUp, closed]).toEqual([true, true])
  })
})

describe('the response to a login', () => {
  const foreign = 'https://honest.example'

  it.each([
    ['advertised and right', true, (issuer: string) => issuer, true],
    ['advertised and missing', true, () => undefined, false],
    ['not advertised and right', false, (issuer: string) => issuer, true],
    ['not advertised and missing', false, () => undefined, true],
    ['advertised and another', true, () => foreign, false],
    ['not advertised and another', false, () => foreign, false],
    ['another case', true, (issuer: string) => issuer.replace('http', 'HTTP'), false],
    ['a slash more', false, (issuer: string) => `${issuer}/`, false],
    ['encoded', true, (issuer: string) => issuer.replace('1', '%31'), false],
    ['empty', false, () => '', false],
  ])('is checked for its issuer: %s', async (_, advertised, iss, good) => {
    const one = await protectedServer()
    one.as.metadata = { authorization_response_iss_parameter_supported: advertised }
    one.as.callback = { iss: iss(one.as.issuer) }
    const opening = open(one, person().auth)
    if (good) await opening
    else await expect(opening).rejects.toThrow(/must name the authorization server/)
    expect(one.as.at('/token')).toHaveLength(good ? 1 : 0)
  })

  it('of another issuer reveals nothing of its error', async () => {
    const one = await protectedServer()
    one.as.callback = { iss: foreign, code: undefined, error: 'access_denied', error_description: 'CANARY' }
    const error = await open(one, person().auth).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(String(error)).not.toMatch(/CANARY|access_denied|honest/)
  })

  it.each([
    ['another state', { state: 'other' }, /its "state" does not match/],
    ['no state', { state: undefined }, /its "state" does not match/],
    ['no code', { code: undefined }, /contains no authorization code/],
    ['an empty code', { code: '' }, /contains no authorization code/],
  ])('with %s is not used', async (_, callback, words) => {
    const one = await protectedServer()
    one.as.callback = callback
    await expect(open(one, person().auth)).rejects.toThrow(words)
    expect(one.as.at('/token')).toEqual([])
  })

  it('that is a refusal has a message with advice', async () => {
    const one = await protectedServer()
    one.as.callback = { code: undefined, error: 'access_denied', error_description: 'not\u0007today' }
    await expect(open(one, person().auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(
        /refused the login: access_denied \(not today\)\. Log in again and allow/,
      ),
      details: { error: 'access_denied', issuer: one.as.issuer },
    })
  })
})

describe('the client id', () => {
  it('is the metadata document if that is supported', async () => {
    const one = await protectedServer()
    one.as.metadata = { client_id_metadata_document_supported: true }
    const metadataUrl = 'https://client.example/me.json'
    const { auth, opened } = person({ client: { name: 'test', metadataUrl } })
    await open(one, auth)
    expect(opened[0]?.searchParams.get('client_id')).toBe(metadataUrl)
    expect(one.as.at('/token')[0]?.params.get('client_id')).toBe(metadataUrl)
    expect(one.as.at('/register')).toEqual([])
  })

  it.each(['http://client.example/me.json', 'https://client.example/', 'https://client.example/a#b', 'x'])(
    'cannot be a metadata document at %s',
    (metadataUrl) => {
      expect(() => person({ client: { name: 'test', metadataUrl } })).toThrow(/metadataUrl/)
    },
  )

  it('is from a registration with its properties, once for each issuer and redirect URI', async () => {
    const [one, two] = [await protectedServer(), await protectedServer()]
    two.as.close()
    two.resource = { resource: two.url, authorization_servers: [one.as.issuer] }
    two.allows = (token) => one.as.good.has(token)
    const store = memoryStore()
    await open(one, person({ store }).auth)
    await open(two, person({ store }).auth)
    const [asked, ...more] = one.as.at('/register')
    expect(more).toEqual([])
    expect(JSON.parse(asked?.body ?? '')).toEqual({
      client_name: 'test',
      redirect_uris: ['http://127.0.0.1:3456/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    })
  })

  it('reports why the authorization server rejects its registration', async () => {
    const one = await protectedServer()
    one.as.onRegister = ({ res }) => {
      json(res, { error: 'invalid_redirect_uri', error_description: 'no loopback here' }, 400)
      return true
    }
    await expect(open(one, person().auth)).rejects.toThrow(
      /refused to register this client, as a native one with the redirect URI \S+, invalid_redirect_uri|invalid_redirect_uri \(no loopback here\)/,
    )
  })

  it('is requested in an error if neither registration nor a metadata document is possible', async () => {
    const one = await protectedServer()
    one.as.metadata = { registration_endpoint: undefined }
    await expect(open(one, person().auth)).rejects.toThrow(
      /does not support dynamic client registration.*client\.registered/,
    )
  })

  it('registered by hand is used only at its issuer', async () => {
    const one = await protectedServer()
    const registered = { issuer: 'https://other.example', clientId: 'by-hand', clientSecret: 'CANARY' }
    const { auth, opened } = person({ client: { name: 'test', registered } })
    await expect(open(one, auth)).rejects.toThrow(one.as.issuer)
    expect(opened).toEqual([])
    expect(
      one.as.seen.every(({ body, headers }) => !`${body}${headers.authorization}`.includes('CANARY')),
    ).toBe(true)
  })

  it.each([
    ['client_secret_basic', ['client_secret_basic', 'client_secret_post'], true],
    ['client_secret_post', ['client_secret_post'], false],
    ['client_secret_basic', undefined, true],
  ])('is authenticated by %s if %j is supported', async (_, supported, basic) => {
    const one = await protectedServer()
    one.as.metadata = { token_endpoint_auth_methods_supported: supported }
    const registered = { issuer: one.as.issuer, clientId: 'by-hand', clientSecret: 'a:b%c' }
    await open(one, person({ client: { name: 'test', registered } }).auth)
    const { headers, params } = one.as.at('/token')[0] ?? {}
    const sent = Buffer.from(headers?.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
    expect(sent).toBe(basic ? 'by-hand:a%3Ab%25c' : '')
    expect(params?.get('client_secret')).toBe(basic ? null : 'a:b%c')
  })

  it('is not sent to a new authorization server', async () => {
    const one = await protectedServer()
    const second = await authority()
    const { auth, opened } = person()
    const client = await open(one, auth)
    const first = opened[0]?.searchParams.get('client_id')
    one.resource = { resource: one.url, authorization_servers: [second.issuer] }
    one.allows = (token) => second.good.has(token)
    second.onRegister = ({ res }) => {
      json(res, { client_id: 'of-the-second' }, 201)
      return true
    }
    await client.call('x')
    second.close()
    const requests = second.seen.map(({ url, body }) => `${url.search} ${body}`).join(' ')
    expect(requests).toContain('of-the-second')
    expect(requests).not.toContain(first)
    expect(requests).not.toContain(one.as.refreshable.values().next().value)
  })
})
