import { defineServer } from '@jackfield/sdk'
import { bearer } from '@jackfield/sdk/auth'
import { connect, http } from '@jackfield/sdk/client'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { adapters, modern, webAdapter } from '../serve/http-support.ts'
import {
  as,
  authenticated,
  challengeOf,
  eras,
  inSeconds,
  issuer,
  mcp,
  metadataUrl,
  mounted,
  shop,
  tokenOf,
} from './support.ts'

const other = 'https://other.example.com/mcp'

/** Tokens that must not be let in, by what is wrong with them. */
const bad: [string, () => Promise<string> | string][] = [
  ['no audience', () => tokenOf({ aud: undefined })],
  ['an empty audience', () => tokenOf({ aud: [] })],
  ['another audience', () => tokenOf({ aud: other })],
  ['our audience and another', () => tokenOf({ aud: [mcp, other] })],
  ['our audience with a slash', () => tokenOf({ aud: `${mcp}/` })],
  ['our audience in other letters', () => tokenOf({ aud: mcp.toUpperCase() })],
  ['an audience ours begins with', () => tokenOf({ aud: 'https://mcp.example.com' })],
  ['another issuer', () => tokenOf({ iss: 'https://as.example.com.evil.com' })],
  ['our issuer with a slash', () => tokenOf({ iss: `${issuer}/` })],
  ['no issuer', () => tokenOf({ iss: undefined })],
  ['an expiry that has passed', () => tokenOf({ exp: inSeconds(-61) })],
  ['no expiry', () => tokenOf({ exp: undefined })],
  ['a time before it is good', () => tokenOf({ nbf: inSeconds(61) })],
  ['the type of a proof', () => tokenOf({}, { typ: 'dpop+jwt' })],
  ['a binding to a certificate', () => tokenOf({ cnf: { 'x5t#S256': 'abc' } })],
  ['a binding to a key', () => tokenOf({ cnf: { jkt: 'abc' } })],
  ['a binding that says nothing', () => tokenOf({ cnf: 'abc' })],
  ['no signature algorithm', async () => unsigned(await tokenOf(), { alg: 'none' }, '')],
  [
    'a signature with the public key as a secret',
    async () => unsigned(await tokenOf(), { alg: 'HS256', kid: 'one' }),
  ],
  ['a changed claim', async () => swapped(await tokenOf({ sub: 'alice' }), await tokenOf({ sub: 'root' }))],
  ['a key that is a path', async () => unsigned(await tokenOf(), { alg: 'ES256', kid: '../../dev/null' })],
  ['an opaque text', () => 'abcdef'],
]

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function unsigned(token: string, header: object, signature = 'AAAA'): string {
  return [encoded(header), token.split('.')[1], signature].join('.')
}

function swapped(token: string, other: string): string {
  const [head, , signature] = token.split('.')
  return [head, other.split('.')[1], signature].join('.')
}

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  test('without a token, the response contains the metadata URL and the required scopes', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, {
      authenticate: authenticated({ scopes: { required: ['mcp', 'basic'] } }),
    })
    for (const [, request] of eras) {
      const answer = await request(send, {}, 'tools/list')
      expect(answer.status).toBe(401)
      expect(challengeOf(answer)).toEqual({
        scheme: 'Bearer',
        params: { resource_metadata: metadataUrl, scope: 'mcp basic' },
      })
    }
  })

  test.each(bad)('a token with %s is rejected, and nothing runs', async (_what, make) => {
    const { server, ran } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const answer = await send(modern('tools/call', { name: 'refund' }, as(await make())))
    expect(answer.status).toBe(401)
    const { scheme, params } = challengeOf(answer)
    expect(scheme).toBe('Bearer')
    expect(params).toMatchObject({ error: 'invalid_token', resource_metadata: metadataUrl })
    expect(ran).toEqual([])
  })

  test.each([
    ['nothing', 'Bearer'],
    ['two tokens', 'Bearer abc def'],
    ['a list', 'Bearer abc, Bearer def'],
    ['quotes', 'Bearer "abc"'],
    ['too much', `Bearer ${'a'.repeat(16_385)}`],
  ])('an Authorization header with %s is malformed', async (_what, authorization) => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const answer = await send(modern('tools/list', {}, { authorization })).catch(() => undefined)
    // Node itself refuses headers of more than 16 KiB.
    if (answer?.status === 431) return
    expect(answer?.status).toBe(400)
    expect(answer === undefined ? undefined : challengeOf(answer).params).toMatchObject({
      error: 'invalid_request',
    })
  })

  test('two Authorization headers are malformed, even if one is valid', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const good = as(await tokenOf()).authorization
    for (const authorization of [
      [good, 'Bearer abc'],
      ['Bearer abc', good],
    ]) {
      expect((await send(modern('tools/list', {}, { authorization }))).status).toBe(400)
    }
  })

  test('a token in the query is rejected, even next to one in the header', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const token = await tokenOf()
    for (const headers of [{}, as(token)]) {
      const answer = await send({ ...modern('tools/list', {}, headers), path: `/mcp?access_token=${token}` })
      expect(answer.status).toBe(400)
      expect(await answer.text()).not.toContain(token)
    }
  })

  test('other schemes are answered with a challenge for a token', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    const answer = await send(modern('tools/list', {}, { authorization: 'Basic YTpi' }))
    expect(answer.status).toBe(401)
    expect(challengeOf(answer).params).toEqual({ resource_metadata: metadataUrl })
  })

  test.each(eras)(
    'a handler gets the caller, its client and claims, but not the token (%s)',
    async (_era, request) => {
      const { server } = shop()
      const { send } = await mounted(mount, server, { authenticate: authenticated() })
      const token = await tokenOf({ scope: 'a b', scp: ['c'], email: 'alice@example.com' })
      const answer = await request(send, as(token, 'bEaReR'), 'tools/call', { name: 'whoami' })
      const text = await answer.text()
      expect(text).not.toContain(token)
      const { result } = JSON.parse(text)
      expect(JSON.parse(result.content[0].text)).toMatchObject({
        principal: `${issuer}|alice`,
        clientId: 'a-client',
        scopes: ['a', 'b', 'c'],
        claims: { email: 'alice@example.com' },
      })
    },
  )

  test('clocks may differ by a small amount', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, { authenticate: authenticated() })
    for (const claims of [{ exp: inSeconds(-5) }, { nbf: inSeconds(5) }]) {
      expect((await send(modern('tools/list', {}, as(await tokenOf(claims))))).status).toBe(200)
    }
  })

  test('a token without the scopes required for everything gets 403 with all of them', async () => {
    const { server } = shop()
    const { send } = await mounted(mount, server, {
      authenticate: authenticated({ scopes: { required: ['mcp', 'basic'] } }),
    })
    const answer = await send(modern('tools/list', {}, as(await tokenOf({ scope: 'basic' }))))
    expect(answer.status).toBe(403)
    expect(challengeOf(answer).params).toMatchObject({
      error: 'insufficient_scope',
      scope: 'mcp basic',
      resource_metadata: metadataUrl,
    })
  })

  test('a failed verification is an internal error, and is reported without the token', async () => {
    const reports: unknown[] = []
    const { server } = shop()
    const broken = Object.create(server, { report: { value: (error: unknown) => reports.push(error) } })
    const verify = async (): Promise<never> => {
      throw new Error('the database of tokens is away')
    }
    const { send } = await mounted(mount, broken, { authenticate: authenticated({ verify }) })
    const token = await tokenOf()
    const answer = await send(modern('tools/list', {}, as(token)))
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('database')
    expect(reports).toHaveLength(1)
    expect(JSON.stringify(reports)).not.toContain(token)
  })
})

describe('options', () => {
  async function statusOf(options: Parameters<typeof authenticated>[0], token: string): Promise<number> {
    const { send } = await mounted(webAdapter, shop().server, { authenticate: authenticated(options) })
    return (await send(modern('tools/list', {}, as(token)))).status
  }

  test('other audiences replace the resource', async () => {
    const token = await tokenOf({ aud: 'api://shop' })
    expect(await statusOf({ audience: ['api://shop', mcp] }, token)).toBe(200)
    expect(await statusOf({ audience: ['api://bank'] }, token)).toBe(401)
  })

  test('a token for several audiences is accepted only if that is configured, and only with the resource among them', async () => {
    const userinfo = `${issuer}/userinfo`
    const options = { otherAudiences: [userinfo] }
    expect(await statusOf(options, await tokenOf({ aud: [mcp, userinfo] }))).toBe(200)
    expect(await statusOf(options, await tokenOf({ aud: [mcp, other] }))).toBe(401)
    expect(await statusOf(options, await tokenOf({ aud: userinfo }))).toBe(401)
  })

  test('the audience check is disabled only by an explicit option', async () => {
    const token = await tokenOf({ aud: undefined })
    expect(await statusOf({}, token)).toBe(401)
    expect(await statusOf({ dangerouslyAcceptAnyAudience: true }, token)).toBe(200)
  })

  test('a broader scope includes the narrower ones it implies, at any depth', async () => {
    const implied = { admin: ['write'], write: ['read'], read: ['admin'] }
    const scopes = { required: ['read'], implied }
    expect(await statusOf({ scopes }, await tokenOf({ scope: 'admin' }))).toBe(200)
    expect(await statusOf({ scopes }, await tokenOf({ scope: 'other' }))).toBe(403)
  })

  test('several verifiers are tried in turn', async () => {
    const mine = async (token: string) =>
      token === 'mine' ? { iss: 'own', sub: 'bob', aud: mcp } : undefined
    const verify = [mine, async () => undefined]
    expect(await statusOf({ verify }, 'mine')).toBe(200)
    expect(await statusOf({ verify }, 'other')).toBe(401)
  })

  test.each([
    ['no authorization server', { authorizationServers: [] }],
    ['no verifier', { verify: [] }],
    ['options of JavaScript without a verifier', Object({ verify: undefined })],
    ['a resource with a fragment', { resource: 'https://mcp.example.com/mcp#a' }],
    ['a resource with a query', { resource: 'https://mcp.example.com/mcp?' }],
    ['a resource that is no URL', { resource: 'mcp.example.com' }],
    ['a resource with a password', { resource: 'https://a:b@mcp.example.com' }],
    ['plain http to another machine', { resource: 'http://mcp.example.com' }],
    ['an issuer over plain http', { authorizationServers: ['http://as.example.com'] }],
    ['a scope that is two', { scopes: { required: ['a b'] } }],
    ['a scope that quotes', { scopes: { supported: ['a"'] } }],
    ['offline_access', { scopes: { supported: ['offline_access'] } }],
  ])('%s is rejected at once', (_what, options) => {
    expect(() => authenticated(options)).toThrow(expect.objectContaining({ code: 'INVALID' }))
  })

  test('subjects of different issuers are different principals', async () => {
    const pairs = [
      ['https://a', 'b|c'],
      ['https://a|b', 'c'],
      ['https://a', '|c'],
      ['https://a', '%7Cc'],
      ['https://a%7Cb', 'c'],
      ['https://a', undefined],
    ]
    const principals = await Promise.all(
      pairs.map(async ([iss, sub]) => {
        const verify = async () => ({ iss, ...(sub === undefined ? {} : { sub }), client_id: 'c', aud: mcp })
        const url = '/mcp'
        const header = (name: string) => (name === 'authorization' ? 'Bearer abc' : undefined)
        const found = await authenticated({ verify })({ method: 'POST', url, header, repeats: () => false })
        return 'principal' in found ? found.principal : undefined
      }),
    )
    expect(new Set(principals).size).toBe(pairs.length)
    expect(principals).toContain('https://a|b|c')
  })
})

describe('a verified token that is refused', () => {
  const resource = 'http://127.0.0.1/mcp'
  const verified = { iss: issuer, sub: 'ann' }
  /** The error of a client whose token has these claims, and the errors that the operator gets for two attempts. */
  const refusalOf = async (claims: object, scopes: string[] = []) => {
    const reported: unknown[] = []
    const server = defineServer({ name: 'shop', version: '1', onError: (error) => reported.push(error) })
    const { fetch, close } = serveHttp(server, {
      authenticate: bearer({
        resource,
        authorizationServers: [issuer],
        verify: async () => ({ ...verified, ...claims }),
        scopes: { required: scopes },
      }),
    })
    onTestFinished(close)
    const target = http(resource, {
      fetch: (input, init) => fetch(new Request(input, init)),
      headers: { authorization: 'Bearer one' },
    })
    const failures = [await connect(target).catch(String), await connect(target).catch(String)]
    return { failure: failures[0], reported: reported.map(String) }
  }

  test('for another audience: the client gets the reason, and the operator once what to change', async () => {
    const { failure, reported } = await refusalOf({ aud: 'account' })
    expect(failure).toContain(
      'refused the request with status 401: The access token is not for this resource',
    )
    expect(reported).toEqual([
      expect.stringContaining('has the audience "account" instead of "http://127.0.0.1/mcp"'),
    ])
  })

  test('without an audience: the operator gets what "verify" must return', async () => {
    const { reported } = await refusalOf({})
    expect(reported).toEqual([expect.stringContaining('has no audience instead of "http://127.0.0.1/mcp"')])
  })

  test('without a scope: the client gets the scopes', async () => {
    const { failure, reported } = await refusalOf({ aud: resource }, ['notes:read', 'notes:write'])
    expect(failure).toContain('lacks a scope that the request requires: notes:read notes:write')
    expect(reported).toEqual([])
  })
})
