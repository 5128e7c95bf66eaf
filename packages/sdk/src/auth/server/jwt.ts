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
import { McpError } from '../../jsonrpc/error.ts'
import { parseJson } from '../../jsonrpc/parse.ts'
import { fromBase64Url } from '../../request/encoding.ts'
import { type Claims, principalOf, type VerifyToken } from './claims.ts'
import { IssuerKeys, requireKeysUrl, retryMs } from './issuer.ts'
import { type AuthFetch, fetchJson, requireUrl } from './metadata.ts'

/** Whose signed tokens are verified (RFC 9068), and by which keys and algorithms. */
export interface JwtOptions {
  /** The authorization server, exactly as its tokens and its metadata name it. */
  issuer: string
  /** Where its keys are. Default: where its metadata says. */
  jwksUri?: string
  /** Its keys, in place of fetching them. */
  keys?: JSONWebKeySet
  /** Signature algorithms that are accepted. Default: every asymmetric one of RSA, ECDSA and EdDSA. */
  algorithms?: readonly string[]
  /**
   * Whether tokens must say that they are access tokens (`typ` is `at+jwt`, RFC 9068). Default false, since many
   * servers leave it out; a token that says it is something else is refused all the same.
   */
  requireType?: boolean
  /** What fetches metadata and keys. Default: the global `fetch`. */
  fetch?: AuthFetch
  /**
   * Resolves the host that metadata names for the keys, where that is not the issuer's own: keys are not fetched from a
   * private network that the issuer is not part of. Default: the system's resolver where there is one; with a `fetch`
   * of your own, names are judged by what they say.
   */
  lookup?: (hostname: string) => Promise<readonly string[]>
  /** Fetches keys over http from other machines too. Whoever is on the way could then issue tokens. Default false. */
  dangerouslyAllowPlainHttp?: boolean
}

const asymmetric = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** Keys that no token names are looked at one by one, up to so many. */
const maxCandidates = 8
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const accessTokenTypes: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt'])

/** What only a token can be the cause of; anything else is a failure of this side or of the authorization server. */
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
 * Verifies signed access tokens (RFC 9068) of one authorization server. Its keys are fetched when needed, and again at
 * most every 30 s when a token names one that is not known, or 5 s after they could not be had.
 * @throws McpError INVALID for options that are no use
 */
export function jwt(options: JwtOptions): VerifyToken {
  const { issuer, algorithms = asymmetric, requireType = false, dangerouslyAllowPlainHttp = false } = options
  requireUrl('issuer', issuer, dangerouslyAllowPlainHttp)
  const unsafe = algorithms.find((name) => !asymmetric.includes(name))
  if (unsafe !== undefined) {
    throw new McpError(
      'INVALID',
      `algorithms: "${unsafe}" is not one of ${asymmetric.join(', ')}. Write a function of your own for it`,
    )
  }
  const key = keyFinder(options)
  return async (token) => {
    try {
      // Looked at before it is verified only to leave the tokens of others alone, without fetching keys for them.
      if (decodeJwt(token).iss !== issuer) return undefined
      const { payload, protectedHeader } = await verified(token, key, {
        issuer,
        algorithms: [...algorithms],
        requiredClaims: ['exp'],
        // Expiry is checked with everything else, by one clock and one tolerance.
        clockTolerance: Number.MAX_SAFE_INTEGER,
      })
      const sound = isAccessToken(protectedHeader.typ, requireType) && readsOneWay(token)
      return sound && namesSomebody(payload) ? (payload satisfies Claims) : undefined
    } catch (error) {
      if (error instanceof errors.JOSEError && tokenFaults.has(error.code)) return undefined
      if (error instanceof McpError) throw error
      throw new McpError('PROTOCOL', `The keys of ${issuer} cannot be used: ${reasonOf(error)}`, {
        cause: error,
      })
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** `typ` comes unchecked out of the header. */
function isAccessToken(typ: unknown, required: boolean): boolean {
  if (typ === undefined) return !required
  const type = typeof typ === 'string' ? typ.toLowerCase() : ''
  return accessTokenTypes.has(type) || (!required && type === 'jwt')
}

/**
 * Whether all readers of a verified token see the same: it has no other spelling, no member stands twice in it, and no
 * number is too large.
 */
function readsOneWay(token: string): boolean {
  const parts = token.split('.').map(fromBase64Url)
  try {
    for (const part of parts.slice(0, 2)) parseJson(decoder.decode(part))
    return !parts.includes(undefined)
  } catch {
    return false
  }
}

/** Whether claims stand for one subject, or for a client that acts for itself. */
function namesSomebody(claims: Claims): boolean {
  const { sub, iss } = claims
  return (sub === undefined || typeof sub === 'string') && principalOf(claims, String(iss)) !== undefined
}

type VerifyOptions = Parameters<typeof jwtVerify>[2]

/** Verifies a token; where it names no key and several would fit, with each of them. */
async function verified(
  token: string,
  key: JWTVerifyGetKey,
  options: VerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, key, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let left = maxCandidates
    for await (const candidate of error) {
      if (left-- === 0) break
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
  const { issuer, jwksUri, keys, dangerouslyAllowPlainHttp: plainHttp = false } = options
  if (keys !== undefined) return createLocalJWKSet(keys)
  if (jwksUri !== undefined) {
    return remoteKeys(requireKeysUrl(jwksUri, plainHttp), options.fetch ?? ((url, init) => fetch(url, init)))
  }
  const issuerKeys = new IssuerKeys({ issuer, fetch: options.fetch, lookup: options.lookup, plainHttp })
  let remote: JWTVerifyGetKey | undefined
  return async (header, input) => {
    const url = await issuerKeys.jwksUri()
    remote ??= remoteKeys(url, (address, init) => issuerKeys.load(address, init))
    return remote(header, input)
  }
}

function remoteKeys(url: URL, load: AuthFetch): JWTVerifyGetKey {
  let failed: { readonly error: unknown; readonly until: number } | undefined
  return createRemoteJWKSet(url, {
    [customFetch]: async (address, { headers }) => {
      // Anybody can send tokens that need a key, so a failure counts for all of them for a while.
      if (failed !== undefined && Date.now() < failed.until) throw failed.error
      try {
        return Response.json(await fetchJson(load, address, { headers }))
      } catch (error) {
        failed = { error, until: Date.now() + retryMs }
        throw error
      }
    },
  })
}
