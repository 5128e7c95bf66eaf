import { only, type Requirement } from '../requirement.ts'

const elsewhere = 'It binds the authorization server, which is not part of this project.'

/** A login: what it asks for, and what is taken for an answer. */
export const authorizationFlow: readonly Requirement[] = only('http', [
  {
    places: {
      '2506-015': 'basic/authorization#resource-parameter-implementation',
      '2506-016': 'basic/authorization#resource-parameter-implementation',
      '2506-032': 'basic/authorization#token-audience-binding-and-validation',
      '2506-050': 'basic/authorization#access-token-privilege-restriction',
      '2511-037': 'basic/authorization#resource-parameter-implementation',
      '2511-038': 'basic/authorization#resource-parameter-implementation',
      '2511-060': 'basic/authorization#token-audience-binding-and-validation',
      '2511-087': 'basic/authorization#access-token-privilege-restriction',
      '2607-114': 'basic/authorization/index#resource-parameter-implementation',
      '2607-115': 'basic/authorization/index#resource-parameter-implementation',
      '2607-145': 'basic/authorization/security-considerations#token-audience-binding-and-validation',
      '2607-172': 'basic/authorization/security-considerations#access-token-privilege-restriction',
    },
    level: 'MUST',
    of: 'client',
    says: 'Every authorization and token request names the resource the token is for.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/discovery.test.ts > may be %s, and is sent literally in both requests',
      'packages/sdk/test/client-auth/refresh.test.ts > that is over is renewed once for 50 calls at a time, before any is sent',
      'packages/sdk/test/client-auth/machine.test.ts > get a token for the resource, and another when it is refused',
    ],
  },
  {
    places: {
      '2506-017': 'basic/authorization#resource-parameter-implementation',
      '2511-039': 'basic/authorization#resource-parameter-implementation',
      '2607-116': 'basic/authorization/index#resource-parameter-implementation',
    },
    level: 'MUST',
    of: 'client',
    says: 'That resource is the server the client talks to.',
    proof: [
      'packages/sdk/test/client-auth/discovery.test.ts > of %s ends the attempt before anybody is asked',
      'packages/sdk/test/client-auth/discovery.test.ts > may be %s, and is sent literally in both requests',
    ],
  },
  {
    places: {
      '2506-018': 'basic/authorization#resource-parameter-implementation',
      '2511-040': 'basic/authorization#resource-parameter-implementation',
      '2607-117': 'basic/authorization/index#resource-parameter-implementation',
    },
    level: 'MUST',
    of: 'client',
    says: 'It is named by its canonical URI: as it publishes it, or else by its URL, normalised and without a fragment.',
    proof: [
      'packages/sdk/test/client-auth/discovery.test.ts > may be %s, and is sent literally in both requests',
      'packages/sdk/test/client-auth/discovery.test.ts > of %s ends the attempt before anybody is asked',
      'packages/sdk/test/client-auth/unpublished.test.ts > %s is the resource %s',
    ],
  },
  {
    places: {
      '2506-019': 'basic/authorization#canonical-server-uri',
      '2511-041': 'basic/authorization#canonical-server-uri',
      '2607-118': 'basic/authorization/index#canonical-server-uri',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The URI is as specific as it can be, and capitals in scheme and host are taken.',
    proof: [
      'packages/sdk/test/client-auth/unpublished.test.ts > %s is the resource %s',
      'packages/sdk/test/client-auth/metadata.test.ts > may be written in capitals where case does not count',
    ],
  },
  {
    places: {
      '2506-020': 'basic/authorization#canonical-server-uri',
      '2511-042': 'basic/authorization#canonical-server-uri',
      '2607-119': 'basic/authorization/index#canonical-server-uri',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'It has no slash at its end unless the server publishes it so.',
    proof: [
      'packages/sdk/test/client-auth/unpublished.test.ts > %s is the resource %s',
      'packages/sdk/test/client-auth/discovery.test.ts > may be %s, and is sent literally in both requests',
    ],
  },
  {
    places: {
      '2506-021': 'basic/authorization#canonical-server-uri',
      '2511-043': 'basic/authorization#canonical-server-uri',
      '2607-120': 'basic/authorization/index#canonical-server-uri',
    },
    level: 'MUST',
    of: 'client',
    says: 'It is named whether or not the authorization server says that it understands it.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/unpublished.test.ts > has its endpoints presumed at the root of its origin, once no metadata was found',
    ],
  },
  {
    places: {
      '2511-036': 'basic/authorization#scope-selection-strategy',
      '2607-107': 'basic/authorization/index#scope-selection-strategy',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client asks for the scopes of the challenge, else for those the resource publishes, else for none by name.',
    proof: ['packages/sdk/test/client-auth/login.test.ts > asks for the scopes %s'],
  },
  {
    places: { '2511-017': 'basic/authorization#protected-resource-metadata-discovery-requirements' },
    level: 'SHOULD',
    of: 'client',
    says: 'A challenge without scopes leaves the choice to what the resource publishes.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > the resource names, where the challenge names none',
      'packages/sdk/test/client-auth/login.test.ts > nobody names',
    ],
  },
  {
    places: {
      '2511-015': 'basic/authorization#protected-resource-metadata-discovery-requirements',
      '2607-106': 'basic/authorization/index#scope-selection-strategy',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'The scopes of a challenge count as they are, whatever the resource publishes, and are added to those there were.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks for the scopes %s',
      'packages/sdk/test/client-auth/step-up.test.ts > gets them in addition to those there are',
    ],
  },
  {
    places: { '2503-029': 'basic/authorization#implementation-requirements' },
    level: 'MUST',
    of: 'client',
    says: 'Every login is protected by PKCE.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/unpublished.test.ts > has its endpoints presumed at the root of its origin, once no metadata was found',
      'packages/sdk/test/client-auth/login.test.ts > asks for other secrets each time',
    ],
  },
  {
    places: {
      '2506-039': 'basic/authorization#authorization-code-protection',
      '2511-067': 'basic/authorization#authorization-code-protection',
      '2607-152': 'basic/authorization/security-considerations#authorization-code-protection',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client uses PKCE, with a new secret each time, and first makes sure that it is supported.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/login.test.ts > asks for other secrets each time',
      'packages/sdk/test/client-auth/login.test.ts > does not begin where PKCE is not supported',
      'packages/sdk/test/client-auth/interop.test.ts > logs in, renews and steps up at an authorization server that others wrote',
    ],
  },
  {
    places: {
      '2511-068': 'basic/authorization#authorization-code-protection',
      '2607-153': 'basic/authorization/security-considerations#authorization-code-protection',
    },
    level: 'MUST',
    of: 'client',
    says: 'The challenge is made with S256.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/login.test.ts > does not begin where PKCE is not supported',
      'packages/sdk/test/client-auth/metadata.test.ts > with the issuer path "%s" must say at %s that it supports PKCE',
    ],
  },
  {
    places: {
      '2511-069': 'basic/authorization#authorization-code-protection',
      '2511-070': 'basic/authorization#authorization-code-protection',
      '2511-071': 'basic/authorization#authorization-code-protection',
      '2607-154': 'basic/authorization/security-considerations#authorization-code-protection',
      '2607-155': 'basic/authorization/security-considerations#authorization-code-protection',
      '2607-156': 'basic/authorization/security-considerations#authorization-code-protection',
    },
    level: 'MUST',
    of: 'client',
    says: 'Metadata of either kind that does not say PKCE ends the attempt.',
    proof: [
      'packages/sdk/test/client-auth/metadata.test.ts > with the issuer path "%s" must say at %s that it supports PKCE',
      'packages/sdk/test/client-auth/login.test.ts > does not begin where PKCE is not supported',
      'packages/sdk/test/client-auth/unpublished.test.ts > is not taken for its own authorization server where its metadata does not say PKCE',
    ],
  },
  {
    places: {
      '2511-072': 'basic/authorization#authorization-code-protection',
      '2607-157': 'basic/authorization/security-considerations#authorization-code-protection',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'OpenID providers say in their metadata that they support PKCE.',
    none: elsewhere,
  },
  {
    places: { '2607-108': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST',
    of: 'client',
    says: 'The issuer of the validated metadata is written down with the other secrets of a login before the person is sent away.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > is judged by its issuer: %s',
      'packages/sdk/test/client-auth/discovery.test.ts > whose metadata names %s is not used',
    ],
  },
  {
    places: { '2607-109': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST',
    of: 'authorization server',
    says: 'Answers name their issuer, and the metadata says so.',
    none: elsewhere,
  },
  {
    places: { '2607-110': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST',
    of: 'client',
    says: 'The issuer an answer names is compared before its code goes anywhere, and may be missing only where it was not announced.',
    proof: ['packages/sdk/test/client-auth/login.test.ts > is judged by its issuer: %s'],
  },
  {
    places: { '2607-111': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST',
    of: 'reader',
    says: 'A later revision will ask more of authorization servers.',
    none: 'It tells of a revision to come.',
  },
  {
    places: { '2607-112': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST NOT',
    of: 'client',
    says: 'It is compared character by character, with nothing normalised.',
    proof: ['packages/sdk/test/client-auth/login.test.ts > is judged by its issuer: %s'],
  },
  {
    places: { '2607-113': 'basic/authorization/index#authorization-response-validation' },
    level: 'MUST NOT',
    of: 'client',
    says: 'An error from another issuer is neither acted on nor shown.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > of another issuer shows nothing of the error it tells',
    ],
  },
  {
    places: {
      '2506-042': 'basic/authorization#open-redirection',
      '2511-075': 'basic/authorization#open-redirection',
      '2607-160': 'basic/authorization/security-considerations#open-redirection',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Every login has a state of its own, and answers without it are dropped.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > with %s is not used',
      'packages/sdk/test/client-auth/login.test.ts > asks for other secrets each time',
      'packages/sdk/test/client-auth/loopback.test.ts > turns away everything but the answer to this login, and waits on',
    ],
  },
  {
    places: {
      '2506-040': 'basic/authorization#open-redirection',
      '2511-073': 'basic/authorization#open-redirection',
      '2607-158': 'basic/authorization/security-considerations#open-redirection',
    },
    level: 'MUST',
    of: 'client',
    says: 'People come back to a URI the client registered.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is of a %s application where people come back to %s, and nowhere else',
      'packages/sdk/test/client-auth/loopback.test.ts > takes the port of the last registration, and registers anew when that is taken',
    ],
  },
  {
    places: {
      '2503-026': 'basic/authorization#security-considerations',
      '2506-038': 'basic/authorization#communication-security',
      '2511-066': 'basic/authorization#communication-security',
      '2607-151': 'basic/authorization/security-considerations#communication-security',
    },
    level: 'MUST',
    of: 'client',
    says: 'It is on this machine, or https.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is never made for %s, where others could be listening',
      'packages/sdk/test/client-auth/loopback.test.ts > cannot end at %s',
      'packages/sdk/test/client-auth/loopback.test.ts > listens on 127.0.0.1 alone, whatever the redirect URI calls it',
    ],
  },
  {
    places: {
      '2506-041': 'basic/authorization#open-redirection',
      '2506-043': 'basic/authorization#open-redirection',
      '2511-074': 'basic/authorization#open-redirection',
      '2511-076': 'basic/authorization#open-redirection',
      '2607-159': 'basic/authorization/security-considerations#open-redirection',
      '2607-161': 'basic/authorization/security-considerations#open-redirection',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'Redirect URIs are compared exactly, and nobody is sent to one that is not trusted.',
    none: elsewhere,
  },
  {
    places: { '2503-025': 'basic/authorization#security-considerations' },
    level: 'MUST',
    of: 'authorization server',
    says: 'Servers that log people in check where they send them back to.',
    none: elsewhere,
  },
  {
    places: {
      '2506-044': 'basic/authorization#open-redirection',
      '2511-077': 'basic/authorization#open-redirection',
      '2607-162': 'basic/authorization/security-considerations#open-redirection',
    },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Only trusted redirect URIs are gone to without asking.',
    none: elsewhere,
  },
  {
    places: { '2503-009': 'basic/authorization#oauth-grant-types' },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'The ways to get a token fit those who use the server.',
    none: 'Whoever runs the server chooses an authorization server. Clients here can do both: log a person in, and act for themselves.',
  },
])
