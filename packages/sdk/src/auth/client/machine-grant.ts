import { McpError } from '../../jsonrpc/error.ts'
import { type DiscoveredIssuer, discoverIssuer } from './discovery.ts'
import {
  type ClientAuthMethod,
  type Grant,
  type GrantContext,
  type Identity,
  methodFor,
  type SigningKey,
} from './identity.ts'
import { authError, Network, type NetworkOptions } from './network.ts'
import { type AuthOptions, type Authorization, AuthSession } from './session.ts'
import type { StoredTokens } from './stored-tokens.ts'
import { requestTokens, type Tokens } from './token-endpoint.ts'

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
  const obtain = async (context: GrantContext): Promise<Tokens> => {
    const identity = identityOf(client, context)
    return requestTokens(
      { server: context.target, identity, ...context },
      'client_credentials',
      grantParams(context),
    )
  }
  const identify = (context: GrantContext): Identity => identityOf(client, context)
  return new AuthSession(new MachineGrant('client-credentials', client, obtain, identify), options)
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
  const obtain = async (context: GrantContext): Promise<Tokens> => {
    const params = { assertion: await assertion(), ...grantParams(context) }
    return requestTokens({ server: context.target, identity, ...context }, jwtBearer, params)
  }
  return new AuthSession(new MachineGrant('workload', options, obtain, () => identity), options)
}

export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** What every such token request says of its purpose. */
export function grantParams({ target, scopes }: GrantContext): Record<string, string> {
  return { resource: target.resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }
}

/** The client as the target's authorization server knows it. */
export function identityOf(client: Omit<MachineClient, 'issuer'>, { target }: GrantContext): Identity {
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
  readonly #obtain: (context: GrantContext) => Promise<Tokens>
  readonly #identify: (context: GrantContext) => Identity

  constructor(
    kind: string,
    { issuer }: { issuer: string },
    obtain: (context: GrantContext) => Promise<Tokens>,
    identify: (context: GrantContext) => Identity,
  ) {
    this.kind = kind
    this.issuers = issuer === anyAuthorizationServer ? [] : [issuer]
    this.#obtain = obtain
    this.#identify = identify
  }

  async obtain(context: GrantContext): Promise<Tokens> {
    this.#check(context)
    return this.#obtain(context)
  }

  canRenew(): boolean {
    return true
  }

  async identify(_saved: StoredTokens, context: GrantContext): Promise<Identity> {
    this.#check(context)
    return this.#identify(context)
  }

  renew(_saved: StoredTokens, context: GrantContext): Promise<Tokens> {
    return this.obtain(context)
  }

  /** The credentials go to no other authorization server than theirs. */
  #check({ target: { issuer } }: GrantContext): void {
    const [only] = this.issuers
    if (only === undefined || only === issuer) return
    throw authError(
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
  const obtain = async (context: GrantContext): Promise<Tokens> => {
    const assertion = await requestIdJag(idp, options, context)
    const params = { assertion, ...grantParams(context) }
    const identity = identityOf(client, context)
    return requestTokens({ server: context.target, identity, ...context }, jwtBearer, params)
  }
  const identify = (context: GrantContext): Identity => identityOf(client, context)
  return new AuthSession(new MachineGrant('enterprise', client, obtain, identify), options)
}

/** Has the identity provider vouch for the person towards one authorization server. */
async function requestIdJag(
  idp: IdentityProvider,
  options: NetworkOptions,
  context: GrantContext,
): Promise<string> {
  const { issuer, clientId, clientSecret: secret, subjectToken, subjectTokenType = idToken } = idp
  const { target, signal } = context
  // The provider was configured here and not named by the server, so it may lie wherever it lies.
  const network = new Network(urlOf(idp), options)
  const server = await discoverProvider(idp, network, signal)
  const supported = server.metadata.token_endpoint_auth_methods_supported
  const identity: Identity = { clientId, secret, method: methodFor(secret, supported) }
  const tokens = await requestTokens({ server, identity, network, signal, proof: undefined }, tokenExchange, {
    requested_token_type: idJag,
    audience: target.issuer,
    subject_token: await subjectToken(),
    subject_token_type: subjectTokenType,
    ...grantParams(context),
  })
  if (tokens.issuedType === idJag) return tokens.accessToken
  throw authError(
    `The identity provider ${issuer} did not give an ID-JAG for ${target.issuer}. Ask whoever runs it to allow this application there`,
  )
}

async function discoverProvider(
  { issuer, tokenEndpoint }: IdentityProvider,
  network: Network,
  signal: AbortSignal,
): Promise<DiscoveredIssuer> {
  if (tokenEndpoint !== undefined) {
    return { issuer, metadata: { issuer, token_endpoint: tokenEndpoint }, presumed: false }
  }
  const found = await discoverIssuer(issuer, network, signal)
  if (found !== undefined) return found
  throw authError(`The identity provider ${issuer} publishes no metadata. Give its tokenEndpoint`)
}

function urlOf({ issuer, tokenEndpoint = issuer }: IdentityProvider): URL {
  if (URL.canParse(tokenEndpoint)) return new URL(tokenEndpoint)
  throw new McpError('INVALID', `The identity provider's URL ${JSON.stringify(tokenEndpoint)} is not one`)
}
