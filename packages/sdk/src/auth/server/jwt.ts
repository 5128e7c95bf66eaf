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
import { parseJson } from '../../jsonrpc/parse.ts'
import { fromBase64Url } from '../../request/encoding.ts'
import { type Claims, principalOf, type VerifyToken } from './claims.ts'
import { IssuerKeys, requireKeysUrl, retryMs } from './issuer.ts'
import { type AuthFetch, fetchJson, requireUrl } from './metadata.ts'

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
  fetch?: AuthFetch
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
/** Most keys tried for a token without a key id. */
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
 * @throws McpError INVALID for invalid options
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

/** Whether every reader parses the token alike: canonical base64url, no duplicate keys, no numbers too large for a double. */
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
      // Anyone can send tokens with unknown keys, so a failure is remembered for a while.
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
