import { memoryBackplane } from '@jackfield/sdk/testing'
import { exportJWK, generateKeyPair } from 'jose'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ProofChecker } from '../../src/auth/server/dpop.ts'
import { type Ask, adapters, type Mounted, modern, session } from '../serve/http-support.ts'
import { type Prover, prover } from './dpop-support.ts'
import { as, authenticated, inSeconds, mcp, mounted, readChallenges, shop, tokenOf } from './support.ts'

const key = await prover()
const otherKey = await prover()
const post = { method: 'POST', url: mcp }

/** Proofs that must not be taken, by what is wrong with them. */
const bad: [string, (token: string) => Promise<string | string[] | undefined>][] = [
  ['none at all', async () => undefined],
  ['two', async (token) => [await key.prove({ ...post, token }), await key.prove({ ...post, token })]],
  ['no proof', async () => 'abc'],
  ['one by another key', (token) => otherKey.prove({ ...post, token })],
  ['one for another method', (token) => key.prove({ method: 'GET', url: mcp, token })],
  ['one for another origin', (token) => key.prove({ method: 'POST', url: 'https://evil.com/mcp', token })],
  ['one for another path', (token) => key.prove({ method: 'POST', url: `${mcp}/x`, token })],
  ['one for no URL', (token) => key.prove({ ...post, token }, { htu: '/mcp' })],
  ['one for another token', () => key.prove({ ...post, token: 'another' })],
  ['one for no token', (token) => key.prove({ ...post, token }, { ath: undefined })],
  ['one that is too old', (token) => key.prove({ ...post, token }, { iat: inSeconds(-120) })],
  ['one of the future', (token) => key.prove({ ...post, token }, { iat: inSeconds(60) })],
  ['one without a time', (token) => key.prove({ ...post, token }, { iat: undefined })],
  ['one without a name', (token) => key.prove({ ...post, token }, { jti: undefined })],
  ['one with a name too long', (token) => key.prove({ ...post, token }, { jti: 'a'.repeat(257) })],
  ['one of another type', (token) => key.prove({ ...post, token }, {}, { typ: 'JWT' })],
  ['one without its key', (token) => key.prove({ ...post, token }, {}, { jwk: undefined })],
  ['one with a private key', async (token) => key.prove({ ...post, token }, {}, { jwk: await privateJwk() })],
  ['one with a secret', (token) => key.prove({ ...post, token }, {}, { jwk: { kty: 'oct', k: 'AAAA' } })],
  ['one that is far too long', (token) => key.prove({ ...post, token }, { more: 'a'.repeat(8192) })],
]

async function privateJwk() {
  return exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
}

const bound = (to: Prover = key) => tokenOf({ cnf: { jkt: to.jkt }, scope: 'orders:read orders:write' })

afterEach(() => {
  vi.useRealTimers()
})

describe.each(adapters)('over the %s adapter', (_adapter, mount) => {
  const start = (dpop: Parameters<typeof authenticated>[0] = { dpop: true }): Promise<Mounted> =>
    mounted(mount, shop().server, { authenticate: authenticated(dpop) })

  const list = async (token: string, proof: string | string[] | undefined): Promise<Ask> =>
    modern('tools/list', {}, { ...as(token, 'DPoP'), dpop: proof })

  test('a bound token with a proof is accepted, in both eras', async () => {
    const all = await start()
    const token = await bound()
    const proof = () => key.prove({ ...post, token })
    expect((await all.send(await list(token, await proof()))).status).toBe(200)
    const headers = as(token, 'DPoP')
    const mine = await session(all, '2025-11-25', { ...headers, dpop: await proof() })
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }
    expect((await mine.post(call, { dpop: await proof() })).status).toBe(200)
    const stream = await mine.get({ dpop: await key.prove({ method: 'GET', url: mcp, token }) })
    expect(stream.status).toBe(200)
    stream.drop()
  })

  test('the query of a request is not part of the proof', async () => {
    const all = await start()
    const token = await bound()
    const proof = await key.prove({ method: 'POST', url: `${mcp}?a=b#c`, token })
    expect((await all.send({ ...(await list(token, proof)), path: '/mcp?x=y' })).status).toBe(200)
  })

  test.each(bad)('%s is not enough', async (_what, make) => {
    const all = await start()
    const token = await bound()
    const answer = await all.send(await list(token, await make(token)))
    expect(answer.status).toBe(401)
    const [bearer, dpop] = readChallenges(answer.header('www-authenticate') ?? '')
    expect(dpop).toMatchObject({ scheme: 'DPoP', params: { error: 'invalid_dpop_proof' } })
    expect(bearer?.params['error']).toBeUndefined()
  })

  test('a proof can be used once', async () => {
    const all = await start()
    const token = await bound()
    const proof = await key.prove({ ...post, token })
    expect((await all.send(await list(token, proof))).status).toBe(200)
    expect((await all.send(await list(token, proof))).status).toBe(401)
  })

  test('nodes that share a backplane accept a proof once between them', async () => {
    const backplane = memoryBackplane()
    const [one, other] = [await start({ dpop: { backplane } }), await start({ dpop: { backplane } })]
    const token = await bound()
    const proof = await key.prove({ ...post, token })
    expect((await one.send(await list(token, proof))).status).toBe(200)
    expect((await other.send(await list(token, proof))).status).toBe(401)
  })

  test('a bound token is no bearer token, and a bearer token is not bound', async () => {
    const token = await bound()
    for (const options of [{}, { dpop: true as const }]) {
      const all = await start(options)
      expect((await all.send(modern('tools/list', {}, as(token)))).status).toBe(401)
      const proof = await key.prove({ ...post, token })
      expect((await all.send(modern('tools/list', {}, { ...as(token), dpop: proof }))).status).toBe(401)
    }
    const all = await start()
    const loose = await tokenOf()
    expect((await all.send(await list(loose, await key.prove({ ...post, token: loose })))).status).toBe(401)
    expect((await all.send(modern('tools/list', {}, as(loose)))).status).toBe(200)
  })

  test('a token that is also bound to a certificate is not accepted with its key only', async () => {
    const all = await start()
    const token = await tokenOf({ cnf: { jkt: key.jkt, 'x5t#S256': 'abc' } })
    expect((await all.send(await list(token, await key.prove({ ...post, token })))).status).toBe(401)
  })

  test('if bound tokens are required, other tokens are neither requested nor accepted', async () => {
    const all = await start({ dpop: { required: true, algorithms: ['ES256'] } })
    const answer = await all.send(modern('tools/list', {}, as(await tokenOf())))
    expect(answer.status).toBe(401)
    expect(readChallenges(answer.header('www-authenticate') ?? '')).toMatchObject([
      { scheme: 'DPoP', params: { error: 'invalid_token', algs: 'ES256' } },
    ])
    const metadata = await all.send({ method: 'GET', path: '/.well-known/oauth-protected-resource/mcp' })
    expect(await metadata.json()).toMatchObject({
      dpop_signing_alg_values_supported: ['ES256'],
      dpop_bound_access_tokens_required: true,
    })
    const token = await bound()
    expect((await all.send(await list(token, await key.prove({ ...post, token })))).status).toBe(200)
  })

  test('an unlisted algorithm is rejected', async () => {
    const all = await start({ dpop: { algorithms: ['EdDSA'] } })
    const token = await bound()
    expect((await all.send(await list(token, await key.prove({ ...post, token })))).status).toBe(401)
  })

  test('a nonce is required, accepted, and replaced when it expires', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const all = await start({ dpop: { nonces: true } })
    const token = await bound()
    const tryWith = async (nonce: string | undefined) =>
      all.send(await list(token, await key.prove({ ...post, token }, { nonce })))
    const unauthorized = await all.send(modern('tools/list'))
    const asked = await tryWith(undefined)
    expect(asked.status).toBe(401)
    const [, challenge] = readChallenges(asked.header('www-authenticate') ?? '')
    expect(challenge?.params['error']).toBe('use_dpop_nonce')
    const first = asked.header('dpop-nonce')
    expect(first).toBe(unauthorized.header('dpop-nonce'))
    const taken = await tryWith(first)
    expect([taken.status, taken.header('dpop-nonce')]).toEqual([200, undefined])
    expect((await tryWith('made-up')).status).toBe(401)

    vi.setSystemTime(Date.now() + 120_000)
    const aged = await tryWith(first)
    expect(aged.status).toBe(200)
    const second = aged.header('dpop-nonce')
    expect(second).not.toBe(first)
    vi.setSystemTime(Date.now() + 120_000)
    expect((await tryWith(first)).status).toBe(401)
    expect((await tryWith(second)).status).toBe(200)
  })

  test("nodes with the same secret accept each other's nonces", async () => {
    const nonces = 's'.repeat(32)
    const [one, other] = [await start({ dpop: { nonces } }), await start({ dpop: { nonces } })]
    const nonce = (await one.send(modern('tools/list'))).header('dpop-nonce')
    const token = await bound()
    const proof = await key.prove({ ...post, token }, { nonce })
    expect((await other.send(await list(token, proof))).status).toBe(200)
  })

  test('one principal can use at most a fifth of the remembered proofs', async () => {
    const all = await start({ dpop: { maxRemembered: 10 } })
    const statusFor = async (token: string): Promise<number> =>
      (await all.send(await list(token, await key.prove({ ...post, token })))).status
    const [alice, bob] = [await bound(), await tokenOf({ sub: 'bob', cnf: { jkt: key.jkt } })]
    expect([await statusFor(alice), await statusFor(alice), await statusFor(alice)]).toEqual([200, 200, 401])
    expect(await statusFor(bob)).toBe(200)
  })

  test('missing scopes are reported in the scheme of the request', async () => {
    const all = await start()
    const token = await tokenOf({ cnf: { jkt: key.jkt } })
    const headers = { ...as(token, 'DPoP'), dpop: await key.prove({ ...post, token }) }
    const answer = await all.send(modern('tools/call', { name: 'refund' }, headers))
    expect(answer.status).toBe(403)
    const dpop = readChallenges(answer.header('www-authenticate') ?? '').find(
      ({ scheme }) => scheme === 'DPoP',
    )
    expect(dpop?.params).toMatchObject({ error: 'insufficient_scope', scope: 'orders:write orders:read' })
  })
})

test('used proofs are remembered in bounded number, and none is forgotten before it expires', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const checker = new ProofChecker(new URL(mcp), { proofAgeMs: 1000, maxRemembered: 3 }, 0)
  const check = (proof: string) =>
    checker.check(
      {
        method: 'POST',
        url: '/mcp',
        header: (name) => (name === 'dpop' ? proof : undefined),
        repeats: () => false,
      },
      'token',
      key.jkt,
      null,
    )
  const proofs = await Promise.all([1, 2, 3, 4].map(() => key.prove({ ...post, token: 'token' })))
  const results = []
  for (const proof of proofs) results.push((await check(proof)).ok)
  expect(results).toEqual([true, true, true, false])
  expect((await check(proofs[0] ?? '')).ok).toBe(false)
  vi.setSystemTime(Date.now() + 2100)
  expect((await check(await key.prove({ ...post, token: 'token' }))).ok).toBe(true)
})

test('secrets for nonces and algorithms are validated', () => {
  expect(() => authenticated({ dpop: { nonces: 'short' } })).toThrow(
    expect.objectContaining({ code: 'INVALID' }),
  )
  expect(() => authenticated({ dpop: { algorithms: ['HS256'] } })).toThrow(
    expect.objectContaining({ code: 'INVALID' }),
  )
})
