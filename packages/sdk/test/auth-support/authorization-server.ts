import { createServer, type IncomingMessage } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, {
  type ClientMetadata,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import { isObject } from '../../../../test/setup/json.ts'
import { memoryAdapter } from './memory-adapter.ts'

/*
 * A whole OAuth 2.1 authorization server on 127.0.0.1, for tests and examples.
 *
 *   await using as = await startAuthorizationServer()
 *   as.addResource(mcpUrl, { scopes: ['files:read', 'files:write'] })
 *
 * A request to its authorization endpoint is signed in and consents at once, with no page and no cookie needed:
 * as the account that `login_hint` names, else as `as.account`. `as.denies = true` makes it refuse instead. Clients
 * register themselves at the registration endpoint, are given in `clients`, or have a document in `clientDocuments`.
 * Tokens are for one resource, named by the `resource` parameter. `as.grants` lists every token that was issued.
 */

/** A resource server that tokens are issued for. */
export interface ProtectedResource {
  scopes: readonly string[]
  /** Default `jwt`: RFC 9068. Only `opaque` ones can be introspected. */
  format?: 'jwt' | 'opaque'
  /** What its tokens name as their audience. Default: the resource. */
  audience?: string
}

export interface AuthorizationServerOptions {
  /** Resources by identifier; more can be added later. */
  resources?: Readonly<Record<string, ProtectedResource>>
  /** Clients that need not register. */
  clients?: readonly ClientMetadata[]
  /** Client ID metadata documents by their https URL, in place of the web. */
  clientDocuments?: Readonly<Record<string, object>>
  /** Lifetimes in seconds. Default: 60 for codes, 300 for access tokens, 3600 for refresh tokens. */
  lifetimes?: { accessToken?: number; refreshToken?: number; code?: number }
  /** Path of the issuer, such as `/tenant1`. Default: none. */
  path?: string
  /** Whether DPoP proofs need a nonce of this server. Default false. */
  dpopNonces?: boolean
  /** Whether dynamic client registration is open. Default true. */
  registration?: boolean
}

/** One token response. */
export interface Granted {
  readonly grantType: string
  readonly clientId: string | undefined
  readonly resource: unknown
  /** The scopes it was given. */
  readonly scope: unknown
}

export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string
  /** Every token response so far. */
  readonly grants: readonly Granted[]
  /** Method and path of every request so far. */
  readonly requests: readonly string[]
  /** Whether the person refuses. Default false. */
  denies: boolean
  /** Who signs in without a `login_hint`. Default `alice`. */
  account: string
  addResource(identifier: string, resource: ProtectedResource): void
  close(): Promise<void>
}

/** Starts an authorization server on a free port. */
export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const resources = new Map(Object.entries(options.resources ?? {}))
  const grants: Granted[] = []
  const requests: string[] = []
  const { path = '' } = options

  let handle: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    mountAt(path, request)
    handle?.(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
  const as: AuthorizationServer = {
    issuer: `http://127.0.0.1:${port}${path}`,
    grants,
    requests,
    denies: false,
    account: 'alice',
    addResource: (identifier, resource) => resources.set(identifier, resource),
    close,
    [Symbol.asyncDispose]: close,
  }
  const provider = new Provider(as.issuer, await configuration(options, resources, as))
  provider.on('grant.success', ({ oidc, body }) => {
    const { grant_type, resource } = oidc.params ?? {}
    const scope = isObject(body) ? body['scope'] : undefined
    grants.push({ grantType: String(grant_type), clientId: oidc.client?.clientId, resource, scope })
  })
  handle = provider.callback()
  return as
}

/** Removes the issuer's path, which follows the well-known part in RFC 8414 and precedes it in OpenID Connect. */
function mountAt(path: string, request: IncomingMessage): void {
  const { url = '/' } = request
  if (path === '') return
  const inserted = /^\/\.well-known\/[a-z-]+/.exec(url)?.[0]
  const mounted = inserted === undefined ? url : `${path}${inserted}`
  const matches = inserted === undefined ? url.startsWith(`${path}/`) : url === `${inserted}${path}`
  Object.assign(request, { originalUrl: mounted, url: matches ? mounted.slice(path.length) : '/not-found' })
}

async function configuration(
  options: AuthorizationServerOptions,
  resources: ReadonlyMap<string, ProtectedResource>,
  as: Pick<AuthorizationServer, 'denies' | 'account'>,
): Promise<Configuration> {
  const {
    clients = [],
    clientDocuments = {},
    lifetimes = {},
    dpopNonces = false,
    registration = true,
  } = options
  const { accessToken = 300, refreshToken = 3600, code = 60 } = lifetimes
  const documents = new Map(Object.entries(clientDocuments))
  return {
    adapter: memoryAdapter(),
    clients: [...clients],
    jwks: { keys: [await signingKey('RS256'), await signingKey('ES256')] },
    cookies: { keys: [crypto.randomUUID()] },
    scopes: ['openid', 'offline_access'],
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    // Runs for every authorization request once it is known to be sound, which is where a person would sign in.
    extraParams: { account: (ctx) => signIn(ctx, as) },
    interactions: { policy: promptsWithoutPages() },
    loadExistingGrant: consent,
    findAccount: (_ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: accessToken,
      ClientCredentials: accessToken,
      AuthorizationCode: code,
      RefreshToken: refreshToken,
      IdToken: accessToken,
      Grant: refreshToken,
      Session: refreshToken,
      Interaction: 60,
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      userinfo: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => {
          ctx.type = 'html'
          ctx.body = `<!doctype html>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`
        },
      },
      introspection: { enabled: true, allowedPolicy: () => true },
      registration: { enabled: registration, issueRegistrationAccessToken: false },
      dPoP: {
        enabled: true,
        ...(dpopNonces ? { nonceSecret: Buffer.alloc(32, 'n'), requireNonce: () => true } : {}),
      },
      ...(documents.size === 0 ? {} : { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, identifier) => resourceServer(resources, identifier),
      },
    },
    fetch: async (url) => {
      const document = documents.get(url instanceof Request ? url.url : String(url))
      return document === undefined ? new Response(null, { status: 404 }) : Response.json(document)
    },
    renderError: (ctx, out) => {
      ctx.type = 'json'
      ctx.body = JSON.stringify(out)
    },
  }
}

/** Prompts may be asked for, but none is ever shown. */
function promptsWithoutPages() {
  const prompts = interactionPolicy.base()
  for (const { checks } of prompts) checks.clear()
  return prompts
}

async function signIn(
  { oidc }: KoaContextWithOIDC,
  { denies, account }: Pick<AuthorizationServer, 'denies' | 'account'>,
): Promise<void> {
  if (denies) throw new errors.AccessDenied('the person refused')
  const { login_hint } = oidc.params ?? {}
  oidc.session?.loginAccount({ accountId: typeof login_hint === 'string' ? login_hint : account })
}

/** Everything that was asked for is granted. */
async function consent({ oidc }: KoaContextWithOIDC) {
  const { client, session, provider, requestParamScopes, requestParamOIDCScopes } = oidc
  if (client === undefined || session?.accountId === undefined) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope([...requestParamOIDCScopes, 'openid', 'offline_access'].join(' '))
  for (const resource of Object.keys(oidc.resourceServers ?? {})) {
    grant.addResourceScope(resource, [...requestParamScopes].join(' '))
  }
  await grant.save()
  return grant
}

function resourceServer(resources: ReadonlyMap<string, ProtectedResource>, identifier: string) {
  const resource = resources.get(identifier)
  if (resource === undefined) throw new errors.InvalidTarget()
  const { scopes, format = 'jwt', audience = identifier } = resource
  return { scope: scopes.join(' '), audience, accessTokenFormat: format }
}

async function signingKey(alg: string) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: `${alg}-${crypto.randomUUID()}` }
}
