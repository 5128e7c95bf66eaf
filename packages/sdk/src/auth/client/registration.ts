import { isObject } from '../../jsonrpc/parse.ts'
import type { CredentialStore } from './credential-store.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import type { ClientAuthMethod, Identity } from './identity.ts'
import { authError, isLoopback, type MissingForLogin, type Network } from './network.ts'
import { parseObject, readOAuthError } from './token-endpoint.ts'

/** A dynamically registered client (RFC 7591). */
export interface Registration extends Identity {
  readonly clientId: string
  readonly redirectUri: string
  /** Milliseconds since 1970. */
  readonly secretEndsAt?: number
}

/** Authentication methods for a dynamically registered client, in order of preference. */
const authMethods: readonly ClientAuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post']
const goodForMs = 60_000

/** Whether its secret, if any, is valid for another minute. */
export function isUsable({ secretEndsAt }: Registration): boolean {
  return secretEndsAt === undefined || secretEndsAt >= Date.now() + goodForMs
}

export function isRegistration(value: unknown): value is Registration {
  if (!isObject(value)) return false
  const { clientId, redirectUri, method, secret, secretEndsAt } = value
  return (
    typeof clientId === 'string' &&
    typeof redirectUri === 'string' &&
    authMethods.some((known) => known === method) &&
    (secret === undefined || typeof secret === 'string') &&
    (secretEndsAt === undefined || typeof secretEndsAt === 'number')
  )
}

interface RegistrationRequest {
  readonly server: DiscoveredIssuer
  readonly redirectUri: string
  readonly name: string
  readonly uri: string | undefined
  readonly network: Network
  readonly store: CredentialStore
  readonly signal: AbortSignal
}

/** The maximum time value of a date. */
const maxDateMs = 8_640_000_000_000_000

/** The stored registration for an issuer, if it is usable. */
export async function loadRegistration(
  issuer: string,
  store: CredentialStore,
): Promise<Registration | undefined> {
  const stored = parseObject((await store.get(keyOf(issuer))) ?? '')
  return isRegistration(stored) && isUsable(stored) ? stored : undefined
}

/** Registers this client, or returns the stored registration for the same redirect URI. */
export async function register(request: RegistrationRequest): Promise<Registration> {
  const { server, redirectUri, store, signal } = request
  const key = keyOf(server.issuer)
  const work = async (): Promise<Registration> => {
    const stored = await loadRegistration(server.issuer, store)
    if (stored?.redirectUri === redirectUri) return stored
    const registration = await requestRegistration(request)
    await store.set(key, JSON.stringify(registration))
    return registration
  }
  return store.exclusive(key, work, signal)
}

/** Deletes a registration that the authorization server no longer accepts, unless it was replaced. */
export async function forgetRegistration(
  issuer: string,
  clientId: string,
  store: CredentialStore,
): Promise<void> {
  const key = keyOf(issuer)
  await store.exclusive(key, async () => {
    if ((await loadRegistration(issuer, store))?.clientId === clientId) await store.delete(key)
  })
}

async function requestRegistration(request: RegistrationRequest): Promise<Registration> {
  const { redirectUri, name, uri, network, signal } = request
  const { issuer, metadata } = request.server
  const { registration_endpoint: endpoint } = metadata
  if (endpoint === undefined) {
    throw authError(
      `The authorization server ${issuer} does not support dynamic client registration. Register a client there with the redirect URI ${redirectUri}, and give it in client.registered`,
      { issuer, missing: 'client' satisfies MissingForLogin },
    )
  }
  // Without a list of supported methods, the standard's default is client_secret_basic.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const method = authMethods.find((one) => methods.includes(one)) ?? 'none'
  const grants = ['authorization_code', 'refresh_token']
  const supported = metadata.grant_types_supported
  const redirect = new URL(redirectUri)
  const native = isLoopback(redirect) || redirect.protocol !== 'https:'
  const body = {
    client_name: name,
    ...(uri !== undefined && { client_uri: uri }),
    redirect_uris: [redirectUri],
    grant_types: grants.filter((grant) => supported === undefined || supported.includes(grant)),
    response_types: ['code'],
    token_endpoint_auth_method: method,
    application_type: native ? 'native' : 'web',
  }
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const init = { body: JSON.stringify(body), headers }
  const response = await network.post(new URL(endpoint), init, signal)
  if (request.server.presumed && (await isNoEndpoint(response.clone()))) {
    throw authError(
      `${issuer} requires a token, and names no authorization server that issues one. Configure a token in "headers"`,
      { issuer, missing: 'authorizationServer' satisfies MissingForLogin },
    )
  }
  if (!response.ok) {
    const what = `refused to register this client, as a ${body.application_type} one with the redirect URI ${redirectUri},`
    throw await readOAuthError(response, issuer, what)
  }
  const answer = parseObject(await response.text())
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: end } = answer
  if (typeof clientId !== 'string' || clientId === '') {
    throw authError(
      `The authorization server ${issuer} registered this client without an id. Contact its operator`,
    )
  }
  const given = authMethods.find((one) => one === answer['token_endpoint_auth_method']) ?? method
  const hasSecret = typeof secret === 'string' && secret !== ''
  return {
    clientId,
    redirectUri,
    method: hasSecret ? given : 'none',
    ...(hasSecret && { secret }),
    ...(hasSecret &&
      typeof end === 'number' &&
      end > 0 && { secretEndsAt: Math.min(end * 1_000, maxDateMs) }),
  }
}

/** Whether a presumed endpoint does not exist: a server that refuses every request has no error of OAuth for it. */
async function isNoEndpoint(response: Response): Promise<boolean> {
  if (![401, 403, 404, 405].includes(response.status)) return false
  return response.status === 404 || typeof parseObject(await response.text())['error'] !== 'string'
}

function keyOf(issuer: string): string {
  return `client ${issuer}`
}
