import { all, clients, docs, type Group, lacks, no, ours, part, source, unknown, yes } from '../feature.ts'

const server = 'packages/sdk/test/auth'
const client = 'packages/sdk/test/client-auth'

export const authorization: Group = {
  title: 'Authorization',
  features: [
    {
      title: 'server: protected-resource metadata and challenges',
      since: '2025-03-26',
      ours: ours(`${server}/metadata.test.ts > the metadata names the issuers, for every client and origin`),
      peers: all(yes(source('oauth-protected-resource')), { lite: no(lacks('oauth-protected-resource')) }),
    },
    {
      title: 'server: tokens are verified with the issuer’s keys (JWT)',
      ours: ours(`${server}/verifiers.test.ts > finds the keys of an issuer at "%s" in its metadata, once`),
      peers: {
        v2: no(source('verifyAccessToken'), 'with a custom verifier'),
        v1: no(source('verifyAccessToken'), 'with a custom verifier'),
        fastmcp: yes(source('JWKSVerifier')),
        lite: no(lacks('[jJ][wW][kK][sS]')),
      },
    },
    {
      title: 'server: token introspection',
      ours: ours(
        `${server}/verifiers.test.ts > asks the authorization server, with its own client credentials`,
      ),
      peers: {
        v2: no(source('verifyAccessToken'), 'with a custom verifier'),
        v1: no(source('verifyAccessToken'), 'with a custom verifier'),
        fastmcp: no(lacks('introspect\\(|introspectToken')),
        lite: no(lacks('introspect')),
      },
    },
    {
      title: 'server: the audience of tokens is validated',
      ours: ours(`${server}/bearer.test.ts > the audience check is disabled only by an explicit option`),
      peers: {
        v2: part('if enabled', source('expectedResource')),
        v1: part('if enabled', source('expectedResource')),
        fastmcp: unknown,
        lite: no(lacks('\\baud\\b')),
      },
    },
    {
      title: 'server: scopes per definition, for lists and calls',
      ours: ours(`${server}/scopes.test.ts > %s returns what its caller may use`),
      peers: {
        v2: part('a challenge for calls', source('scopeChallenge')),
        v1: no(lacks('scopeChallenge|canAccess')),
        fastmcp: part('tools, by a function', source('canAccess')),
        lite: no(lacks('scopeChallenge|canAccess')),
      },
    },
    {
      title: 'server: tokens bound to a key (DPoP)',
      ours: ours(`${server}/dpop.test.ts > a bound token with a proof is accepted, in both eras`),
      peers: {
        v2: no(lacks('dpop\\+jwt', '@modelcontextprotocol/server/dist')),
        v1: no(lacks('DPoP')),
        fastmcp: no(lacks('dpop\\+jwt')),
        lite: no(lacks('DPoP')),
      },
    },
    {
      title: 'an authorization server',
      ours: { has: 'no', note: 'any that issues tokens' },
      peers: {
        v2: part('in a separate, frozen package', docs('server-legacy, in its migration guide')),
        v1: yes(source('mcpAuthRouter')),
        fastmcp: part('in front of another one', source('class OAuthProxy')),
        lite: no(lacks('authorization_endpoint')),
      },
    },
    {
      title: 'client: login with PKCE, discovery and registration',
      since: '2025-03-26',
      ours: ours(`${client}/login.test.ts > uses PKCE, state, resource and scopes, and the call succeeds`),
      peers: clients(yes(source('code_challenge')), yes(source('code_challenge'))),
    },
    {
      title: 'client: a metadata document as client id',
      since: '2025-11-25',
      ours: ours(`${client}/login.test.ts > is the metadata document if that is supported`),
      peers: clients(yes(source('clientMetadataUrl')), yes(source('clientMetadataUrl'))),
    },
    {
      title: 'client: the issuer of an authorization response is validated (RFC 9207)',
      ours: ours(`${client}/login.test.ts > is checked for its issuer: %s`),
      peers: clients(
        yes(source('validateAuthorizationResponseIssuer')),
        no(lacks('authorization_response_iss_parameter_supported')),
      ),
    },
    {
      title: 'client: more scopes are requested when a call needs them',
      since: '2025-11-25',
      ours: ours(`${client}/step-up.test.ts > gets them in addition to the existing ones`),
      peers: clients(yes(source('insufficient_scope')), yes(source('insufficient_scope'))),
    },
    {
      title: 'client: one token refresh for concurrent calls, clients and processes',
      ours: ours(
        `${client}/refresh.test.ts > that expired is refreshed once for 50 concurrent calls, before any is sent`,
        `${client}/refresh.test.ts > refresh once between them, without a login`,
      ),
      peers: clients(unknown, unknown),
    },
    {
      title: 'client: grants without a user (client credentials, private_key_jwt)',
      ours: ours(`${client}/machine.test.ts > authenticate with a signing key given as %s`),
      peers: clients(yes(source('PrivateKeyJwtProvider')), yes(source('PrivateKeyJwtProvider'))),
    },
    {
      title: 'client: enterprise-managed authorization',
      ours: ours(`${client}/machine.test.ts > exchanges the organisation's login for a token of the server`),
      peers: clients(yes(source('CrossAppAccessProvider')), no(lacks('id-jag'))),
    },
    {
      title: 'client: workload identity',
      ours: ours(`${client}/machine.test.ts > gets a token for the platform's assertion`),
      peers: clients(no(lacks('[wW]orkload')), no(lacks('[wW]orkload'))),
    },
    {
      title: 'client: tokens bound to a key (DPoP)',
      ours: ours(
        `${client}/interop.test.ts > binds tokens to a key, with a nonce, at a third-party authorization server`,
      ),
      peers: clients(yes(source('DpopSession')), no(lacks('DPoP'))),
    },
    {
      title: 'client: a loopback listener, encrypted files and the system’s keychain',
      ours: ours(
        `${client}/loopback.test.ts > completes a login of a user`,
        `${client}/stores.test.ts > in the keychain works, or the error says what is missing`,
      ),
      peers: clients(no(lacks('keychain|keyring')), no(lacks('keychain|keyring'))),
    },
  ],
}
