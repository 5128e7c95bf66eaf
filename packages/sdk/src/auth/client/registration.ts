import { isObject } from '../../jsonrpc/parse.ts'
import type { CredentialStore } from './credential-store.ts'
import type { DiscoveredIssuer } from './discovery.ts'
import type { ClientAuthMethod, Identity } from './identity.ts'
import { authError, isLoopback, type Network } from './network.ts'
import { parseObject, readOAuthError } from './token-endpoint.ts'

/** A client an authorization server registered on request. */
export interface Registration extends Identity {
  readonly clientId: string
  readonly redirectUri: string
  /** Milliseconds since 1970. */
  readonly secretEndsAt?: number
}

/** How a client that registered itself may prove who it is, what is preferred first. */
export const registrationMethods: readonly ClientAuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
]
const goodForMs = 60_000

/** Whether its secret, if it has one, is good for a while yet. */
export function isUsable({ secretEndsAt }: Registration): boolean {
  return secretEndsAt === undefined || secretEndsAt >= Date.now() + goodForMs
}

/** Whether a value that was kept is a registration. */
export function isRegistration(value: unknown): value is Registration {
  if (!isObject(value)) return false
  const { clientId, redirectUri, method, secret, secretEndsAt } = value
  return (
    typeof clientId === 'string' &&
    typeof redirectUri === 'string' &&
    registrationMethods.some((known) => known === method) &&
    (secret === undefined || typeof secret === 'string') &&
    (secretEndsAt === undefined || typeof secretEndsAt === 'number')
  )
}

export interface RegistrationRequest {
  readonly server: DiscoveredIssuer
  readonly redirectUri: string
  readonly name: string
  readonly uri: string | undefined
  readonly network: Network
  readonly store: CredentialStore
  readonly signal: AbortSignal
}

/** The last time that there is a date for: what no number can hold could not be kept. */
const latest = 8_640_000_000_000_000

/** The registration kept for an issuer, if it can still be used. */
export async function loadRegistration(
  issuer: string,
  store: CredentialStore,
): Promise<Registration | undefined> {
  const found = parseObject((await store.get(keyOf(issuer))) ?? '')
  return isRegistration(found) && isUsable(found) ? found : undefined
}

/** Registers this client, or takes the registration that is kept for the same redirect URI. */
export async function register(request: RegistrationRequest): Promise<Registration> {
  const { server, redirectUri, store, signal } = request
  const key = keyOf(server.issuer)
  const work = async (): Promise<Registration> => {
    const stored = await loadRegistration(server.issuer, store)
    if (stored?.redirectUri === redirectUri) return stored
    const made = await requestRegistration(request)
    await store.set(key, JSON.stringify(made))
    return made
  }
  return store.exclusive(key, work, signal)
}

/** Forgets a registration the authorization server does not know any more, unless another took its place. */
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

async function requestRegistration({
  server,
  redirectUri,
  name,
  uri,
  network,
  signal,
}: RegistrationRequest): Promise<Registration> {
  const { issuer, metadata } = server
  const { registration_endpoint: endpoint } = metadata
  if (endpoint === undefined) {
    throw authError(
      `The authorization server ${issuer} does not let clients register themselves. Register one there by hand, with the redirect URI ${redirectUri}, and give it in client.registered`,
      undefined,
      { issuer },
    )
  }
  const method = preferredMethod(metadata.token_endpoint_auth_methods_supported)
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
  if (!response.ok) {
    const what = `refused to register this client, as a ${body.application_type} one with the redirect URI ${redirectUri},`
    throw await readOAuthError(response, issuer, what)
  }
  return readRegistration(parseObject(await response.text()), redirectUri, method, issuer)
}

/** Without a list of what is supported a secret is the standard's default. */
function preferredMethod(supported: readonly string[] = ['client_secret_basic']): ClientAuthMethod {
  return registrationMethods.find((method) => supported.includes(method)) ?? 'none'
}

function readRegistration(
  answer: Record<string, unknown>,
  redirectUri: string,
  method: ClientAuthMethod,
  issuer: string,
): Registration {
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: end } = answer
  if (typeof clientId !== 'string' || clientId === '') {
    throw authError(
      `The authorization server ${issuer} registered this client without an id. Tell whoever runs it`,
    )
  }
  const given =
    registrationMethods.find((method) => method === answer['token_endpoint_auth_method']) ?? method
  const hasSecret = typeof secret === 'string' && secret !== ''
  return {
    clientId,
    redirectUri,
    method: hasSecret ? given : 'none',
    ...(hasSecret && { secret }),
    ...(hasSecret && typeof end === 'number' && end > 0 && { secretEndsAt: Math.min(end * 1_000, latest) }),
  }
}

function keyOf(issuer: string): string {
  return `client ${issuer}`
}
