import { McpError } from '../../jsonrpc/error.ts'
import { type Described, describe } from './discovery.ts'
import {
  type ClientAuthMethod,
  type Grant,
  type Identity,
  methodFor,
  type Need,
  type SigningKey,
} from './identity.ts'
import { Network, type NetworkOptions, refused } from './network.ts'
import { type AuthOptions, type Authorization, Session } from './session.ts'
import type { StoredTokens } from './stored-tokens.ts'
import { askForTokens, type Tokens } from './token-endpoint.ts'

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

/** The identity provider of an organisation, which decides who may use which server. */
export interface IdentityProvider {
  issuer: string
  /** Default: found in the provider's metadata. */
  tokenEndpoint?: string
  /** This client, as the provider knows it. */
  clientId: string
  clientSecret?: string
  /** The token the person got when they logged in there, asked for whenever one is needed. */
  subjectToken: () => string | Promise<string>
  /** What kind of token that is. Default `urn:ietf:params:oauth:token-type:id_token`. */
  subjectTokenType?: string
}

/**
 * The two parties of enterprise-managed authorization: this client, and the identity provider that vouches
 * for the person.
 */
export interface EnterpriseOptions extends AuthOptions {
  /** This client, as the authorization server of the MCP server knows it. */
  client: MachineClient
  idp: IdentityProvider
}

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
const idJag = 'urn:ietf:params:oauth:token-type:id-jag'
const idToken = 'urn:ietf:params:oauth:token-type:id_token'

/**
 * Enterprise-managed authorization: the person's login at their organisation is exchanged for an ID-JAG there, and
 * that for a token at the server's own authorization server, without a further login.
 */
export function enterpriseManaged(options: EnterpriseOptions): Authorization {
  const { client, idp } = options
  const obtain = async (need: Need): Promise<Tokens> => {
    const assertion = await exchange(idp, options, need)
    const params = { assertion, ...about(need) }
    const identity = identityOf(client, need)
    return askForTokens({ server: need.target, identity, ...need }, jwtBearer, params)
  }
  const identify = (need: Need): Identity => identityOf(client, need)
  return new Session(new MachineGrant('enterprise', client, obtain, identify), options)
}

/** Has the identity provider vouch for the person towards one authorization server. */
async function exchange(idp: IdentityProvider, options: NetworkOptions, need: Need): Promise<string> {
  const { issuer, clientId, clientSecret: secret, subjectToken, subjectTokenType = idToken } = idp
  const { target, signal } = need
  // The provider was configured here and not named by the server, so it may lie wherever it lies.
  const network = new Network(urlOf(idp), options)
  const server = await providerOf(idp, network, signal)
  const supported = server.metadata.token_endpoint_auth_methods_supported
  const identity: Identity = { clientId, secret, method: methodFor(secret, supported) }
  const tokens = await askForTokens({ server, identity, network, signal, proof: undefined }, tokenExchange, {
    requested_token_type: idJag,
    audience: target.issuer,
    subject_token: await subjectToken(),
    subject_token_type: subjectTokenType,
    ...about(need),
  })
  if (tokens.issuedType === idJag) return tokens.accessToken
  throw refused(
    `The identity provider ${issuer} did not give an ID-JAG for ${target.issuer}. Ask whoever runs it to allow this application there`,
  )
}

async function providerOf(
  { issuer, tokenEndpoint }: IdentityProvider,
  network: Network,
  signal: AbortSignal,
): Promise<Described> {
  if (tokenEndpoint !== undefined) {
    return { issuer, metadata: { issuer, token_endpoint: tokenEndpoint }, presumed: false }
  }
  const found = await describe(issuer, network, signal)
  if (found !== undefined) return found
  throw refused(`The identity provider ${issuer} publishes no metadata. Give its tokenEndpoint`)
}

function urlOf({ issuer, tokenEndpoint = issuer }: IdentityProvider): URL {
  if (URL.canParse(tokenEndpoint)) return new URL(tokenEndpoint)
  throw new McpError('INVALID', `The identity provider's URL ${JSON.stringify(tokenEndpoint)} is not one`)
}
