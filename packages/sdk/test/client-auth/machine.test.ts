import {
  anyAuthorizationServer,
  clientCredentials,
  enterpriseManaged,
  workloadIdentity,
} from '@jackfield/sdk/client/auth'
import { decodeJwt, exportJWK, exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { authority } from './support/authority.ts'
import { open, protectedServer } from './support/protected-server.ts'
import { json } from './support/server.ts'

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

describe('client credentials', () => {
  it('get a token for the resource, and another when it is refused', async () => {
    const one = await protectedServer()
    one.as.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
    one.challenge = 'Bearer scope="a b"'
    const client = { issuer: one.as.issuer, clientId: 'robot', clientSecret: 'hush' }
    const connection = await open(one, clientCredentials({ client }))
    one.as.expireAll()
    await connection.call('x')
    const asked = one.as.at('/token').map(({ params }) => Object.fromEntries(params))
    expect(asked[0]).toEqual({
      grant_type: 'client_credentials',
      client_id: 'robot',
      client_secret: 'hush',
      resource: one.url,
      scope: 'a b',
    })
    expect(asked).toHaveLength(2)
  })

  it.each(['PEM', 'JWK', 'CryptoKey'])('authenticate with a signing key given as %s', async (form) => {
    const one = await protectedServer()
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const keys = {
      PEM: await exportPKCS8(privateKey),
      JWK: await exportJWK(privateKey),
      CryptoKey: privateKey,
    }
    const key = Object.entries(keys).find(([name]) => name === form)?.[1] ?? ''
    const client = { issuer: one.as.issuer, clientId: 'robot', signingKey: { privateKey: key, keyId: 'k1' } }
    await open(one, clientCredentials({ client }))
    const { params } = one.as.at('/token')[0] ?? {}
    const { payload, protectedHeader } = await jwtVerify(params?.get('client_assertion') ?? '', publicKey)
    expect(payload).toMatchObject({ iss: 'robot', sub: 'robot', aud: one.as.issuer })
    expect(protectedHeader.kid).toBe('k1')
  })

  it('do not reveal an unreadable key', async () => {
    const one = await protectedServer()
    const client = { issuer: one.as.issuer, clientId: 'robot', signingKey: { privateKey: 'CANARY' } }
    const error = await open(one, clientCredentials({ client })).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'INVALID' })
    expect(JSON.stringify([String(error), error])).not.toContain('CANARY')
  })

  it('are used only at their issuer', async () => {
    const one = await protectedServer()
    const client = { issuer: 'https://other.example', clientId: 'robot', clientSecret: 'CANARY' }
    await expect(open(one, clientCredentials({ client }))).rejects.toThrow(
      /belong to https:\/\/other\.example/,
    )
    expect(one.as.at('/token')).toEqual([])
  })

  it('are not retried endlessly on a server that rejects them', async () => {
    const one = await protectedServer()
    one.allows = () => false
    const client = { issuer: one.as.issuer, clientId: 'robot', clientSecret: 'hush' }
    await expect(open(one, clientCredentials({ client }))).rejects.toThrow(/has just issued/)
    expect(one.as.at('/token')).toHaveLength(1)
  })
})

describe('a workload identity', () => {
  it("gets a token for the platform's assertion", async () => {
    const one = await protectedServer()
    let count = 0
    const auth = workloadIdentity({ issuer: one.as.issuer, assertion: async () => `jwt-${++count}` })
    const connection = await open(one, auth)
    one.as.expireAll()
    await connection.call('x')
    expect(one.as.at('/token').map(({ params }) => Object.fromEntries(params))).toEqual([
      { grant_type: jwtBearer, assertion: 'jwt-1', resource: one.url },
      { grant_type: jwtBearer, assertion: 'jwt-2', resource: one.url },
    ])
  })

  it.each(['invalid_grant', 'invalid_scope', 'unauthorized_client', 'invalid_client'])(
    'accepts %s as a response',
    async (error) => {
      const one = await protectedServer()
      one.as.onToken = ({ res }) => {
        json(res, { error }, 400)
        return true
      }
      const auth = workloadIdentity({ issuer: anyAuthorizationServer, assertion: () => 'jwt' })
      await expect(open(one, auth)).rejects.toMatchObject({ code: 'UNAUTHORIZED', details: { error } })
      expect(one.as.at('/token')).toHaveLength(1)
    },
  )
})

describe('enterprise-managed authorization', () => {
  it("exchanges the organisation's login for a token of the server", async () => {
    const one = await protectedServer()
    const idp = await authority()
    idp.token = {
      access_token: 'the-id-jag',
      token_type: 'N_A',
      issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    }
    one.as.metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic'] }
    one.challenge = 'Bearer scope="a"'
    const auth = enterpriseManaged({
      client: { issuer: one.as.issuer, clientId: 'app', clientSecret: 'hush' },
      idp: { issuer: idp.issuer, clientId: 'app-at-idp', subjectToken: () => 'id-token' },
    })
    await open(one, auth)
    idp.close()
    expect(Object.fromEntries(idp.at('/token')[0]?.params ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: one.as.issuer,
      resource: one.url,
      scope: 'a',
      subject_token: 'id-token',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      client_id: 'app-at-idp',
    })
    const { params, headers } = one.as.at('/token')[0] ?? {}
    expect(Object.fromEntries(params ?? [])).toEqual({
      grant_type: jwtBearer,
      assertion: 'the-id-jag',
      resource: one.url,
      scope: 'a',
    })
    expect(headers?.authorization).toMatch(/^Basic /)
  })

  it('fails if the organisation returns something else', async () => {
    const one = await protectedServer()
    const idp = await authority()
    const auth = enterpriseManaged({
      client: { issuer: one.as.issuer, clientId: 'app', clientSecret: 'hush' },
      idp: { issuer: idp.issuer, clientId: 'app-at-idp', subjectToken: () => 'id-token' },
    })
    await expect(open(one, auth)).rejects.toThrow(/did not issue an ID-JAG/)
    idp.close()
    expect(one.as.at('/token')).toEqual([])
  })
})

describe('tokens that are bound to a key', () => {
  const bound = { dpop_signing_alg_values_supported: ['ES256'] }
  const robot = (issuer: string) => ({ issuer, clientId: 'robot', clientSecret: 'hush' })

  it('are sent with a fresh proof at every use, for 20 concurrent calls that all need a nonce', async () => {
    const one = await protectedServer()
    one.as.metadata = bound
    one.as.token = { token_type: 'DPoP' }
    let nonce = ''
    const proofs = (): string[] =>
      one.seen.flatMap(({ headers: { dpop } }) => (typeof dpop === 'string' ? [dpop] : []))
    const auth = clientCredentials({ client: robot(one.as.issuer), dpop: true })
    const connection = await open(one, auth)
    const answers = one.allows
    one.allows = (token, message) => {
      const last = one.seen.at(-1)
      if (nonce !== '' && decodeJwt(proofs().at(-1) ?? '')['nonce'] !== nonce) {
        last?.res.setHeader('dpop-nonce', nonce)
        return false
      }
      return answers(token, message)
    }
    one.challenge = 'DPoP error="use_dpop_nonce"'
    nonce = 'n1'
    await Promise.all(Array.from({ length: 20 }, () => connection.call('x')))
    expect(one.calls).toHaveLength(20)
    const claims = proofs().map((proof) => decodeJwt(proof))
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(claims.length)
    for (const claim of claims) {
      expect(claim).toMatchObject({ htm: 'POST', htu: one.url, ath: expect.stringMatching(/^[\w-]{43}$/) })
    }
    expect(one.as.at('/token')).toHaveLength(1)
    expect(one.calls[0]?.headers.authorization).toMatch(/^DPoP /)
  })

  it('use the nonce of the authorization server', async () => {
    const one = await protectedServer()
    one.as.metadata = bound
    one.as.token = { token_type: 'DPoP' }
    one.as.onToken = ({ headers, res }) => {
      if (decodeJwt(String(headers['dpop']))['nonce'] === 'n2') return false
      json(res, { error: 'use_dpop_nonce' }, 400, { 'dpop-nonce': 'n2' })
      return true
    }
    await open(one, clientCredentials({ client: robot(one.as.issuer), dpop: true }))
    expect(one.as.at('/token')).toHaveLength(2)
  })

  it.each([
    ['that offers none', {}, { token_type: 'DPoP' }, /does not declare ES256/],
    ['that issues others', bound, { token_type: 'Bearer' }, /did not bind its token/],
  ])('are not replaced by others at an authorization server %s', async (_, metadata, token, words) => {
    const one = await protectedServer()
    one.as.metadata = metadata
    one.as.token = token
    const auth = clientCredentials({ client: robot(one.as.issuer), dpop: true })
    await expect(open(one, auth)).rejects.toThrow(words)
    expect(one.calls).toEqual([])
  })

  it('are used if the resource requires it', async () => {
    const one = await protectedServer()
    one.as.metadata = bound
    one.as.token = { token_type: 'DPoP' }
    one.resource = { ...one.resource, dpop_bound_access_tokens_required: true }
    await open(one, clientCredentials({ client: robot(one.as.issuer) }))
    expect(one.seen.at(-1)?.headers.authorization).toMatch(/^DPoP /)
  })
})
