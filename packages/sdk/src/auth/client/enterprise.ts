import { McpError } from '../../jsonrpc/error.ts'
import { type Described, describe } from './discovery.ts'
import { type Identity, methodFor, type Need } from './identity.ts'
import { about, identityOf, jwtBearer, type MachineClient, MachineGrant } from './machine.ts'
import { Network, type NetworkOptions, refused } from './network.ts'
import { type AuthOptions, type Authorization, Session } from './session.ts'
import { askForTokens, type Tokens } from './tokens.ts'

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
