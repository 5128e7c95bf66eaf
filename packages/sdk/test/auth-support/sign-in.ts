import { calculatePKCECodeChallenge, generateRandomCodeVerifier } from 'oauth4webapi'
import { isObject } from '../../../../test/setup/json.ts'
import type { AuthorizationServer } from './authorization-server.ts'

export interface SignIn {
  resource: string
  scope?: string
  /** Who signs in. Default `alice`. */
  account?: string
  /** A client that is known already. Default: one that registers itself. */
  clientId?: string
  /** Headers of the token request: a DPoP proof. */
  headers?: () => Promise<Record<string, string>>
}

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  readonly clientId: string
  readonly scope: string
}

const redirectUri = 'http://127.0.0.1:9/callback'

/** Goes through registration, authorization and the token request, the way a client and a browser would. */
export async function signIn(as: AuthorizationServer, wanted: SignIn): Promise<Tokens> {
  const { resource, scope, account = 'alice', clientId = await register(as), headers } = wanted
  const verifier = generateRandomCodeVerifier()
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    login_hint: account,
    ...(scope === undefined ? {} : { scope }),
  })
  const answer = await fetch(`${as.issuer}/auth?${query}`, { redirect: 'manual' })
  const back = new URL(answer.headers.get('location') ?? `${redirectUri}?error=${await answer.text()}`)
  const code = back.searchParams.get('code')
  if (code === null) throw new Error(`Nobody signed in: ${back.search}`)
  const form = { grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: redirectUri }
  return requestTokens(as, { ...form, code_verifier: verifier, resource }, await headers?.())
}

/** Exchanges a refresh token. */
export function refresh(as: AuthorizationServer, tokens: Tokens, resource: string): Promise<Tokens> {
  const { clientId, refreshToken } = tokens
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, resource }
  return requestTokens(as, form)
}

async function register(as: AuthorizationServer): Promise<string> {
  const { client_id } = await post(`${as.issuer}/reg`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'A test',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    }),
  })
  return String(client_id)
}

async function requestTokens(
  as: AuthorizationServer,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Tokens> {
  const answer = await post(`${as.issuer}/token`, { headers, body: new URLSearchParams(form) })
  return {
    accessToken: String(answer['access_token']),
    refreshToken: String(answer['refresh_token']),
    clientId: form['client_id'] ?? '',
    scope: String(answer['scope']),
  }
}

async function post(url: string, init: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', ...init })
  const value: unknown = await response.json()
  if (!response.ok || !isObject(value))
    throw new Error(`${url} answered ${response.status}: ${JSON.stringify(value)}`)
  return value
}
