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
import { options, type Play, type ScenarioContext } from './play.ts'

const redirectUri = 'http://localhost:3000/callback'
const client: OAuthClient = {
  name: 'jackfield-conformance-client',
  metadataUrl: 'https://conformance-test.local/client-metadata.json',
}

/** A person who agrees to everything: the authorization server sends them back at once. */
const agreeing: Redirect = {
  begin: async () => ({
    uri: redirectUri,
    async open(url, signal) {
      const { headers } = await fetch(url, { redirect: 'manual', signal })
      return new URL(headers.get('location') ?? '', url)
    },
    close: async () => {},
  }),
}

const names = [
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

/** What the client does in each scenario about authorization. */
export const authScenarios: Readonly<Record<string, Play>> = {
  ...Object.fromEntries(names.map((name) => [`auth/${name}`, authorized(() => asPerson())])),

  'auth/pre-registration': authorized(async (context, url) => {
    const { client_id: clientId = '', client_secret: clientSecret = '' } = context
    const issuer = context.issuer ?? (await issuerOf(url))
    return asPerson({ client: { ...client, registered: { issuer, clientId, clientSecret } } })
  }),

  'auth/dpop': authorized(() => asPerson({ dpop: true })),
  'auth/dpop-nonce': authorized(() => asPerson({ dpop: true })),

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

  'auth/enterprise-managed-authorization': authorized(asEmployee),
  'auth/cross-app-access-complete-flow': authorized(asEmployee),

  'auth/wif-jwt-bearer': authorized((context) => {
    const { client_id: clientId = '', valid_jwt: assertion = '' } = context
    return workloadIdentity({ issuer: anyAuthorizationServer, clientId, assertion: () => assertion })
  }),
}

function asPerson(more: Partial<OAuthOptions> = {}): HttpAuth {
  return oauth({ client, redirect: agreeing, ...more })
}

function asEmployee(context: ScenarioContext): HttpAuth {
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

/** The older suite does not say which authorization server its credentials belong to. */
async function issuerOf(url: string): Promise<string> {
  const answer = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))
  const { authorization_servers: servers }: { authorization_servers: string[] } = await answer.json()
  return servers[0] ?? ''
}

/** Lists the tools and calls one, with the credentials a scenario provides for. */
function authorized(
  credentials: (context: ScenarioContext, url: string) => HttpAuth | Promise<HttpAuth>,
): Play {
  return async (url, context) => {
    const target = http(url, { auth: await credentials(context, url) })
    await using one = await connect(target, options)
    await one.tools()
    await one.call('test-tool')
  }
}
