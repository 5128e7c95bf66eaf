import type { Authorization, OAuthOptions } from '@jackfield/sdk/client/auth'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { memoryStore, oauth } from '../../../packages/sdk/src/auth/client/index.ts'
import { bearer } from '../../../packages/sdk/src/auth/server/bearer.ts'
import { introspection } from '../../../packages/sdk/src/auth/server/introspection.ts'
import { jwt } from '../../../packages/sdk/src/auth/server/jwt.ts'
import type { Random } from '../random.ts'
import { isTyped, mustHold, type Target } from './fuzz-target.ts'

const server = new URL('https://mcp.example/mcp')
const issuer = 'https://login.example'
const never = new AbortController().signal
const redirectUri = 'http://127.0.0.1:9/callback'
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
const access = await new SignJWT({ sub: 'p', scope: 'a' })
  .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })
  .setIssuer(issuer)
  .setAudience(server.href)
  .setExpirationTime(4e9)
  .setIssuedAt(1)
  .setJti('j')
  .sign(privateKey)

/** Where in a login something else comes than should. */
type LoginStep = 'register' | 'token' | 'renew' | 'revoke' | 'callback'

/** What authorization servers answer to a client that registers, logs in, renews and revokes, and to a server that asks. */
export function loginTargets(): Target[] {
  const login = (name: string, place: LoginStep, seeds: [string, ...string[]]): Target => ({
    name,
    share: 1,
    seeds,
    run: (input, random) => logIn(place, input, random),
    allows: isTyped,
  })
  return [
    login('registrations', 'register', registrations),
    login('token responses', 'token', tokens),
    login('renewals', 'renew', tokens),
    login('revocations', 'revoke', ['{}', '{"error":"unsupported_token_type","error_description":"d"}']),
    login('callbacks', 'callback', callbacks),
    { name: 'introspections', share: 1, seeds: introspected, run: introspect, allows: isTyped },
    { name: 'keys of issuers', share: 1, seeds: published, run: keys, allows: isTyped },
  ]
}

const registrations: [string, ...string[]] = [
  JSON.stringify({
    client_id: 'c',
    client_secret: 's',
    client_secret_expires_at: 4e9,
    client_id_issued_at: 1,
    token_endpoint_auth_method: 'client_secret_basic',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code'],
    registration_access_token: 'r',
    registration_client_uri: `${issuer}/register/c`,
  }),
  '{"client_id":"c"}',
  '{"error":"invalid_redirect_uri","error_description":"d"}',
]
const tokens: [string, ...string[]] = [
  JSON.stringify({
    access_token: 'token',
    token_type: 'Bearer',
    expires_in: 300,
    refresh_token: 'again',
    scope: 'a b',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  }),
  '{"access_token":"token","token_type":"DPoP","id_token":"a.b.c"}',
  '{"error":"invalid_grant","error_description":"gone","error_uri":"https://login.example/why"}',
]
const callbacks: [string, ...string[]] = [
  `code=c&state=STATE&iss=${encodeURIComponent(issuer)}`,
  'error=access_denied&error_description=d&error_uri=u&state=STATE',
  'state=STATE&code=c&code=d&response=x&id_token=a.b.c&access_token=t',
]
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  revocation_endpoint: `${issuer}/revoke`,
  jwks_uri: `${issuer}/keys`,
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
}
const right: Readonly<Record<string, string>> = {
  '/.well-known/oauth-protected-resource/mcp': JSON.stringify({
    resource: server.href,
    authorization_servers: [issuer],
  }),
  '/.well-known/oauth-authorization-server': JSON.stringify(metadata),
  '/register': registrations[1] ?? '',
  '/token': tokens[0],
  '/revoke': '',
  '/keys': JSON.stringify({ keys: [jwk] }),
}

/** A whole login, and what another program makes of what was kept of it. */
async function logIn(place: LoginStep, input: Buffer, random: Random): Promise<void> {
  let asked = 0
  const status = random.fraction() < 0.8 ? undefined : random.pick([200, 204, 302, 400, 401, 429, 500])
  const fetch = async (url: URL): Promise<Response> => {
    mustHold(url.protocol === 'https:', 'something is sent without encryption')
    mustHold(url.origin === issuer || url.origin === server.origin, `something is sent to ${url.origin}`)
    const { pathname } = url
    if (pathname === '/token') asked++
    const isIt = pathname === `/${place === 'renew' ? 'token' : place}` && (place !== 'renew' || asked > 1)
    const body = isIt ? new Uint8Array(input) : (right[pathname] ?? '')
    const usual = right[pathname] === undefined ? 404 : pathname === '/register' ? 201 : 200
    const code = (isIt ? status : undefined) ?? usual
    const headers = { 'content-type': 'application/json', location: 'https://elsewhere.example/' }
    return new Response(code === 204 ? null : body, { status: code, headers })
  }
  const options: OAuthOptions = {
    client: { name: 'fuzzed' },
    store: memoryStore(),
    fetch,
    lookup: async () => ['93.184.216.34'],
    redirect: {
      begin: async () => ({
        uri: redirectUri,
        open: async (url) => back(url, place === 'callback' ? input : undefined),
        close: async () => {},
      }),
    },
  }
  const first = oauth(options)
  if (!(await refusedOnce(first, {}))) return
  await shows(first)
  const other = oauth(options)
  await shows(other)
  if (place === 'renew') await refusedOnce(other, await other.authorize({ method: 'POST', url: server }))
  const { outcome } = await other.revoke(server)
  mustHold(['revoked', 'failed', 'none', 'unsupported'].includes(outcome), 'a revocation ends in another way')
}

function back(url: URL, input: Buffer | undefined): URL {
  const state = encodeURIComponent(url.searchParams.get('state') ?? '')
  const query = (input?.toString('utf8') ?? 'code=c&state=STATE').replaceAll('STATE', state)
  return new URL(`${redirectUri}?${query}`)
}

function refusedOnce(auth: Authorization, sent: Readonly<Record<string, string>>): Promise<boolean> {
  const headers = new Headers({ 'www-authenticate': 'Bearer error="invalid_token"' })
  return auth.refused({ status: 401, headers, sent, url: server, method: 'POST', background: false }, never)
}

/** What is sent along is a header, also when it was read from the store. */
async function shows(auth: Authorization): Promise<void> {
  const { authorization } = await auth.authorize({ method: 'POST', url: server })
  mustHold(
    authorization !== undefined && /^(?:Bearer|DPoP) [\x21-\x7e]+$/.test(authorization),
    `a login gives the header ${authorization}`,
  )
}

const introspected: [string, ...string[]] = [
  JSON.stringify({
    active: true,
    iss: issuer,
    sub: 'p',
    aud: server.href,
    exp: 4e9,
    nbf: 1,
    scope: 'a b',
    client_id: 'c',
    username: 'u',
    token_type: 'Bearer',
  }),
  '{"active":false}',
]

/** A caller whose token was verified outside has a name, and scopes that are texts. */
async function introspect(input: Buffer): Promise<void> {
  const body = new Uint8Array(input)
  const verify = introspection({
    issuer,
    endpoint: `${issuer}/introspect`,
    clientId: 'c',
    clientSecret: 's',
    fetch: async () => new Response(body),
  })
  await lets(verify)
}

async function lets(verify: Parameters<typeof bearer>[0]['verify']): Promise<void> {
  const authenticate = bearer({ resource: server.href, authorizationServers: [issuer], verify })
  const header = (name: string): string | undefined =>
    name === 'authorization' ? `Bearer ${access}` : undefined
  const caller = await authenticate({ method: 'POST', url: '/mcp', header, repeats: () => false })
  if ('status' in caller) {
    mustHold([401, 403, 503].includes(caller.status), `a caller is refused with ${caller.status}`)
    return
  }
  const { principal, scopes, expires } = Object(caller)
  mustHold(
    typeof principal === 'string' && principal.startsWith(`${issuer}|`),
    'a caller has another identity',
  )
  mustHold(expires === undefined || expires > Date.now(), 'a token counts that is over')
  mustHold(
    [...scopes].every((scope) => typeof scope === 'string' && scope !== ''),
    'a scope is none',
  )
}

const published: [string, ...string[]] = [
  JSON.stringify({ keys: [jwk, { kty: 'RSA', kid: 'r', n: 'AQAB', e: 'AQAB' }] }),
  JSON.stringify(metadata),
]

/** Only tokens signed by the issuer's keys are accepted, whatever its metadata contains. */
async function keys(input: Buffer): Promise<void> {
  const body = new Uint8Array(input)
  const isKeys = input.toString('latin1').includes('"keys"')
  const verify = jwt({
    issuer,
    lookup: async () => ['93.184.216.34'],
    fetch: async (href) => {
      const { pathname, protocol } = new URL(href)
      mustHold(protocol === 'https:', 'keys are asked for without encryption')
      const asksKeys = !pathname.startsWith('/.well-known')
      return new Response(asksKeys === isKeys ? body : right[pathname])
    },
  })
  await lets(verify)
}
