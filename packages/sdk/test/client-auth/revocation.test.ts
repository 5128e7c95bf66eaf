import { McpError } from '@jackfield/sdk'
import { clientCredentials, memoryStore, oauth } from '@jackfield/sdk/client/auth'
import { describe, expect, it, vi } from 'vitest'
import { authority } from './support/authority.ts'
import { open, type ProtectedServer, person, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

/** An authorization server that revokes tokens, with a resource server and a client that is logged in. */
async function loggedIn(metadata: Record<string, unknown> = {}, store = memoryStore()) {
  const one = await protectedServer()
  one.as.metadata = { revocation_endpoint: `${one.as.issuer}/revoke`, ...metadata }
  const { auth, opened } = person({ store })
  const client = await open(one, auth)
  return { one, auth, opened, client }
}

function received({ as }: ProtectedServer): (string | null)[][] {
  return as.at('/revoke').map(({ params }) => [params.get('token'), params.get('token_type_hint')])
}

describe('tokens that are revoked', () => {
  it('are revoked at the endpoint in the metadata, the refresh token first, and removed here', async () => {
    const { one, auth, opened, client } = await loggedIn()
    const [access] = one.as.good.keys()
    const [refresh] = one.as.refreshable
    expect(await auth.revoke(one.url)).toEqual({ outcome: 'revoked' })
    expect(received(one)).toEqual([
      [refresh, 'refresh_token'],
      [access, 'access_token'],
    ])
    expect(one.as.at('/revoke')[0]?.params.get('client_id')).toMatch(/^client-/)
    expect([one.as.good.size, one.as.refreshable.size]).toEqual([0, 0])
    expect(await auth.revoke(one.url)).toEqual({ outcome: 'none' })
    await client.call('x')
    expect(opened).toHaveLength(2)
  })

  it('are revoked with client authentication', async () => {
    const one = await protectedServer()
    one.as.metadata = { revocation_endpoint: `${one.as.issuer}/revoke` }
    const client = { issuer: one.as.issuer, clientId: 'robot', clientSecret: 'hush' }
    one.as.token = { refresh_token: undefined }
    const auth = clientCredentials({ client })
    await open(one, auth)
    expect(await auth.revoke(one.url)).toEqual({ outcome: 'revoked' })
    expect(received(one)).toEqual([[expect.stringMatching(/^access-/), 'access_token']])
    expect(one.as.at('/revoke')[0]?.headers.authorization).toBe(`Basic ${btoa('robot:hush')}`)
  })

  it('are only removed here if the server offers no revocation', async () => {
    const { one, auth, opened, client } = await loggedIn({ revocation_endpoint: undefined })
    expect(await auth.revoke(one.url)).toEqual({ outcome: 'unsupported', issuer: one.as.issuer })
    await client.call('x')
    expect(opened).toHaveLength(2)
  })

  it('count as revoked if the server revokes access tokens with their refresh token', async () => {
    const { one, auth } = await loggedIn()
    one.as.onRevoke = ({ params, res }) => {
      if (params.get('token_type_hint') !== 'access_token') return false
      json(res, { error: 'unsupported_token_type' }, 400)
      return true
    }
    expect(await auth.revoke(one.url)).toEqual({ outcome: 'revoked' })
  })

  it.each([
    [
      'refuses',
      (one: ProtectedServer) => {
        one.as.onRevoke = ({ res }) => {
          json(res, { error: 'invalid_client', error_description: 'who are you' }, 401)
          return true
        }
      },
      /refused to revoke a token: invalid_client \(who are you\)/,
      2,
    ],
    [
      'is out of order, where the second token is tried all the same',
      (one: ProtectedServer) => {
        one.as.onRevoke = ({ res }) => {
          json(res, {}, 503)
          return true
        }
      },
      /refused to revoke a token with status 503/,
      2,
    ],
    [
      'names an endpoint in a network it must not lead to',
      (one: ProtectedServer) => {
        one.as.metadata = { ...one.as.metadata, revocation_endpoint: 'https://169.254.169.254/revoke' }
      },
      /169\.254\.169\.254 is a reserved address/,
      0,
    ],
    [
      'names an endpoint that is not encrypted',
      (one: ProtectedServer) => {
        one.as.metadata = { ...one.as.metadata, revocation_endpoint: 'http://as.example/revoke' }
      },
      /is not an https: URL/,
      0,
    ],
    ['is gone', (one: ProtectedServer) => one.as.close(), /Try again later/, 0],
  ])(
    'are removed if the server %s, and the reason is reported without a token',
    async (_, breaks, why, asked) => {
      const store = memoryStore()
      const { one } = await loggedIn({}, store)
      breaks(one)
      // One that starts anew has the tokens and asks for the metadata again.
      const { auth } = person({ store })
      const result = await auth.revoke(one.url)
      expect(result).toMatchObject({ outcome: 'failed', issuer: one.as.issuer })
      expect('reason' in result ? result.reason : '').toMatch(why)
      expect(JSON.stringify(result)).not.toMatch(/-secret/)
      expect(one.as.at('/revoke')).toHaveLength(asked)
      expect(await auth.revoke(one.url)).toEqual({ outcome: 'none' })
    },
  )

  it('are removed before an endpoint that never responds is awaited, for 15 seconds at most', async () => {
    const { one, auth } = await loggedIn()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const control = new AbortController()
      setTimeout(() => control.abort(new DOMException('late', 'TimeoutError')), ms)
      return control.signal
    })
    try {
      const waits = new Promise<void>((resolve) => {
        one.as.onRevoke = () => {
          resolve()
          return true
        }
      })
      const ending = auth.revoke(one.url)
      await waits
      expect(await auth.revoke(one.url)).toEqual({ outcome: 'none' })
      await vi.advanceTimersByTimeAsync(15_001)
      expect(await ending).toMatchObject({
        outcome: 'failed',
        reason: expect.stringContaining('did not respond'),
      })
    } finally {
      timeout.mockRestore()
      vi.useRealTimers()
    }
  })

  it('of one authorization server are never sent to it with the secret of another', async () => {
    const one = await protectedServer()
    one.as.metadata = { revocation_endpoint: `${one.as.issuer}/revoke` }
    const store = memoryStore()
    const client = { issuer: one.as.issuer, clientId: 'before', clientSecret: 'first' }
    await open(one, clientCredentials({ client, store }))
    const moved = { issuer: 'https://as.example', clientId: 'after', clientSecret: 'CANARY' }
    expect(await clientCredentials({ client: moved, store }).revoke(one.url)).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('belong to https://as.example'),
    })
    expect(one.as.at('/revoke')).toEqual([])
  })

  it.each([
    ['is given up', 'CANCELLED'],
    ['is waited for as long as it may be', 'TIMEOUT'],
  ])('are kept if a login runs until their revocation %s', async (_, code) => {
    const one = await protectedServer()
    const clock = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(clock.signal)
    try {
      const login = new AbortController()
      let begin = (): void => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const waiting = async () => ({
        uri: 'http://127.0.0.1:3456/callback',
        open: (_url: URL, signal: AbortSignal) =>
          new Promise<URL>((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason))
            begin()
          }),
        close: async () => {},
      })
      const auth = oauth({ client: { name: 'test' }, redirect: { begin: waiting } })
      const opening = open(one, auth, { signal: login.signal }).catch(() => {})
      await begun
      const stop = new AbortController()
      const ended = expect(auth.revoke(one.url, { signal: stop.signal })).rejects.toMatchObject({ code })
      if (code === 'TIMEOUT') clock.abort(new DOMException('late', 'TimeoutError'))
      else stop.abort(new McpError('CANCELLED', 'enough'))
      await ended
      login.abort()
      await opening
    } finally {
      timeout.mockRestore()
    }
  })

  it('do not prevent a login if the server names an invalid revocation endpoint', async () => {
    const one = await protectedServer(await authority())
    one.as.metadata = { revocation_endpoint: 'https://169.254.169.254/revoke' }
    const { auth, opened } = person()
    await (await open(one, auth)).call('x')
    expect(opened).toHaveLength(1)
  })
})
