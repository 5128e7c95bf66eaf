import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'

/** The contents of an issuer's next ID token and next responses. */
export interface Issuing {
  /** In place of the right ones; undefined leaves one out. */
  claims: Readonly<Record<string, unknown>>
  /** Signs with a key that the issuer does not publish. */
  isForged: boolean
  /** The claims of UserInfo. Default: the user who signed in last, without an address. */
  userInfo: Readonly<Record<string, unknown>> | undefined
}

/** An OpenID issuer whose every answer a test decides. Its person is the one that `code` names. */
export interface TestIssuer extends Issuing {
  readonly url: string
  /** Signs a token with the claims of a logout, or these in their place. */
  logoutToken(claims: Readonly<Record<string, unknown>>): Promise<string>
  /** Bodies of the requests for tokens. */
  readonly exchanges: URLSearchParams[]
}

const clientId = 'jackfield'

/** Starts an issuer on a free port of 127.0.0.1. */
export async function startIssuer(): Promise<TestIssuer> {
  const [published, secret] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')]
  const jwk = { ...(await exportJWK(published.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const used = new Set<string>()
  let last = ''
  const sign = async (claims: Readonly<Record<string, unknown>>): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000)
    const all = { iss: issuer.url, aud: clientId, iat: now, exp: now + 300, ...claims }
    const payload: JWTPayload = JSON.parse(JSON.stringify(all))
    const key = issuer.isForged ? secret.privateKey : published.privateKey
    return await new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key)
  }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const body = new URLSearchParams(Buffer.concat(parts).toString())
    const reply = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (request.url === '/.well-known/openid-configuration')
      return reply({
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        jwks_uri: `${issuer.url}/keys`,
        userinfo_endpoint: `${issuer.url}/me`,
        end_session_endpoint: `${issuer.url}/logout`,
        id_token_signing_alg_values_supported: ['RS256'],
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
      })
    if (request.url === '/keys') return reply({ keys: [jwk] })
    const { claims, userInfo } = issuer
    if (request.url === '/me') return reply(userInfo ?? { sub: last })
    issuer.exchanges.push(body)
    const [subject = '', nonce = ''] = (body.get('code') ?? '').split('.')
    if (used.has(nonce)) return reply({ error: 'invalid_grant' }, 400)
    used.add(nonce)
    last = subject
    const id_token = await sign({ sub: subject, nonce, ...claims })
    reply({ access_token: 'access', token_type: 'Bearer', expires_in: 300, id_token })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const issuer: TestIssuer = {
    url: `http://127.0.0.1:${port}`,
    exchanges: [],
    logoutToken: (claims) =>
      sign({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, ...claims }),
    claims: {},
    isForged: false,
    userInfo: undefined,
  }
  return issuer
}
