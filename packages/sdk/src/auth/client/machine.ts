import {
  type ClientAuthMethod,
  type Grant,
  type Identity,
  methodFor,
  type Need,
  type SigningKey,
} from './identity.ts'
import { refused } from './network.ts'
import { type AuthOptions, type Authorization, Session } from './session.ts'
import type { StoredTokens } from './stored-tokens.ts'
import { askForTokens, type Tokens } from './tokens.ts'

/** Stands in place of an issuer, and sends the credentials to any authorization server the MCP server names. */
export const anyAuthorizationServer = 'whichever-the-server-names'

/** A client that acts for itself. */
export interface MachineClient {
  /**
   * The issuer identifier of the authorization server the credentials belong to; another one never sees them.
   * `whicheverTheServerNames` gives that protection up.
   */
  issuer: string
  clientId: string
  clientSecret?: string
  /** For `private_key_jwt`, in place of a secret. */
  signingKey?: SigningKey
  /** Default: what fits the credentials and the authorization server. */
  authMethod?: ClientAuthMethod
}

/** A client that acts for itself, and how it reaches its authorization server. */
export interface ClientCredentialsOptions extends AuthOptions {
  client: MachineClient
}

/** Credentials of a program that acts for itself: the client credentials grant, with a secret or a signing key. */
export function clientCredentials(options: ClientCredentialsOptions): Authorization {
  const { client } = options
  const obtain = async (need: Need): Promise<Tokens> => {
    const identity = identityOf(client, need)
    return askForTokens({ server: need.target, identity, ...need }, 'client_credentials', about(need))
  }
  const identify = (need: Need): Identity => identityOf(client, need)
  return new Session(new MachineGrant('client-credentials', client, obtain, identify), options)
}

/** A workload, the authorization server that trusts its platform, and the way to the JWT that says so. */
export interface WorkloadOptions extends AuthOptions {
  /** The issuer identifier of the authorization server that trusts the platform, or `whicheverTheServerNames`. */
  issuer: string
  /** The client id, where the authorization server wants one. */
  clientId?: string
  /** The JWT the platform gives this workload, asked for whenever a token is needed. */
  assertion: () => string | Promise<string>
}

/**
 * Credentials of a workload whose platform vouches for it with a JWT (RFC 7523). An error of the authorization server
 * ends the attempt: it is not repeated, and nothing else is tried.
 */
export function workloadIdentity(options: WorkloadOptions): Authorization {
  const { clientId, assertion } = options
  const identity: Identity = { clientId, method: 'none' }
  const obtain = async (need: Need): Promise<Tokens> => {
    const params = { assertion: await assertion(), ...about(need) }
    return askForTokens({ server: need.target, identity, ...need }, jwtBearer, params)
  }
  return new Session(new MachineGrant('workload', options, obtain, () => identity), options)
}

export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** What every such token request says of its purpose. */
export function about({ target, scopes }: Need): Record<string, string> {
  return { resource: target.resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }
}

/** The client as the target's authorization server knows it. */
export function identityOf(client: Omit<MachineClient, 'issuer'>, { target }: Need): Identity {
  const { clientId, clientSecret: secret, signingKey: key, authMethod } = client
  const supported = target.metadata.token_endpoint_auth_methods_supported
  const method = authMethod ?? (key === undefined ? methodFor(secret, supported) : 'private_key_jwt')
  return { clientId, secret, key, method }
}

/** A grant without a person: getting tokens anew is how they are renewed. */
export class MachineGrant implements Grant {
  readonly interactive = false
  readonly kind: string
  readonly issuers: readonly string[]
  readonly #obtain: (need: Need) => Promise<Tokens>
  readonly #identify: (need: Need) => Identity

  constructor(
    kind: string,
    { issuer }: { issuer: string },
    obtain: (need: Need) => Promise<Tokens>,
    identify: (need: Need) => Identity,
  ) {
    this.kind = kind
    this.issuers = issuer === anyAuthorizationServer ? [] : [issuer]
    this.#obtain = obtain
    this.#identify = identify
  }

  async obtain(need: Need): Promise<Tokens> {
    this.#check(need)
    return this.#obtain(need)
  }

  canRenew(): boolean {
    return true
  }

  async identify(_saved: StoredTokens, need: Need): Promise<Identity> {
    this.#check(need)
    return this.#identify(need)
  }

  renew(_saved: StoredTokens, need: Need): Promise<Tokens> {
    return this.obtain(need)
  }

  /** The credentials go to no other authorization server than theirs. */
  #check({ target: { issuer } }: Need): void {
    const [only] = this.issuers
    if (only === undefined || only === issuer) return
    throw refused(
      `The server names the authorization server ${issuer}, and the credentials belong to ${only}, so they are not sent. Check the URL of the server and the option "issuer"`,
      undefined,
      { issuer },
    )
  }
}
