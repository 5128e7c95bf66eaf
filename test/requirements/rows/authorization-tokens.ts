import { only, type Requirement } from '../requirement.ts'

const elsewhere = 'It binds the authorization server, which is not part of this project.'

/** Tokens: how they are shown, judged, refused and renewed. */
export const authorizationTokens: readonly Requirement[] = only('http', [
  {
    places: {
      '2503-016': 'basic/authorization#token-requirements',
      '2506-022': 'basic/authorization#token-requirements',
      '2511-044': 'basic/authorization#token-requirements',
      '2607-121': 'basic/authorization/index#token-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'Tokens are shown and taken as OAuth 2.1 has it.',
    proof: [
      'packages/sdk/test/client-auth/hook.test.ts > go with every request of a session, take the place of a configured header, and bother nobody at its end',
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/auth/bearer.test.ts > an Authorization header with %s is malformed',
      'packages/sdk/test/auth/bearer.test.ts > two Authorization headers are malformed, whichever is good',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
    ],
  },
  {
    places: {
      '2503-017': 'basic/authorization#token-requirements',
      '2506-023': 'basic/authorization#token-requirements',
      '2511-045': 'basic/authorization#token-requirements',
      '2607-122': 'basic/authorization/index#token-requirements',
    },
    level: 'MUST',
    of: 'client',
    says: 'A token travels in the Authorization header.',
    proof: [
      'packages/sdk/test/client-auth/hook.test.ts > go with every request of a session, take the place of a configured header, and bother nobody at its end',
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
    ],
  },
  {
    places: {
      '2503-018': 'basic/authorization#token-requirements',
      '2506-024': 'basic/authorization#token-requirements',
      '2511-046': 'basic/authorization#token-requirements',
      '2607-123': 'basic/authorization/index#token-requirements',
    },
    level: 'MUST',
    of: 'client',
    says: 'It goes with every request, in a session too.',
    proof: [
      'packages/sdk/test/client-auth/hook.test.ts > go with every request of a session, take the place of a configured header, and bother nobody at its end',
    ],
  },
  {
    places: {
      '2503-019': 'basic/authorization#token-requirements',
      '2506-025': 'basic/authorization#token-requirements',
      '2511-047': 'basic/authorization#token-requirements',
      '2607-124': 'basic/authorization/index#token-requirements',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'A token is never part of a URL.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/renewal.test.ts > a refresh token goes to the token endpoint in the body, and nowhere else',
      'packages/sdk/test/auth/bearer.test.ts > a token in the query is refused, even next to one in the header',
    ],
  },
  {
    places: {
      '2503-020': 'basic/authorization#token-handling',
      '2506-026': 'basic/authorization#token-handling',
      '2506-047': 'basic/authorization#access-token-privilege-restriction',
      '2511-048': 'basic/authorization#token-handling',
      '2511-084': 'basic/authorization#access-token-privilege-restriction',
      '2607-125': 'basic/authorization/index#token-handling',
      '2607-169': 'basic/authorization/security-considerations#access-token-privilege-restriction',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server validates every token, its audience included, and answers 401 with a challenge where that fails.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/authorization-server.test.ts > refreshed tokens go on working, and those of other resources never do',
      'packages/sdk/test/auth/authorization-server.test.ts > opaque tokens are asked about, until they are revoked',
      'packages/sdk/test/auth/verifiers.test.ts > takes only the algorithms it was given, and no symmetric one at all',
      'packages/sdk/test/auth/principals.test.ts > a token that expires in a session is refused, and the session goes on with a new one',
    ],
  },
  {
    places: {
      '2506-033': 'basic/authorization#token-audience-binding-and-validation',
      '2506-048': 'basic/authorization#access-token-privilege-restriction',
      '2511-050': 'basic/authorization#token-handling',
      '2511-061': 'basic/authorization#token-audience-binding-and-validation',
      '2511-085': 'basic/authorization#access-token-privilege-restriction',
      '2607-127': 'basic/authorization/index#token-handling',
      '2607-146': 'basic/authorization/security-considerations#token-audience-binding-and-validation',
      '2607-170': 'basic/authorization/security-considerations#access-token-privilege-restriction',
    },
    level: 'MUST',
    of: 'server',
    says: 'Only tokens that name this server as their audience are taken.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/bearer.test.ts > other audiences take the place of the resource',
      'packages/sdk/test/auth/bearer.test.ts > a token may be for somebody else besides only where that is named, and never for them alone',
      'packages/sdk/test/auth/authorization-server.test.ts > refreshed tokens go on working, and those of other resources never do',
    ],
  },
  {
    places: {
      '2506-046': 'basic/authorization#access-token-privilege-restriction',
      '2511-083': 'basic/authorization#access-token-privilege-restriction',
      '2607-168': 'basic/authorization/security-considerations#access-token-privilege-restriction',
    },
    level: 'MUST',
    of: 'server',
    says: 'A token is judged before anything runs, and who has none learns nothing.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/handles.test.ts > nothing is served but the metadata of the resource',
      'packages/sdk/test/auth/scopes.test.ts > every message of a batch is looked at before any of them runs',
      'packages/sdk/test/serve/http-guard.test.ts > asks who it is before it reads the body, and refuses when it cannot tell',
    ],
  },
  {
    places: {
      '2506-027': 'basic/authorization#token-handling',
      '2511-049': 'basic/authorization#token-handling',
      '2607-126': 'basic/authorization/index#token-handling',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'A server is sent tokens of its own authorization server and no others.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is never shown to another, though one store keeps it all',
      'packages/sdk/test/client-auth/reach.test.ts > do not go to another origin',
      'packages/sdk/test/client-auth/hook.test.ts > do not follow a redirect to another origin',
    ],
  },
  {
    places: { '2506-028': 'basic/authorization#token-handling' },
    level: 'MUST',
    of: 'authorization server',
    says: 'An authorization server takes only tokens for its own resources.',
    none: elsewhere,
  },
  {
    places: {
      '2506-029': 'basic/authorization#token-handling',
      '2511-051': 'basic/authorization#token-handling',
      '2607-128': 'basic/authorization/index#token-handling',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'Other tokens are neither taken nor passed on.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/bearer.test.ts > a handler learns who calls, for which client and with what, but not the token (%s)',
      'packages/sdk/test/compose/transports.test.ts > of clients never go upstream, and the proxy shows its own there',
    ],
  },
  {
    places: {
      '2506-049': 'basic/authorization#access-token-privilege-restriction',
      '2511-086': 'basic/authorization#access-token-privilege-restriction',
      '2607-171': 'basic/authorization/security-considerations#access-token-privilege-restriction',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'The token of a client never goes on to another service.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a handler learns who calls, for which client and with what, but not the token (%s)',
      'packages/sdk/test/compose/transports.test.ts > of clients never go upstream, and the proxy shows its own there',
    ],
  },
  {
    places: { '2503-010': 'basic/authorization#example-authorization-code-grant' },
    level: 'MUST',
    of: 'server',
    says: 'A request that needs a token and has none is answered with 401.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
      'packages/sdk/test/auth/handles.test.ts > the id of a session is worth nothing',
      'packages/sdk/test/auth/bearer.test.ts > other schemes are asked for a token like everybody else',
    ],
  },
  {
    places: {
      '2503-027': 'basic/authorization#error-handling',
      '2506-030': 'basic/authorization#error-handling',
      '2511-052': 'basic/authorization#error-handling',
      '2607-133': 'basic/authorization/index#error-handling',
    },
    level: 'MUST',
    of: 'server',
    says: 'No token or a bad one is 401, too few scopes 403, a malformed request 400.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/bearer.test.ts > a token without the scopes that everything needs gets 403 with all of them',
      'packages/sdk/test/auth/bearer.test.ts > an Authorization header with %s is malformed',
    ],
  },
  {
    places: {
      '2511-014': 'basic/authorization#protected-resource-metadata-discovery-requirements',
      '2607-105': 'basic/authorization/index#scope-selection-strategy',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A challenge names the scopes that are needed.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
    ],
  },
  {
    places: {
      '2511-053': 'basic/authorization#runtime-insufficient-scope-errors',
      '2511-054': 'basic/authorization#runtime-insufficient-scope-errors',
      '2607-134': 'basic/authorization/index#runtime-insufficient-scope-errors',
      '2607-135': 'basic/authorization/index#runtime-insufficient-scope-errors',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Too few scopes are answered with 403 and a challenge that names the error, the scopes of the operation and the metadata.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/auth/bearer.test.ts > a token without the scopes that everything needs gets 403 with all of them',
    ],
  },
  {
    places: {
      '2511-055': 'basic/authorization#runtime-insufficient-scope-errors',
      '2511-056': 'basic/authorization#runtime-insufficient-scope-errors',
      '2607-136': 'basic/authorization/index#runtime-insufficient-scope-errors',
      '2607-137': 'basic/authorization/index#runtime-insufficient-scope-errors',
      '2607-138': 'basic/authorization/index#runtime-insufficient-scope-errors',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'One challenge names everything an operation needs, always in the same way.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/auth/scopes.test.ts > every message of a batch is looked at before any of them runs',
      'packages/sdk/test/auth/hierarchy.test.ts > a narrower scope is never enough for what needs a broader one, on %s',
    ],
  },
  {
    places: { '2607-141': 'basic/authorization/index#step-up-authorization-flow' },
    level: 'MUST',
    of: 'server',
    says: 'A broader scope counts for the narrower ones it implies.',
    proof: [
      'packages/sdk/test/auth/hierarchy.test.ts > a broader scope is enough for what needs a narrower one, on %s',
      'packages/sdk/test/auth/hierarchy.test.ts > a narrower scope is never enough for what needs a broader one, on %s',
      'packages/sdk/test/auth/bearer.test.ts > a broader scope stands for the narrower ones it implies, at any depth',
    ],
  },
  {
    places: {
      '2511-057': 'basic/authorization#step-up-authorization-flow',
      '2607-139': 'basic/authorization/index#step-up-authorization-flow',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Told of too few scopes, a client that acts for a person asks for more.',
    proof: [
      'packages/sdk/test/client-auth/step-up.test.ts > gets them in addition to those there are',
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
    ],
  },
  {
    places: {
      '2511-058': 'basic/authorization#step-up-authorization-flow',
      '2607-140': 'basic/authorization/index#step-up-authorization-flow',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'It does so a few times at most, and not again for what was asked for in vain.',
    proof: [
      'packages/sdk/test/client-auth/step-up.test.ts > fails for good where they do not help, and asks nobody again',
      'packages/sdk/test/client-auth/step-up.test.ts > makes at most three logins where a server wants ever more',
      'packages/sdk/test/client-auth/step-up.test.ts > does not ask a person again who has just refused',
      'packages/sdk/test/client-auth/hook.test.ts > are asked for anew at most three times for one request',
    ],
  },
  {
    places: { '2607-129': 'basic/authorization/index#refresh-tokens' },
    level: 'MUST',
    of: 'client',
    says: 'Refresh tokens are kept secret, on the way and where they are stored.',
    proof: [
      'packages/sdk/test/client-auth/renewal.test.ts > a refresh token goes to the token endpoint in the body, and nowhere else',
      'packages/sdk/test/client-auth/stores.test.ts > are readable to their owner alone and show nothing of what they hold',
      'packages/sdk/test/client-auth/secrets.test.ts > an error shows nothing of the tokens that are there',
      'packages/sdk/test/client-auth/reach.test.ts > do not follow a redirect of the token endpoint',
    ],
  },
  {
    places: { '2607-130': 'basic/authorization/index#refresh-tokens' },
    level: 'SHOULD',
    of: 'client',
    says: 'A registration names the refresh token among its grants.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > registers itself as what it is, once for one issuer and redirect URI',
    ],
  },
  {
    places: { '2607-131': 'basic/authorization/index#refresh-tokens' },
    level: 'MUST NOT',
    of: 'client',
    says: 'A client gets on without a refresh token.',
    proof: [
      'packages/sdk/test/client-auth/renewal.test.ts > where no refresh token was issued, a login takes the place of a renewal',
    ],
  },
  {
    places: { '2607-132': 'basic/authorization/index#refresh-tokens' },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'A server does not name offline_access among its scopes.',
    proof: ['packages/sdk/test/auth/bearer.test.ts > %s is refused at once'],
  },
])
