import { KeyObject, sign, verify as verifySignature } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { hostOf, zoneOfAddress, zoneOfName } from '../../../packages/sdk/src/auth/client/address-zones.ts'
import {
  combineChallenges,
  parseChallenges,
  parseScopes,
} from '../../../packages/sdk/src/auth/client/challenge.ts'
import { discover } from '../../../packages/sdk/src/auth/client/discovery.ts'
import { Network } from '../../../packages/sdk/src/auth/client/network.ts'
import { parseObject } from '../../../packages/sdk/src/auth/client/token-endpoint.ts'
import { credentialsOf } from '../../../packages/sdk/src/auth/server/bearer.ts'
import { ProofChecker } from '../../../packages/sdk/src/auth/server/dpop.ts'
import { jwt } from '../../../packages/sdk/src/auth/server/jwt.ts'
import { digest } from '../../../packages/sdk/src/request/encoding.ts'
import { isTyped, mustHold, type Target } from './fuzz-target.ts'
import type { Form } from './mutate.ts'
import { finished } from './odd.ts'

const server = new URL('https://mcp.example/mcp')
const issuer = 'https://login.example'
const never = new AbortController().signal
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
const signer = KeyObject.from(privateKey)
const verifier = KeyObject.from(publicKey)
const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
const access = await signed(
  { typ: 'at+jwt', kid: 'k' },
  { iss: issuer, sub: 'p', aud: server.href, exp: 4e9, scope: 'a' },
)
const verify = jwt({ issuer, keys: { keys: [jwk] } })
const proof = await signed(
  { typ: 'dpop+jwt', jwk },
  { htm: 'POST', htu: server.href, iat: 1, jti: 'j', ath: await digest(access) },
)
const checker = new ProofChecker(server, {}, 1_000)

function signed(header: object, payload: Record<string, unknown>): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey)
}

/** A token as what is in it, signed again by who signs them. */
const signedAnew: Form = {
  read: (text) => {
    const [header = '', payload = ''] = text.split('.')
    return [header, payload].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  },
  write: (value) => {
    const parts: unknown[] = Array.isArray(value) ? value : [value]
    const credential = parts
      .slice(0, 2)
      .map((part) => Buffer.from(finished(JSON.stringify(part))).toString('base64url'))
      .join('.')
    const signature = sign('sha256', Buffer.from(credential), { key: signer, dsaEncoding: 'ieee-p1363' })
    return `${credential}.${signature.toString('base64url')}`
  },
}

/** What logins are made of: challenges, credentials, documents and tokens. */
export function authTargets(): Target[] {
  return [
    { name: 'challenges', share: 5, seeds: challenges, run: challenge, allows: isTyped },
    {
      name: 'Authorization',
      share: 2,
      seeds: [`Bearer ${access}`, 'DPoP abc==', 'Basic eA=='],
      run: authorization,
      allows: isTyped,
    },
    { name: 'login documents', share: 3, seeds: documents, run: document, allows: isTyped },
    {
      name: 'token answers',
      share: 3,
      seeds: answers,
      run: (input) => void parseObject(input.toString()),
      allows: isTyped,
    },
    { name: 'tokens', share: 1, seeds: [access, proof], form: signedAnew, run: token, allows: isTyped },
    { name: 'proofs', share: 1, seeds: [proof, access], form: signedAnew, run: proved, allows: isTyped },
    { name: 'addresses', share: 2, seeds: addresses, run: address, allows: isTyped },
  ]
}

const challenges: [string, ...string[]] = [
  'Bearer realm="x", error="invalid_token", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource"',
  'DPoP algs="ES256 RS256", error="use_dpop_nonce"',
  'Basic realm="a, b=\\"c\\"", Bearer scope="a b c", Negotiate abc==',
]

function challenge(input: Buffer): void {
  const text = input.toString('latin1')
  const wanted = combineChallenges(parseChallenges(text))
  mustHold(
    (wanted.scopes ?? []).every((scope) => scope !== ''),
    'a scope is empty',
  )
  parseScopes(text)
}

function authorization(input: Buffer): void {
  const text = input.toString('latin1')
  const found = credentialsOf({
    method: 'POST',
    url: `/mcp?${text}`,
    header: () => text,
    repeats: () => false,
  })
  mustHold(found.type !== 'token' || /^[\x21-\x7e]+$/.test(found.token), 'a token holds what no token does')
}

const documents: [string, ...string[]] = [
  JSON.stringify({ resource: server.href, authorization_servers: [issuer], scopes_supported: ['a', 'b'] }),
  JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    dpop_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
  }),
]

/** One of the two documents is the mutant, the other is right. */
async function document(input: Buffer): Promise<void> {
  const text = input.toString('latin1')
  const isResource = text.includes('resource"')
  const network = new Network(server, {
    lookup: async () => [],
    fetch: async (url) => {
      mustHold(
        url.protocol === 'https:' || url.hostname === 'localhost',
        'a document is fetched without encryption',
      )
      const ofResource = url.pathname.includes('protected-resource')
      const body = ofResource === isResource ? new Uint8Array(input) : (documents[ofResource ? 0 : 1] ?? '')
      return new Response(body, { headers: { 'content-type': 'application/json' } })
    },
    // The names in the documents are looked up nowhere.
  })
  const wanted = { resourceMetadata: undefined, scopes: undefined, error: undefined, dpop: false }
  const target = await discover(server, wanted, network, [], never)
  mustHold(new URL(target.issuer).protocol === 'https:', 'a login is begun without encryption')
}

const answers: [string, ...string[]] = [
  JSON.stringify({
    access_token: access,
    token_type: 'Bearer',
    expires_in: 300,
    refresh_token: 'r',
    scope: 'a b',
  }),
  JSON.stringify({
    error: 'invalid_grant',
    error_description: 'gone',
    error_uri: 'https://login.example/why',
  }),
]

/** Only what was signed for this server is taken, and only as it was written. */
async function token(input: Buffer): Promise<void> {
  const text = input.toString('latin1')
  const claims = await verify(text)
  if (claims === undefined) return
  const [header = '', payload = '', signature = ''] = text.split('.')
  const isSigned = verifySignature(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key: verifier, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  mustHold(isSigned, 'a token that was changed is taken')
  mustHold(claims['iss'] === issuer, 'a token of another issuer is taken')
}

async function proved(input: Buffer): Promise<void> {
  const text = input.toString('latin1')
  const request = {
    method: 'POST',
    url: '/mcp',
    header: (name: string) => (name === 'dpop' ? text : name === 'host' ? 'mcp.example' : undefined),
    repeats: () => false,
  }
  const { ok } = await checker.check(request, access, 'thumbprint of another key', null)
  mustHold(!ok, 'a proof that was changed is taken')
}

const addresses: [string, ...string[]] = [
  '127.0.0.1',
  '10.0.0.1',
  '[::ffff:10.0.0.1]',
  '169.254.169.254',
  '0x7f.1',
  'fe80::1%eth0',
  'localhost.',
  '64:ff9b::7f00:1',
]

function address(input: Buffer): void {
  const text = input.toString('utf8')
  zoneOfAddress(text)
  zoneOfName(text)
  if (!URL.canParse(`https://${text}`)) return
  const host = hostOf(new URL(`https://${text}`))
  // Every way to write the loopback address of four bytes ends up the same.
  const parts = /^127(?:\.\d+){3}$/.test(host) ? host.split('.').map(Number) : [256]
  mustHold(parts.some((part) => part > 255) || zoneOfAddress(host) === 'loopback', 'loopback is not seen')
}
