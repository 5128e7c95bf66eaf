import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { invalid, McpError, messageOf } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import { fromBase64Url } from '../../request/encoding.ts'
import { metadataUrls } from '../client/discovery.ts'
import { Network, staggered } from '../client/network.ts'
import { type Claims, principalOf, type VerifyToken } from './claims.ts'
import { fetchJson, requireUrl, type TextUrlFetch } from './metadata.ts'

/** The issuer of signed tokens (RFC 9068), its keys and algorithms. */
export interface JwtOptions {
  /** The authorization server, exactly as in its tokens and metadata. */
  issuer: string
  /** URL of its key set. Default: from its metadata. */
  jwksUri?: string
  /** Its keys, instead of fetching them. */
  keys?: JSONWebKeySet
  /** Accepted signature algorithms. Default: every asymmetric one of RSA, ECDSA and EdDSA. */
  algorithms?: readonly string[]
  /**
   * Whether tokens need the `typ` of access tokens (`at+jwt`, RFC 9068). Default false, since many servers omit it; a token
   * with another `typ` is rejected in any case.
   */
  requireType?: boolean
  /** Fetches metadata and keys. Default: the global `fetch`. */
  fetch?: TextUrlFetch
  /**
   * Resolves the host of the key set if it differs from the issuer's: keys are not fetched from a private network the issuer
   * is not in. Default: the system's resolver if available; with a custom `fetch` only literal addresses are checked.
   */
  lookup?: (hostname: string) => Promise<readonly string[]>
  /** Fetches keys over http from other machines too. An attacker on the network could then issue tokens. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

const asymmetric = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** Maximum keys tried for a token without a key id. */
const maxCandidates = 8
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const accessTokenTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt'])

/** Errors caused by the token; all others are failures of this server or the authorization server. */
const tokenFaults: ReadonlySet<string> = new Set([
  errors.JWTClaimValidationFailed.code,
  errors.JWTExpired.code,
  errors.JWTInvalid.code,
  errors.JWSInvalid.code,
  errors.JWSSignatureVerificationFailed.code,
  errors.JOSEAlgNotAllowed.code,
  errors.JOSENotSupported.code,
  errors.JWKSNoMatchingKey.code,
])

/**
 * Verifies signed access tokens (RFC 9068) of one authorization server. Keys are fetched on first use; again at most every 30 s
 * for an unknown key id, and 5 s after a failure.
 * @throws McpError 'INVALID' for invalid options
 */
export function jwt(options: JwtOptions): VerifyToken {
  const { issuer, algorithms = asymmetric, requireType = false, dangerouslyAllowPlainHttp = false } = options
  requireUrl('issuer', issuer, dangerouslyAllowPlainHttp)
  const unsafe = algorithms.find((name) => !asymmetric.includes(name))
  if (unsafe !== undefined) {
    throw invalid(
      `algorithms: "${unsafe}" is not one of ${asymmetric.join(', ')}. Use a custom verify function for it`,
    )
  }
  const key = keyFinder(options)
  return async (token) => {
    try {
      // Unverified: only to skip tokens of other issuers without fetching keys.
      if (decodeJwt(token).iss !== issuer) return undefined
      const { payload, protectedHeader } = await verifyToken(token, key, {
        issuer,
        algorithms: [...algorithms],
        requiredClaims: ['exp'],
        // Expiry is checked by `claimsProblem`, with a single tolerance.
        clockTolerance: Number.MAX_SAFE_INTEGER,
      })
      const sound = isAccessToken(protectedHeader.typ, requireType) && isUnambiguous(token)
      return sound && hasPrincipal(payload) ? (payload satisfies Claims) : undefined
    } catch (error) {
      if (error instanceof errors.JOSEError && tokenFaults.has(error.code)) return undefined
      if (error instanceof McpError) throw error
      throw new McpError('PROTOCOL', `The keys of ${issuer} cannot be used: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
}

/** `typ` is unchecked header data. */
function isAccessToken(typ: unknown, required: boolean): boolean {
  if (typ === undefined) return !required
  const type = typeof typ === 'string' ? typ.toLowerCase() : ''
  return accessTokenTypes.has(type) || (!required && type === 'jwt')
}

/** Whether all parsers read the token alike: canonical base64url, no duplicate keys, no numbers too large for a double. */
function isUnambiguous(token: string): boolean {
  const parts = token.split('.').map(fromBase64Url)
  try {
    for (const part of parts.slice(0, 2)) parseJson(decoder.decode(part))
    return !parts.includes(undefined)
  } catch {
    return false
  }
}

/** Whether claims have a subject, or a client that acts for itself. */
function hasPrincipal(claims: Claims): boolean {
  const { sub, iss } = claims
  return (sub === undefined || typeof sub === 'string') && principalOf(claims, String(iss)) !== undefined
}

type VerifyOptions = Parameters<typeof jwtVerify>[2]

/** Verifies a token; without a key id, tries each matching key. */
async function verifyToken(
  token: string,
  key: JWTVerifyGetKey,
  options: VerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, key, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let remaining = maxCandidates
    for await (const candidate of error) {
      if (remaining-- === 0) break
      try {
        return await jwtVerify(token, candidate, options)
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

function keyFinder(options: JwtOptions): JWTVerifyGetKey {
  const { jwksUri, keys, dangerouslyAllowPlainHttp: plainHttp = false } = options
  if (keys !== undefined) return createLocalJWKSet(keys)
  const load = options.fetch ?? ((url, init) => fetch(url, init))
  if (jwksUri !== undefined) return remoteKeys(requireKeysUrl(jwksUri, plainHttp), load)
  const loadNamed = namedKeysLoader(options, load)
  const findUrl = rememberFailure(async () => {
    const { jwks_uri } = await issuerMetadata(options.issuer, load)
    if (typeof jwks_uri === 'string') return requireKeysUrl(jwks_uri, plainHttp)
    throw new McpError('PROTOCOL', `The metadata of ${options.issuer} has no "jwks_uri"`)
  })
  let remote: Promise<JWTVerifyGetKey> | undefined
  return async (header, input) => {
    remote ??= findUrl().then((url) => remoteKeys(url, loadNamed))
    remote.catch(() => {
      remote = undefined
    })
    return (await remote)(header, input)
  }
}

/** The URL of a key set; unlike an identifier it may have a query. */
function requireKeysUrl(text: string, plainHttp: boolean): URL {
  requireUrl('jwksUri', text.replace(/\?.*$/, ''), plainHttp)
  return new URL(text)
}

/** Rejects with an McpError if the metadata is unavailable, or belongs to another issuer. */
async function issuerMetadata(issuer: string, load: TextUrlFetch): Promise<JsonObject> {
  let failure: unknown
  const attempts = staggered(metadataUrls(new URL(issuer)), ({ href }, signal) =>
    fetchJson(load, href, { signal }),
  )
  for await (const { place, ...attempt } of attempts) {
    if ('answer' in attempt && attempt.answer['issuer'] === issuer) return attempt.answer
    if ('answer' in attempt)
      failure = new McpError('PROTOCOL', `${place} contains the metadata of another issuer`)
    else if (!attempt.late) failure = attempt.error
    else failure = new McpError('CONNECT_FAILED', `${place} did not respond`, { cause: attempt.error })
  }
  throw failure
}

/**
 * Fetches a key set that the metadata names. A host other than the issuer's is checked against private networks first, and only the
 * checked addresses are used.
 */
function namedKeysLoader(options: JwtOptions, load: TextUrlFetch): TextUrlFetch {
  const { fetch: own, lookup, dangerouslyAllowPlainHttp: plainHttp = false } = options
  const issuer = new URL(options.issuer)
  // A custom fetch may resolve names differently, so the system's resolver says nothing about it.
  const network = new Network(issuer, {
    plainHttp,
    ...(own === undefined
      ? { lookup }
      : { fetch: ({ href }, init) => own(href, init), lookup: lookup ?? 'none' }),
  })
  return async (url, init) => {
    const keys = new URL(url)
    if (keys.hostname === issuer.hostname) return load(url, init)
    try {
      return await network.send(keys, init)
    } catch (cause) {
      if (!(cause instanceof McpError)) throw cause
      throw new McpError(
        'PROTOCOL',
        `The metadata of ${options.issuer} names ${url} as its key set, which was not fetched: ${cause.message}. If this address is correct, pass it to jwt as "jwksUri"`,
        { cause },
      )
    }
  }
}

function remoteKeys(url: URL, load: TextUrlFetch): JWTVerifyGetKey {
  const fetchKeys = rememberFailure(async (address: string, { headers }: { headers: Headers }) =>
    Response.json(await fetchJson(load, address, { headers })),
  )
  return createRemoteJWKSet(url, { [customFetch]: fetchKeys })
}

/** Milliseconds until a failed request is retried. */
const retryMs = 5000

/** Remembers a failure for a while: anyone can send tokens that need keys. */
function rememberFailure<Args extends unknown[], T>(
  load: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  let failed: { readonly error: unknown; readonly until: number } | undefined
  return async (...args) => {
    if (failed !== undefined && Date.now() < failed.until) throw failed.error
    try {
      return await load(...args)
    } catch (error) {
      failed = { error, until: Date.now() + retryMs }
      throw error
    }
  }
}
