import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** The authorization server whose tokens are taken, and the server they are to be for. */
export const issuer = 'https://as.example.com'
export const mcp = 'https://mcp.example.com/mcp'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const otherKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const sealing = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** What the authorization server publishes: two keys that sign, and one that does something else. */
export const keys = {
  keys: [
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec', alg: 'ES256', use: 'sig' },
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256', use: 'sig' },
    { ...sealing.publicKey.export({ format: 'jwk' }), kid: 'sealing', alg: 'ECDH-ES', use: 'enc' },
  ],
}

const rsaPem = String(rsa.publicKey.export({ type: 'spki', format: 'pem' }))
const now = (): number => Math.floor(Date.now() / 1000)
const encoded = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url')

/** Members to change; an undefined one is left out. */
type Changed = Readonly<Record<string, unknown>>
type Signer = (input: string) => Uint8Array

const es256 =
  (key: KeyObject = ec.privateKey): Signer =>
  (input) =>
    sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
const rs256: Signer = (input) => sign('sha256', Buffer.from(input), rsa.privateKey)
const hs256 =
  (secret: string): Signer =>
  (input) =>
    createHmac('sha256', secret).update(input).digest()

const claimsOf = (changed: Changed = {}): string =>
  JSON.stringify({ iss: issuer, sub: 'alice', aud: mcp, client_id: 'c', exp: now() + 300, ...changed })
const headerOf = (changed: Changed = {}): string => JSON.stringify({ alg: 'ES256', kid: 'ec', ...changed })

function token(header: string, payload: string | Uint8Array, signer: Signer): string {
  const input = `${encoded(header)}.${encoded(payload)}`
  return `${input}.${encoded(signer(input))}`
}

/** A token that is good, signed with either key. */
export function good(withRsa = false, changed: Changed = {}): string {
  return withRsa
    ? token(headerOf({ alg: 'RS256', kid: 'rsa' }), claimsOf(changed), rs256)
    : token(headerOf(), claimsOf(changed), es256())
}

const claims = (changed: Changed) => (): string => good(false, changed)
const header = (changed: Changed) => (): string => token(headerOf(changed), claimsOf(), es256())
/** Signed properly, with claims that a text begins with. */
const begun = (start: string) => (): string =>
  token(headerOf(), claimsOf().replace('{', `{${start},`), es256())
/** Signed properly, with a last claim more. */
const ended = (end: string) => (): string => token(headerOf(), claimsOf().replace(/}$/, `,${end}}`), es256())
const payload = (text: string | Uint8Array) => (): string => token(headerOf(), text, es256())
const parts = (change: (parts: string[]) => string[]) => (): string => change(good().split('.')).join('.')

const evil = 'https://evil.example/mcp'
const own = otherKeys.publicKey.export({ format: 'jwk' })

/** Tokens that must be rejected, by their fault. */
export const forged: Readonly<Record<string, () => string>> = {
  'no audience': claims({ aud: undefined }),
  'an audience that is null': claims({ aud: null }),
  'an empty audience': claims({ aud: '' }),
  'no audience in the list': claims({ aud: [] }),
  'another audience': claims({ aud: evil }),
  'our audience and a foreign one': claims({ aud: [mcp, evil] }),
  'our audience and a number': claims({ aud: [mcp, 1] }),
  'our audience one list deeper': claims({ aud: [[mcp]] }),
  'our audience as a key': claims({ aud: { [mcp]: true } }),
  'our audience with a slash': claims({ aud: `${mcp}/` }),
  'our audience with a query': claims({ aud: `${mcp}?` }),
  'our audience with its port': claims({ aud: 'https://mcp.example.com:443/mcp' }),
  'our audience in capitals': claims({ aud: mcp.toUpperCase() }),
  'what our audience begins with': claims({ aud: 'https://mcp.example.com' }),
  'what begins with our audience': claims({ aud: `${mcp}2` }),
  'the audience of the client': claims({ aud: 'c' }),
  'no issuer': claims({ iss: undefined }),
  'an issuer with a typo': claims({ iss: 'https://as.exemple.com' }),
  'an issuer with a slash': claims({ iss: `${issuer}/` }),
  'an issuer in capitals': claims({ iss: issuer.toUpperCase() }),
  'an issuer that goes on': claims({ iss: `${issuer}.evil.example` }),
  'an issuer in a list': claims({ iss: [issuer] }),
  'an expiry 61 s ago': () => claims({ exp: now() - 61 })(),
  'no expiry': claims({ exp: undefined }),
  'an expiry that is null': claims({ exp: null }),
  'an expiry as text': claims({ exp: '99999999999' }),
  'an expiry below zero': claims({ exp: -1 }),
  'an expiry no number is as large as': () =>
    token(headerOf(), claimsOf().replace(/"exp":\d+/, '"exp":1e999'), es256()),
  'a beginning in 61 s': () => claims({ nbf: now() + 61 })(),
  'a beginning as text': claims({ nbf: '0' }),
  'a beginning that is null': claims({ nbf: null }),
  'neither a subject nor a client': claims({ sub: undefined, client_id: undefined }),
  'a list of subjects': claims({ sub: ['alice', 'root'] }),
  'a subject that is an object': claims({ sub: { name: 'root' } }),
  'a binding to a key without a proof': claims({ cnf: { jkt: 'a' } }),
  'a binding to a certificate': claims({ cnf: { 'x5t#S256': 'a' } }),
  'a binding that is null': claims({ cnf: null }),
  'a foreign audience before ours': begun(`"aud":"${evil}"`),
  'our audience before a foreign one': ended(`"aud":"${evil}"`),
  'ours after a foreign one of the same name': () =>
    token(headerOf(), claimsOf({ aud: evil }).replace(/}$/, `,"aud":"${mcp}"}`), es256()),
  'a second expiry': () =>
    token(headerOf(), claimsOf({ exp: 1 }).replace(/}$/, ',"exp":99999999999}'), es256()),
  'a second subject': ended('"sub":"root"'),
  'a second issuer': begun('"iss":"https://evil.example"'),
  'a second subject, escaped': ended('"\\u0073ub":"root"'),
  'no algorithm': () => token(headerOf({ alg: 'none' }), claimsOf(), () => new Uint8Array()),
  'no algorithm, in capitals': () => token(headerOf({ alg: 'NONE' }), claimsOf(), es256()),
  'no algorithm, and a signature': () => token(headerOf({ alg: 'none' }), claimsOf(), es256()),
  'an algorithm that is missing': header({ alg: undefined }),
  'an algorithm that is a number': header({ alg: 256 }),
  'two algorithms': () => token('{"alg":"none","alg":"ES256","kid":"ec"}', claimsOf(), es256()),
  'an RSA key as the secret': () => token(headerOf({ alg: 'HS256', kid: 'rsa' }), claimsOf(), hs256(rsaPem)),
  'an RSA key as the secret, for an asymmetric name': () =>
    token(headerOf({ alg: 'RS256', kid: 'rsa' }), claimsOf(), hs256(rsaPem)),
  'a published key as the secret': () =>
    token(headerOf({ alg: 'HS256' }), claimsOf(), hs256(JSON.stringify(keys.keys[0]))),
  'the key of another algorithm': () => token(headerOf({ alg: 'RS256' }), claimsOf(), rs256),
  'the padding of another algorithm': () => token(headerOf({ alg: 'PS256', kid: 'rsa' }), claimsOf(), rs256),
  'a signature of zeros': () => token(headerOf(), claimsOf(), () => new Uint8Array(64)),
  'a signature in DER': () =>
    token(headerOf(), claimsOf(), (input) => sign('sha256', Buffer.from(input), ec.privateKey)),
  'the signature of another key': () => token(headerOf(), claimsOf(), es256(otherKeys.privateKey)),
  'a key it brings along': () =>
    token(headerOf({ kid: undefined, jwk: own }), claimsOf(), es256(otherKeys.privateKey)),
  'a place for its key': () =>
    token(headerOf({ jku: 'https://evil.example/keys' }), claimsOf(), es256(otherKeys.privateKey)),
  'a place for its certificate': () =>
    token(headerOf({ x5u: 'https://evil.example/cert' }), claimsOf(), es256(otherKeys.privateKey)),
  'a key that does not sign': () =>
    token(headerOf({ kid: 'sealing' }), claimsOf(), es256(sealing.privateKey)),
  'a key that is a path': header({ kid: '../../../../dev/null' }),
  'a key that is a query': header({ kid: "x' UNION SELECT 'ec" }),
  'a key that is an object': header({ kid: { toString: 'ec' } }),
  'a key that is the prototype': header({ kid: '__proto__' }),
  'an unknown critical header': header({ crit: ['exp2'], exp2: 1 }),
  'nothing critical': header({ crit: [] }),
  'something critical that is missing': header({ crit: ['b64'] }),
  'a payload that is not encoded': header({ crit: ['b64'], b64: false }),
  'the type of a proof': header({ typ: 'dpop+jwt' }),
  'the type of a logout': header({ typ: 'logout+jwt' }),
  'the type of an event': header({ typ: 'secevent+jwt' }),
  'a type that is a number': header({ typ: 1 }),
  'the claims of another': () =>
    [
      ...good().split('.').slice(0, 1),
      ...good(false, { sub: 'root' }).split('.').slice(1, 2),
      good().split('.')[2],
    ].join('.'),
  'half a signature': parts(([a = '', b = '', c = '']) => [a, b, c.slice(0, 43)]),
  'a signature twice': parts(([a = '', b = '', c = '']) => [a, b, c, c]),
  'no signature': parts(([a = '', b = '']) => [a, b]),
  'an empty signature': parts(([a = '', b = '']) => [a, b, '']),
  'padding at its end': parts(([a = '', b = '', c = '']) => [a, b, `${c}==`]),
  'five parts': parts(([a = '', b = '', c = '']) => [a, b, c, a, b]),
  'an empty payload': payload(''),
  'a payload that is a list': payload('[]'),
  'a payload that is text': payload(`"${mcp}"`),
  'a payload that is null': payload('null'),
  'a payload that is no JSON': payload('{'),
  'a payload that is not UTF-8': payload(Uint8Array.from([0x7b, 0xff, 0xfe, 0x7d])),
  'a payload that nests a thousand deep': payload('['.repeat(1000) + ']'.repeat(1000)),
  'a claim that nests a thousand deep': ended(`"x":${'['.repeat(1000)}${']'.repeat(1000)}`),
  'no structure': () => 'opaque-reference-0123456789',
  'only dots': () => '...',
  'twelve thousand characters': () => 'a'.repeat(12_000),
  'twelve thousand characters of claims of another': () => claims({ aud: evil, x: 'x'.repeat(8_000) })(),
}
