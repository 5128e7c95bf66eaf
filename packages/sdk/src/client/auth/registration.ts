import { isObject } from '../../jsonrpc/parse.ts'
import type { ClientAuthMethod, Identity } from './identity.ts'

/** A client an authorization server registered on request. */
export interface Registration extends Identity {
  readonly clientId: string
  readonly redirectUri: string
  /** Milliseconds since 1970. */
  readonly secretEndsAt?: number
}

/** How a client that registered itself may prove who it is, what is preferred first. */
export const methods: readonly ClientAuthMethod[] = ['none', 'client_secret_basic', 'client_secret_post']
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
    methods.some((known) => known === method) &&
    (secret === undefined || typeof secret === 'string') &&
    (secretEndsAt === undefined || typeof secretEndsAt === 'number')
  )
}
