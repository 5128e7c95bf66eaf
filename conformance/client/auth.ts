import { connect, type HttpAuth, http } from '@jackfield/sdk/client'
import {
  anyAuthorizationServer,
  clientCredentials,
  enterpriseManaged,
  type OAuthClient,
  type OAuthOptions,
  oauth,
  type Redirect,
  workloadIdentity,
} from '@jackfield/sdk/client/auth'
import { options, type ScenarioClient, type ScenarioContext } from './scenario.ts'

const redirectUri = 'http://localhost:3000/callback'
const client: OAuthClient = {
  name: 'jackfield-conformance-client',
  metadataUrl: 'https://conformance-test.local/client-metadata.json',
}

/** A login without a user: the authorization server of the suite redirects immediately. */
const automaticRedirect: Redirect = {
  begin: async () => ({
    uri: redirectUri,
    async open(url, signal) {
      const { headers } = await fetch(url, { redirect: 'manual', signal })
      return new URL(headers.get('location') ?? '', url)
    },
    close: async () => {},
  }),
}

const userLoginScenarios = [
  'metadata-default',
  'metadata-var1',
  'metadata-var2',
  'metadata-var3',
  'basic-cimd',
  'scope-from-www-authenticate',
  'scope-from-scopes-supported',
  'scope-omitted-when-undefined',
  'scope-step-up',
  'scope-retry-limit',
  'token-endpoint-auth-basic',
  'token-endpoint-auth-post',
  'token-endpoint-auth-none',
  '2025-03-26-oauth-metadata-backcompat',
  '2025-03-26-oauth-endpoint-fallback',
  'resource-mismatch',
  'offline-access-scope',
  'offline-access-not-supported',
  'authorization-server-migration',
  'iss-supported',
  'iss-not-advertised',
  'iss-supported-missing',
  'iss-wrong-issuer',
  'iss-unexpected',
  'iss-normalized',
  'metadata-issuer-mismatch',
]

/** The clients of the authorization scenarios. */
export const authScenarios: Readonly<Record<string, ScenarioClient>> = {
  ...Object.fromEntries(userLoginScenarios.map((name) => [`auth/${name}`, authorized(() => userLogin())])),

  'auth/pre-registration': authorized(async (context, url) => {
    const { client_id: clientId = '', client_secret: clientSecret = '' } = context
    const issuer = context.issuer ?? (await issuerOf(url))
    return userLogin({ client: { ...client, registered: { issuer, clientId, clientSecret } } })
  }),

  'auth/dpop': authorized(() => userLogin({ dpop: true })),
  'auth/dpop-nonce': authorized(() => userLogin({ dpop: true })),

  'auth/client-credentials-basic': authorized((context) => {
    const { client_id: clientId = '', client_secret: clientSecret = '' } = context
    return clientCredentials({ client: { issuer: anyAuthorizationServer, clientId, clientSecret } })
  }),

  'auth/client-credentials-jwt': authorized((context) => {
    const {
      client_id: clientId = '',
      private_key_pem: privateKey = '',
      signing_algorithm: algorithm,
    } = context
    const signingKey = { privateKey, ...(algorithm !== undefined && { algorithm }) }
    return clientCredentials({ client: { issuer: anyAuthorizationServer, clientId, signingKey } })
  }),

  'auth/enterprise-managed-authorization': authorized(enterpriseLogin),
  'auth/cross-app-access-complete-flow': authorized(enterpriseLogin),

  'auth/wif-jwt-bearer': authorized((context) => {
    const { client_id: clientId = '', valid_jwt: assertion = '' } = context
    return workloadIdentity({ issuer: anyAuthorizationServer, clientId, assertion: () => assertion })
  }),
}

function userLogin(more: Partial<OAuthOptions> = {}): HttpAuth {
  return oauth({ client, redirect: automaticRedirect, ...more })
}

function enterpriseLogin(context: ScenarioContext): HttpAuth {
  const { client_id: clientId = '', client_secret: clientSecret = '', idp_id_token: idToken = '' } = context
  return enterpriseManaged({
    client: { issuer: anyAuthorizationServer, clientId, clientSecret },
    idp: {
      issuer: context.idp_issuer ?? '',
      clientId: context.idp_client_id ?? '',
      subjectToken: () => idToken,
      ...(context.idp_token_endpoint !== undefined && { tokenEndpoint: context.idp_token_endpoint }),
    },
  })
}

/** The issuer from the resource metadata: the older suite does not pass the issuer of its credentials. */
async function issuerOf(url: string): Promise<string> {
  const response = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))
  const { authorization_servers: servers }: { authorization_servers: string[] } = await response.json()
  return servers[0] ?? ''
}

/** Lists the tools and calls one, with the credentials of a scenario. */
function authorized(
  credentials: (context: ScenarioContext, url: string) => HttpAuth | Promise<HttpAuth>,
): ScenarioClient {
  return async (url, context) => {
    const target = http(url, { auth: await credentials(context, url) })
    await using client = await connect(target, options)
    await client.tools()
    await client.call('test-tool')
  }
}
