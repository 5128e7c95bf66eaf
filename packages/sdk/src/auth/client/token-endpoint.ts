import {
  allowInsecureRequests,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
  processRevocationResponse,
  revocationRequest,
} from 'oauth4webapi'
import { excerpt, McpError } from '../../jsonrpc/error.ts'
import { isObject, parseJson } from '../../jsonrpc/parse.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import { clientAuth, type Identity } from './identity.ts'
import { authError, type Network } from './network.ts'
import type { ProofKey } from './proof-key.ts'
import type { Registration } from './registration.ts'
import type { StoredTokens } from './stored-tokens.ts'

/** Who asks an authorization server for tokens, and how. */
export interface TokenEndpoint {
  readonly server: DiscoveredIssuer
  readonly identity: Identity
  readonly network: Network
  readonly proof: ProofKey | undefined
  readonly signal: AbortSignal
}

/** What a token endpoint gave. */
export interface Tokens {
  readonly clientId: string
  /** The client they were given to, where it registered itself. */
  readonly registration?: Registration
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken: string | undefined
  /** Seconds, where the server says. */
  readonly expiresIn: number | undefined
  /** What kind of token an exchange gave. */
  readonly issuedType: string | undefined
}

const headerText = /^[\x21-\x7e]+$/
const attempts = 2
const advice = new Map([
  ['invalid_client', 'Check the client id and its credentials, or register the client anew'],
  ['invalid_grant', 'Log in again, or give a fresh assertion'],
  ['invalid_scope', 'Ask for other scopes, or have them allowed there'],
  ['invalid_target', 'It does not issue tokens for this server: tell whoever runs it'],
  ['unauthorized_client', 'Have this client allowed to get tokens this way there'],
  ['unsupported_grant_type', 'It gives no tokens this way: use another kind of login'],
  ['access_denied', 'Ask whoever runs it for access'],
])

/**
 * Asks the token endpoint, once more where it wants a nonce in the proof of possession.
 * @throws McpError 'UNAUTHORIZED'; `details.error` is the code of an OAuth error response
 */
export async function requestTokens(
  endpoint: TokenEndpoint,
  grantType: string,
  params: Readonly<Record<string, string>>,
): Promise<Tokens> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await requestOnce(endpoint, grantType, params)
    } catch (error) {
      if (oauthError(error) !== 'use_dpop_nonce' || attempt === attempts) throw error
    }
  }
}

/** The code of an OAuth error response; undefined for every other failure. */
export function oauthError(error: unknown): string | undefined {
  if (!(error instanceof McpError)) return undefined
  const { error: code } = error.details
  return typeof code === 'string' ? code : undefined
}

async function requestOnce(
  { server, identity, network, proof, signal }: TokenEndpoint,
  grantType: string,
  params: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const { metadata, issuer } = server
  if (metadata.token_endpoint === undefined) {
    throw authError(`The authorization server ${issuer} names no token endpoint. Tell whoever runs it`)
  }
  const client = { client_id: identity.clientId ?? 'none' }
  const send = async (
    href: string,
    { body, headers }: { body: URLSearchParams; headers: Record<string, string> },
  ): Promise<Response> => {
    const url = new URL(href)
    const all = proof === undefined ? headers : { ...headers, dpop: await proof.sign('POST', url) }
    const response = await network.post(url, { body: body.toString(), headers: all }, signal)
    proof?.storeNonce(url.origin, response.headers)
    if (!response.ok) throw await readOAuthError(response, issuer, 'refused to issue a token')
    return response
  }
  const options = { [customFetch]: send, [allowInsecureRequests]: true, signal }
  try {
    const auth = await clientAuth(identity)
    const response = await genericTokenEndpointRequest(metadata, client, auth, grantType, params, options)
    const exchanged = { recognizedTokenTypes: { n_a: () => {} } }
    const answer = await processGenericTokenEndpointResponse(metadata, client, response, exchanged)
    const { access_token: accessToken, token_type: type, issued_token_type: issuedType } = answer
    if (!headerText.test(accessToken)) throw invalidTokenResponse(issuer)
    return {
      clientId: identity.clientId ?? '',
      accessToken,
      tokenType: type === 'dpop' ? 'dpop' : 'bearer',
      refreshToken: answer.refresh_token,
      expiresIn: answer.expires_in,
      issuedType: typeof issuedType === 'string' ? issuedType : undefined,
    }
  } catch (error) {
    // Errors of the parser hold the answer, tokens and all, so none of them is passed on.
    throw error instanceof McpError || signal.aborted ? error : invalidTokenResponse(issuer)
  }
}

function invalidTokenResponse(issuer: string): McpError {
  return authError(`The token response of ${issuer} is not a valid one. Tell whoever runs it`)
}

/** What an OAuth error response says, with what to do about it. */
export async function readOAuthError(response: Response, issuer: string, what: string): Promise<McpError> {
  const { error, error_description: text } = parseObject(await response.text())
  const { status } = response
  if (typeof error !== 'string' || error === '') {
    return authError(
      `The authorization server ${issuer} ${what} with status ${status}. Try again later`,
      undefined,
      {
        status,
        issuer,
      },
    )
  }
  const why = typeof text === 'string' && text !== '' ? ` (${excerpt(text)})` : ''
  const next = advice.get(error)
  return authError(
    `The authorization server ${issuer} ${what}: ${excerpt(error)}${why}${next === undefined ? '' : `. ${next}`}`,
    undefined,
    { error, status, issuer },
  )
}

/** The object a JSON text holds, or an empty one. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** What became of tokens that are not wanted any more. They are forgotten on this side in every case. */
export type Revocation =
  /** The authorization server takes them no longer. */
  | { outcome: 'revoked' }
  /** There were none. */
  | { outcome: 'none' }
  /** The authorization server offers no revocation, so they stay good there until they run out. */
  | { outcome: 'unsupported'; issuer: string }
  /** The authorization server could not be told, so they may stay good there until they run out. */
  | { outcome: 'failed'; issuer: string; reason: string }

/** Where tokens are revoked, and who asks for it. */
export interface Revoking {
  readonly server: DiscoveredIssuer
  readonly identity: Identity
  readonly network: Network
  readonly signal: AbortSignal
}

/**
 * Tells the authorization server that tokens are not wanted any more (RFC 7009): the one that gets others first, and
 * the access token whatever became of that.
 */
export async function revokeTokens(saved: StoredTokens, revoking: Revoking): Promise<Revocation> {
  const { issuer } = saved
  const { refreshToken, accessToken } = saved
  const failures: unknown[] = []
  const attempt = async (token: string, hint: string): Promise<boolean> => {
    try {
      await revokeToken(token, hint, revoking)
      return true
    } catch (error) {
      failures.push(error)
      return false
    }
  }
  const ended = refreshToken !== undefined && (await attempt(refreshToken, 'refresh_token'))
  await attempt(accessToken, 'access_token')
  // A server that revokes refresh tokens alone ends their access tokens with them, or lets them run out.
  const left = failures.filter((error) => !ended || oauthError(error) !== 'unsupported_token_type')
  return left.length === 0 ? { outcome: 'revoked' } : revocationFailed(issuer, left[0])
}

/** Why the authorization server could not be told. */
export function revocationFailed(issuer: string, error: unknown): Revocation {
  return { outcome: 'failed', issuer, reason: error instanceof Error ? error.message : String(error) }
}

async function revokeToken(
  token: string,
  hint: string,
  { server, identity, network, signal }: Revoking,
): Promise<void> {
  const { metadata, issuer } = server
  const client = { client_id: identity.clientId ?? 'none' }
  const send = async (
    href: string,
    { body, headers }: { body: URLSearchParams; headers: Record<string, string> },
  ): Promise<Response> => {
    const response = await network.post(new URL(href), { body: body.toString(), headers }, signal)
    if (!response.ok) throw await readOAuthError(response, issuer, 'refused to revoke a token')
    return response
  }
  try {
    const response = await revocationRequest(metadata, client, await clientAuth(identity), token, {
      [customFetch]: send,
      [allowInsecureRequests]: true,
      additionalParameters: { token_type_hint: hint },
      signal,
    })
    await processRevocationResponse(response)
  } catch (error) {
    // Errors of the parser may hold the request, token and all, so none of them is passed on.
    if (error instanceof McpError || signal.aborted) throw error
    throw new McpError('UNAUTHORIZED', `The revocation response of ${issuer} is not a valid one`)
  }
}
