import {
  allowInsecureRequests,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  processRevocationResponse,
  revocationRequest,
} from 'oauth4webapi'
import { excerpt, McpError, messageOf } from '../../jsonrpc/error.ts'
import { isObject, tryParseJson } from '../../jsonrpc/parse.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import { clientAuth, type Identity } from './identity.ts'
import { authError, type Network } from './network.ts'
import type { ProofKey } from './proof-key.ts'
import type { Registration } from './registration.ts'
import type { StoredTokens } from './session.ts'

/** Where and how to send a request of a client to its authorization server. */
interface TokenRequestContext {
  readonly target: DiscoveredIssuer
  readonly network: Network
  readonly proof: ProofKey | undefined
  readonly signal: AbortSignal
}

export interface Tokens {
  readonly clientId: string
  /** The dynamically registered client, if any. */
  readonly registration?: Registration
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken: string | undefined
  /** Seconds. */
  readonly expiresIn: number | undefined
  /** `issued_token_type` of a token exchange. */
  readonly issuedType: string | undefined
}

const headerText = /^[\x21-\x7e]+$/
const attempts = 2
const advice = new Map([
  ['invalid_client', 'Check the client id and its credentials, or register the client again'],
  ['invalid_grant', 'Log in again, or use a new assertion'],
  ['invalid_scope', 'Request other scopes, or have them allowed there'],
  ['invalid_target', 'It does not issue tokens for this server. Contact its operator'],
  ['unauthorized_client', 'Have this grant allowed for the client there'],
  ['unsupported_grant_type', 'It does not support this grant. Use another kind of login'],
  ['access_denied', 'Ask its operator for access'],
])

/** The code of an OAuth error response; undefined for every other failure. */
export function oauthError(error: unknown): string | undefined {
  if (!(error instanceof McpError)) return undefined
  const { error: code } = error.details
  return typeof code === 'string' ? code : undefined
}

/**
 * Requests tokens, and retries once if the server requires a DPoP nonce.
 * @throws McpError 'UNAUTHORIZED'; `details.error` is the code of an OAuth error response
 */
export async function requestTokens(
  context: TokenRequestContext,
  identity: Identity,
  grantType: string,
  params: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const { metadata, issuer } = context.target
  if (metadata.token_endpoint === undefined) {
    throw authError(`The authorization server ${issuer} names no token endpoint. Contact its operator`)
  }
  const client = { client_id: identity.clientId ?? 'none' }
  const options = requestOptions(context, 'refused to issue a token')
  const exchanged = { recognizedTokenTypes: { n_a: () => {} } }
  for (let attempt = 1; ; attempt++) {
    try {
      const auth = await clientAuth(identity)
      const response = await genericTokenEndpointRequest(metadata, client, auth, grantType, params, options)
      const tokens = await processGenericTokenEndpointResponse(metadata, client, response, exchanged)
      const { access_token: accessToken, token_type: type, issued_token_type: issuedType } = tokens
      if (!headerText.test(accessToken)) throw invalidTokenResponse(issuer)
      return {
        clientId: identity.clientId ?? '',
        accessToken,
        tokenType: type === 'dpop' ? 'dpop' : 'bearer',
        refreshToken: tokens.refresh_token,
        expiresIn: tokens.expires_in,
        issuedType: typeof issuedType === 'string' ? issuedType : undefined,
      }
    } catch (error) {
      if (oauthError(error) === 'use_dpop_nonce' && attempt < attempts) continue
      // The parser's errors contain the response with its tokens, so they are not passed on.
      throw error instanceof McpError || context.signal.aborted ? error : invalidTokenResponse(issuer)
    }
  }
}

/** Options of oauth4webapi that send its requests through the SSRF protection, with a DPoP proof if there is a key. */
function requestOptions({ target, network, proof, signal }: TokenRequestContext, failure: string) {
  const send = async (
    href: string,
    { body, headers }: { body: URLSearchParams; headers: Record<string, string> },
  ): Promise<Response> => {
    const url = new URL(href)
    const all = proof === undefined ? headers : { ...headers, dpop: await proof.sign('POST', url) }
    const response = await network.post(url, { body: body.toString(), headers: all }, signal)
    proof?.storeNonce(url.origin, response.headers)
    if (!response.ok) throw await readOAuthError(response, target.issuer, failure)
    return response
  }
  return { [customFetch]: send, [allowInsecureRequests]: true, signal }
}

function invalidTokenResponse(issuer: string): McpError {
  return authError(`The token response of ${issuer} is invalid. Contact its operator`)
}

export async function readOAuthError(response: Response, issuer: string, failure: string): Promise<McpError> {
  const { error, error_description: text } = parseObject(await response.text())
  const { status } = response
  const prefix = `The authorization server ${issuer} ${failure}`
  if (typeof error !== 'string' || error === '') {
    return authError(`${prefix} with status ${status}. Try again later`, { status, issuer })
  }
  const suffix = typeof text === 'string' && text !== '' ? ` (${excerpt(text)})` : ''
  const next = advice.get(error)
  const message = `${prefix}: ${excerpt(error)}${suffix}${next === undefined ? '' : `. ${next}`}`
  return authError(message, { error, status, issuer })
}

/** The object in a JSON text, or an empty one. */
export function parseObject(text: string): Record<string, unknown> {
  const value = tryParseJson(text)
  return isObject(value) ? value : {}
}

/** The outcome of a revocation. The tokens are deleted from the store in every case. */
export type Revocation =
  /** The authorization server revoked the tokens. */
  | { outcome: 'revoked' }
  /** There were no tokens. */
  | { outcome: 'none' }
  /** The authorization server does not support revocation, so the tokens stay valid there until they expire. */
  | { outcome: 'unsupported'; issuer: string }
  /** The revocation failed, so the tokens may stay valid there until they expire. */
  | { outcome: 'failed'; issuer: string; reason: string }

/** Revokes the refresh token and the access token (RFC 7009). */
export async function revokeTokens(
  { issuer, refreshToken, accessToken }: StoredTokens,
  context: TokenRequestContext,
  identity: Identity,
): Promise<Revocation> {
  const { metadata } = context.target
  const client = { client_id: identity.clientId ?? 'none' }
  const options = requestOptions(context, 'refused to revoke a token')
  const failures: unknown[] = []
  const attempt = async (token: string, hint: string): Promise<boolean> => {
    try {
      const additionalParameters = { token_type_hint: hint }
      const auth = await clientAuth(identity)
      const response = await revocationRequest(metadata, client, auth, token, {
        ...options,
        additionalParameters,
      })
      await processRevocationResponse(response)
      return true
    } catch (error) {
      // The parser's errors may contain the request with its token, so they are not passed on.
      const isKnown = error instanceof McpError || context.signal.aborted
      failures.push(
        isKnown ? error : authError(`The revocation response of ${context.target.issuer} is invalid`),
      )
      return false
    }
  }
  const revoked = refreshToken !== undefined && (await attempt(refreshToken, 'refresh_token'))
  await attempt(accessToken, 'access_token')
  // A server that only revokes refresh tokens also revokes their access tokens, or lets them expire.
  const left = failures.filter((error) => !revoked || oauthError(error) !== 'unsupported_token_type')
  return left.length === 0 ? { outcome: 'revoked' } : revocationFailed(issuer, left[0])
}

export function revocationFailed(issuer: string, error: unknown): Revocation {
  return { outcome: 'failed', issuer, reason: messageOf(error) }
}
