import { memoryStore, oauth } from '@jackfield/sdk/client/auth'
import { loopback } from '@jackfield/sdk/client/auth/node'
import { describe, expect, it } from 'vitest'
import { authority } from './support/authority.ts'
import { agreeing, open, type ProtectedServer, person, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

const metadataUrl = 'https://client.example/me.json'

describe('a client with several possible ids', () => {
  it.each([
    ['is the one registered by hand, before all else', true, true, 'by-hand', 0],
    ['is its metadata document, before it registers', false, true, metadataUrl, 0],
    ['registers where documents are not said to be looked up', false, undefined, 'client-1', 1],
    ['registers where documents are said not to be looked up', false, false, 'client-1', 1],
  ])('%s', async (_, byHand, documents, clientId, registrations) => {
    const one = await protectedServer()
    one.as.metadata = { client_id_metadata_document_supported: documents }
    const registered = { issuer: one.as.issuer, clientId: 'by-hand' }
    const { auth, opened } = person({
      client: { name: 'test', metadataUrl, ...(byHand && { registered }) },
    })
    await open(one, auth)
    expect(opened.map(({ searchParams }) => searchParams.get('client_id'))).toEqual([clientId])
    expect(one.as.at('/token').map(({ params }) => params.get('client_id'))).toEqual([clientId])
    expect(one.as.at('/register')).toHaveLength(registrations)
  })
})

describe('a registration', () => {
  it.each([
    ['native', 'http://127.0.0.1:3456/callback'],
    ['native', 'http://localhost:3456/callback'],
    ['native', 'http://[::1]:3456/callback'],
    ['native', 'https://localhost:3456/callback'],
    ['web', 'https://app.example/callback'],
  ])('is for a %s application with redirect to %s, and only there', async (type, uri) => {
    const one = await protectedServer()
    const redirect = agreeing(uri)
    await open(one, person({ redirect }).auth)
    const [asked] = one.as.at('/register')
    expect(JSON.parse(asked?.body ?? '')).toMatchObject({ application_type: type, redirect_uris: [uri] })
    expect(redirect.opened[0]?.searchParams.get('redirect_uri')).toBe(uri)
    expect(one.as.at('/token')[0]?.params.get('redirect_uri')).toBe(uri)
  })

  it.each([
    'com.example.app:/callback',
    'com.example.app://callback',
    'myapp://callback',
    'http://app.example/callback',
    'http://192.168.1.2/callback',
    'data:text/html,x',
  ])('is never made for %s, where others could be listening', async (uri) => {
    const one = await protectedServer()
    const redirect = agreeing(uri)
    await expect(open(one, person({ redirect }).auth)).rejects.toMatchObject({ code: 'INVALID' })
    expect(redirect.opened).toEqual([])
    expect(one.as.at('/register')).toEqual([])
  })

  it('that is rejected ends the attempt before the user is asked, and is not stored', async () => {
    const one = await protectedServer()
    one.as.onRegister = ({ res }) => {
      json(res, { error: 'invalid_redirect_uri', error_description: 'no loopback here' }, 400)
      return true
    }
    const { auth, opened } = person()
    await expect(open(one, auth)).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(
        /native one with the redirect URI \S+, invalid_redirect_uri|no loopback here/,
      ),
      details: { error: 'invalid_redirect_uri', issuer: one.as.issuer },
    })
    expect(opened).toEqual([])
    one.as.onRegister = () => false
    await open(one, auth)
    expect(opened).toHaveLength(1)
  })
})

describe('logins at one authorization server', () => {
  it('running at the same time register a port each, and their tokens can be refreshed and revoked', async () => {
    const as = await authority()
    as.metadata = { revocation_endpoint: `${as.issuer}/revoke` }
    const store = memoryStore()
    const arrived: (() => void)[] = []
    // No login returns before both have started.
    const browser = async (url: URL): Promise<void> => {
      arrived.push(() => void fetch(url).then((response) => response.text()))
      if (arrived.length === 2) for (const go of arrived) go()
    }
    const servers = [await protectedServer(as), await protectedServer(as)]
    const logins = servers.map((one) => {
      const auth = oauth({ client: { name: 'test' }, redirect: loopback({ open: browser }), store })
      return { one, auth, opening: open(one, auth) }
    })
    const clients = await Promise.all(logins.map(({ opening }) => opening))
    const ids = as.at('/authorize').map(({ params }) => params.get('client_id'))
    expect(new Set(ids).size).toBe(2)
    as.expireAll()
    for (const client of clients) await client.call('x')
    expect(as.at('/authorize')).toHaveLength(2)
    for (const { one, auth } of logins) expect(await auth.revoke(one.url)).toEqual({ outcome: 'revoked' })
    const revokers = as.at('/revoke').map(({ params }) => params.get('client_id'))
    expect(new Set(revokers)).toEqual(new Set(ids))
  })
})

describe('credentials of one authorization server', () => {
  /** Every request to a server and its authorization server. */
  const saidTo = ({ seen, as }: ProtectedServer): string =>
    [...seen, ...as.seen]
      .map(({ url, headers, body }) => `${url.search} ${headers.authorization} ${body}`)
      .join('\n')

  it('are never sent to another, though one store has all of them', async () => {
    const [one, two] = [await protectedServer(), await protectedServer()]
    // The ids of the second are numbered differently, so that the two can be distinguished.
    const register = { method: 'POST', body: '{}' }
    await Promise.all(Array.from({ length: 20 }, () => fetch(`${two.as.issuer}/register`, register)))
    const store = memoryStore()
    const [first, second] = [person({ store }), person({ store })]
    const clients = [await open(one, first.auth), await open(two, second.auth)]
    const given = [one, two].map(({ as }) => [...as.good.keys(), ...as.refreshable])
    for (const { as } of [one, two]) as.expireAll()
    for (const client of clients) await client.call('x')
    expect([first, second].map(({ opened }) => opened.length)).toEqual([1, 1])
    const ids = [first, second].map(({ opened }) => `${opened[0]?.searchParams.get('client_id')}`)
    expect(new Set(ids).size).toBe(2)
    for (const secret of [...(given[0] ?? []), `client_id=${ids[0]}&`]) {
      expect(saidTo(one)).toContain(secret)
      expect(saidTo(two)).not.toContain(secret)
    }
    for (const secret of [...(given[1] ?? []), `client_id=${ids[1]}&`]) {
      expect(saidTo(two)).toContain(secret)
      expect(saidTo(one)).not.toContain(secret)
    }
  })
})
