import {
  allowInsecureRequests,
  customFetch,
  processRevocationResponse,
  revocationRequest,
} from 'oauth4webapi'
import { McpError } from '../../jsonrpc/error.ts'
import type { Described } from './discovery.ts'
import { clientAuth, type Identity } from './identity.ts'
import type { Network } from './network.ts'
import type { StoredTokens } from './stored-tokens.ts'
import { oauthError, refusalIn } from './tokens.ts'

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
  readonly server: Described
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
  return left.length === 0 ? { outcome: 'revoked' } : failed(issuer, left[0])
}

/** Why the authorization server could not be told. */
export function failed(issuer: string, error: unknown): Revocation {
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
    if (!response.ok) throw await refusalIn(response, issuer, 'refused to revoke a token')
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
