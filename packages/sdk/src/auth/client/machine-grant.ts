import { invalid } from '../../jsonrpc/error.ts'
import { type DiscoveredIssuer, discoverIssuer } from './discovery.ts'
import {
  type ConfiguredClient,
  type Grant,
  type GrantContext,
  type Identity,
  identityOf,
  methodFor,
} from './identity.ts'
import { authError, Network, type NetworkOptions } from './network.ts'
import { type AuthOptions, type Authorization, AuthSession } from './session.ts'
import { requestTokens, type Tokens } from './token-endpoint.ts'

/** In place of an issuer: sends the credentials to any authorization server that the MCP server names. */
export const anyAuthorizationServer = 'whichever-the-server-names'

/** A client without a user, as registered with its authorization server. */
export interface MachineClient extends ConfiguredClient {
  /**
   * The issuer identifier of the authorization server that the credentials belong to; they are not sent to any other.
   * `anyAuthorizationServer` removes that protection.
   */
  issuer: string
}

/** Options of `clientCredentials`. */
export interface ClientCredentialsOptions extends AuthOptions {
  /** This client, as registered with the authorization server. */
  client: MachineClient
}

/** Credentials of a client without a user: the client credentials grant, with a secret or a signing key. */
export function clientCredentials(options: ClientCredentialsOptions): Authorization {
  const { client } = options
  const identify = (context: GrantContext): Identity => identityOf(client, context.target.metadata)
  return new AuthSession(
    machineGrant('client-credentials', client.issuer, 'client_credentials', identify, async () => ({})),
    options,
  )
}

/** Options of `workloadIdentity`. */
export interface WorkloadOptions extends AuthOptions {
  /** The issuer identifier of the authorization server that trusts the platform, or `anyAuthorizationServer`. */
  issuer: string
  /** The client id, if the authorization server requires one. */
  clientId?: string
  /** Returns the platform's JWT for this workload. Called for every token request. */
  assertion: () => string | Promise<string>
}

/**
 * Credentials of a workload by a JWT of its platform (RFC 7523). An error of the authorization server ends the attempt
 * without a retry.
 */
export function workloadIdentity(options: WorkloadOptions): Authorization {
  const { clientId, issuer } = options
  const identify = (): Identity => ({ clientId, method: 'none' })
  const assert = async () => ({ assertion: await options.assertion() })
  return new AuthSession(machineGrant('workload', issuer, jwtBearer, identify, assert), options)
}

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

function grantParams({ target, scopes }: GrantContext): Record<string, string> {
  return { resource: target.resource, ...(scopes.length > 0 && { scope: scopes.join(' ') }) }
}

/** A grant without a user: tokens are renewed by obtaining new ones. */
function machineGrant(
  kind: string,
  issuer: string,
  grantType: string,
  identify: (context: GrantContext) => Identity,
  params: (context: GrantContext) => Promise<Record<string, string>>,
): Grant {
  const issuers = issuer === anyAuthorizationServer ? [] : [issuer]
  /** Rejects any authorization server but that of the credentials. */
  const checked = (context: GrantContext): Identity => {
    const [only] = issuers
    const named = context.target.issuer
    if (only === undefined || only === named) return identify(context)
    throw authError(
      `The server names the authorization server ${named}, but the credentials belong to ${only}, so they are not sent. Check the URL of the server and the option "issuer"`,
      { issuer: named },
    )
  }
  const obtain = async (context: GrantContext): Promise<Tokens> => {
    const identity = checked(context)
    return requestTokens(context, identity, grantType, {
      ...(await params(context)),
      ...grantParams(context),
    })
  }
  return {
    kind,
    interactive: false,
    issuers,
    obtain,
    canRenew: () => true,
    renew: (_saved, context) => obtain(context),
    identify: async (_saved, context) => checked(context),
  }
}

/** The identity provider of an organization, with this application's client there and the user's token. */
export interface IdentityProvider {
  /** Issuer identifier of the provider. */
  issuer: string
  /** Default: from the provider's metadata. */
  tokenEndpoint?: string
  /** The client id at the provider. */
  clientId: string
  /** The client secret at the provider. Default: a public client. */
  clientSecret?: string
  /** Returns the user's token from the login there. Called for every token request. */
  subjectToken: () => string | Promise<string>
  /** The type of that token. Default `urn:ietf:params:oauth:token-type:id_token`. */
  subjectTokenType?: string
}

/** Options of `enterpriseManaged`. */
export interface EnterpriseOptions extends AuthOptions {
  /** This client, as registered with the authorization server of the MCP server. */
  client: MachineClient
  /** The identity provider of the user's organization. */
  idp: IdentityProvider
}

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
const idJag = 'urn:ietf:params:oauth:token-type:id-jag'
const idToken = 'urn:ietf:params:oauth:token-type:id_token'

/**
 * Enterprise-managed authorization: exchanges the user's login at the identity provider for an ID-JAG, and that for a token
 * of the server's authorization server, without a further login.
 */
export function enterpriseManaged(options: EnterpriseOptions): Authorization {
  const { client, idp } = options
  const identify = (context: GrantContext): Identity => identityOf(client, context.target.metadata)
  const assert = async (context: GrantContext) => ({ assertion: await requestIdJag(idp, options, context) })
  return new AuthSession(machineGrant('enterprise', client.issuer, jwtBearer, identify, assert), options)
}

/** Exchanges the user's token for an ID-JAG for one authorization server (RFC 8693). */
async function requestIdJag(
  idp: IdentityProvider,
  options: NetworkOptions,
  context: GrantContext,
): Promise<string> {
  const { issuer, clientId, clientSecret: secret, subjectToken, subjectTokenType = idToken } = idp
  const { target, signal } = context
  // The provider is configured, not named by the server, so any network is allowed.
  const { tokenEndpoint = issuer } = idp
  if (!URL.canParse(tokenEndpoint)) throw invalid(`${JSON.stringify(tokenEndpoint)} in "idp" is not a URL`)
  const network = new Network(new URL(tokenEndpoint), options)
  const provider: DiscoveredIssuer | undefined =
    idp.tokenEndpoint === undefined
      ? await discoverIssuer(issuer, network, signal)
      : { issuer, metadata: { issuer, token_endpoint: tokenEndpoint }, presumed: false }
  if (provider === undefined) {
    throw authError(`The identity provider ${issuer} publishes no metadata. Set idp.tokenEndpoint`)
  }
  const supported = provider.metadata.token_endpoint_auth_methods_supported
  const identity: Identity = { clientId, secret, method: methodFor(secret, supported) }
  const tokens = await requestTokens(
    { target: provider, network, signal, proof: undefined },
    identity,
    tokenExchange,
    {
      requested_token_type: idJag,
      audience: target.issuer,
      subject_token: await subjectToken(),
      subject_token_type: subjectTokenType,
      ...grantParams(context),
    },
  )
  if (tokens.issuedType === idJag) return tokens.accessToken
  throw authError(
    `The identity provider ${issuer} did not issue an ID-JAG for ${target.issuer}. Ask its operator to allow this application`,
  )
}
