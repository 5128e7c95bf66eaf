import { only, type Requirement } from '../requirement.ts'

const elsewhere = 'It binds the authorization server, which is not part of this project.'
const thirdParty =
  'It is about proxies that log people in at third parties. Ours runs no authorization endpoint and goes upstream with credentials of its own.'

/** What authorization is for, and what keeps it safe. */
export const authorizationSecurity: readonly Requirement[] = only('http', [
  {
    places: {
      '2503-003': 'basic/authorization#protocol-requirements',
      '2506-003': 'basic/authorization#protocol-requirements',
      '2511-003': 'basic/authorization#protocol-requirements',
      '2607-095': 'basic/authorization/index#protocol-requirements',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Over HTTP authorization goes by this specification.',
    proof: [
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
    ],
  },
  {
    places: {
      '2503-004': 'basic/authorization#protocol-requirements',
      '2506-004': 'basic/authorization#protocol-requirements',
      '2511-004': 'basic/authorization#protocol-requirements',
      '2607-096': 'basic/authorization/index#protocol-requirements',
    },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'Over stdio it does not: credentials come from the environment.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > holds no secret of the parent, only what programs need and what was configured',
      'packages/host/test/launch/launch.test.ts > are replaced when the server is started',
      'packages/sdk/test/auth/scopes.test.ts > whoever started the server may use all of it',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: {
      '2503-005': 'basic/authorization#protocol-requirements',
      '2506-005': 'basic/authorization#protocol-requirements',
      '2511-005': 'basic/authorization#protocol-requirements',
      '2607-097': 'basic/authorization/index#protocol-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'Other transports are protected as is usual for them.',
    proof: [
      'packages/sdk/test/transports/socket.test.ts > is for its owner alone, whatever the process makes its files for',
      'packages/sdk/test/transports/socket.test.ts > is nobody in particular on TCP, and has no scope',
      'packages/sdk/test/transports/socket.test.ts > is on this machine, unless a long name says otherwise',
      'packages/sdk/test/transports/socket.test.ts > hears nothing from a client whose first line is not JSON, such as a web browser',
    ],
  },
  {
    places: { '2503-006': 'basic/authorization#overview' },
    level: 'MUST',
    of: 'both',
    says: 'OAuth 2.1 is there, for clients with a secret and without one.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/login.test.ts > proves itself by %s where %j is supported',
      'packages/sdk/test/client-auth/machine.test.ts > prove themselves with a signing key given as %s',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
    ],
  },
  {
    places: {
      '2506-006': 'basic/authorization#overview',
      '2511-006': 'basic/authorization#overview',
      '2607-098': 'basic/authorization/index#overview',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'Authorization servers are those of OAuth 2.1.',
    none: elsewhere,
  },
  {
    places: {
      '2503-028': 'basic/authorization#implementation-requirements',
      '2506-031': 'basic/authorization#security-considerations',
      '2511-059': 'basic/authorization#security-considerations',
      '2607-144': 'basic/authorization/security-considerations',
    },
    level: 'MUST',
    of: 'both',
    says: 'The security advice of OAuth 2.1 is followed.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/client-auth/login.test.ts > is judged by its issuer: %s',
      'packages/sdk/test/client-auth/registration.test.ts > is never made for %s, where others could be listening',
      'packages/sdk/test/client-auth/renewal.test.ts > a refresh token is used once, and the one that came with the renewal after it',
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/stores.test.ts > are readable to their owner alone and show nothing of what they hold',
    ],
  },
  {
    places: {
      '2607-142': 'basic/authorization/index#security-considerations',
      '2607-143': 'basic/authorization/security-considerations',
    },
    level: 'MUST',
    of: 'both',
    says: 'So is that of this specification: audiences, theft, https, codes, mix-ups, redirects, metadata documents.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/client-auth/discovery.test.ts > may be %s, and is sent literally in both requests',
      'packages/sdk/test/client-auth/stores.test.ts > are readable to their owner alone and show nothing of what they hold',
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/login.test.ts > does not begin where PKCE is not supported',
      'packages/sdk/test/client-auth/login.test.ts > is judged by its issuer: %s',
      'packages/sdk/test/client-auth/registration.test.ts > is never made for %s, where others could be listening',
      'packages/sdk/test/client-auth/login.test.ts > cannot have its metadata document at %s',
    ],
  },
  {
    places: { '2503-021': 'basic/authorization#security-considerations' },
    level: 'MUST',
    of: 'both',
    says: 'In 2025-03-26: tokens are kept safe and expire, logins are over https, redirects are checked.',
    proof: [
      'packages/sdk/test/client-auth/stores.test.ts > are readable to their owner alone and show nothing of what they hold',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/registration.test.ts > is never made for %s, where others could be listening',
    ],
  },
  {
    places: {
      '2503-022': 'basic/authorization#security-considerations',
      '2506-034': 'basic/authorization#token-theft',
      '2511-062': 'basic/authorization#token-theft',
      '2607-147': 'basic/authorization/security-considerations#token-theft',
    },
    level: 'MUST',
    of: 'both',
    says: 'Tokens are kept where nobody else can read them, and are not shown.',
    proof: [
      'packages/sdk/test/client-auth/stores.test.ts > are readable to their owner alone and show nothing of what they hold',
      'packages/sdk/test/client-auth/stores.test.ts > cannot be read with another passphrase, and are not overwritten for that',
      'packages/sdk/test/client-auth/stores.test.ts > are refused when somebody has %s them',
      'packages/sdk/test/client-auth/secrets.test.ts > an error shows nothing of the tokens that are there',
      'packages/sdk/test/auth/bearer.test.ts > a failure to verify is an internal error, and is reported without the token',
    ],
  },
  {
    places: { '2503-023': 'basic/authorization#security-considerations' },
    level: 'SHOULD',
    of: 'server',
    says: 'Tokens that are over are refused.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/principals.test.ts > a token that expires in a session is refused, and the session goes on with a new one',
      'packages/sdk/test/client-auth/renewal.test.ts > a refresh token is used once, and the one that came with the renewal after it',
    ],
  },
  {
    places: {
      '2503-024': 'basic/authorization#security-considerations',
      '2506-036': 'basic/authorization#communication-security',
      '2506-037': 'basic/authorization#communication-security',
      '2511-064': 'basic/authorization#communication-security',
      '2511-065': 'basic/authorization#communication-security',
      '2607-149': 'basic/authorization/security-considerations#communication-security',
      '2607-150': 'basic/authorization/security-considerations#communication-security',
    },
    level: 'MUST',
    of: 'both',
    says: 'Everything about a login goes over https, but on this machine.',
    proof: [
      'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client ask for',
      'packages/sdk/test/client-auth/reach.test.ts > goes for nothing where the server itself is reached over plain http',
      'packages/sdk/test/auth/bearer.test.ts > an issuer over plain http',
      'packages/sdk/test/auth/bearer.test.ts > plain http to another machine',
      'packages/sdk/test/auth/verifiers.test.ts > takes no keys over plain http from another machine',
    ],
  },
  {
    places: { '2503-030': 'basic/authorization#implementation-requirements' },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Refresh tokens are replaced as they are used.',
    none: elsewhere,
  },
  {
    places: { '2503-031': 'basic/authorization#implementation-requirements' },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Tokens do not last longer than they need to.',
    none: elsewhere,
  },
  {
    places: {
      '2506-035': 'basic/authorization#token-theft',
      '2511-063': 'basic/authorization#token-theft',
      '2607-148': 'basic/authorization/security-considerations#token-theft',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'Access tokens are short-lived, and refresh tokens of public clients are good once.',
    none: elsewhere,
  },
  {
    places: {
      '2503-032': 'basic/authorization#session-binding-requirements',
      '2503-033': 'basic/authorization#security-considerations-1',
    },
    level: 'MUST',
    of: 'author',
    says: 'Servers that log people in at third parties keep those tokens apart, checked, safe and bounded in time.',
    none: thirdParty,
  },
  {
    places: {
      '2506-045': 'basic/authorization#confused-deputy-problem',
      '2511-082': 'basic/authorization#confused-deputy-problem',
      '2607-167': 'basic/authorization/security-considerations#confused-deputy-problem',
    },
    level: 'MUST',
    of: 'author',
    says: 'Such servers ask the person for each client that registered before going on.',
    none: thirdParty,
  },
])
