import { only, type Requirement } from '../requirement.ts'

const elsewhere = 'It binds the authorization server, which is not part of this project.'

/** Where a login happens: metadata of resources and of authorization servers. */
export const authorizationDiscovery: readonly Requirement[] = only('http', [
  {
    places: {
      '2506-010': 'basic/authorization#authorization-server-location',
      '2511-011': 'basic/authorization#authorization-server-location',
      '2607-065': 'basic/authorization/authorization-server-discovery#authorization-server-location',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server publishes metadata of itself that names at least one authorization server.',
    proof: [
      'packages/sdk/test/auth/metadata.test.ts > the metadata says who may issue tokens, to anybody and to any page',
      'packages/sdk/test/auth/bearer.test.ts > no authorization server',
    ],
  },
  {
    places: {
      '2506-008': 'basic/authorization#overview',
      '2511-008': 'basic/authorization#overview',
      '2607-100': 'basic/authorization/index#overview',
    },
    level: 'MUST',
    of: 'both',
    says: 'Servers publish protected resource metadata, and clients find the authorization server by it.',
    proof: [
      'packages/sdk/test/auth/metadata.test.ts > the metadata says who may issue tokens, to anybody and to any page',
      'packages/sdk/test/auth/metadata.test.ts > a resource at the root of its origin has its metadata there',
      'packages/sdk/test/client-auth/discovery.test.ts > is found at the well-known place of %s',
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
    ],
  },
  {
    places: {
      '2506-011': 'basic/authorization#authorization-server-location',
      '2511-012': 'basic/authorization#protected-resource-metadata-discovery-requirements',
      '2607-067':
        'basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements',
    },
    level: 'MUST',
    of: 'server',
    says: 'A 401 says in WWW-Authenticate where that metadata is, and it is served at its well-known place.',
    proof: [
      'packages/sdk/test/auth/bearer.test.ts > without a token, the answer says where to get one and with which scopes',
      'packages/sdk/test/auth/bearer.test.ts > a token with %s is refused, and nothing runs',
      'packages/sdk/test/auth/metadata.test.ts > the metadata says who may issue tokens, to anybody and to any page',
      'packages/sdk/test/auth/metadata.test.ts > it stands at the root only on request',
    ],
  },
  {
    places: {
      '2506-012': 'basic/authorization#authorization-server-location',
      '2511-016': 'basic/authorization#protected-resource-metadata-discovery-requirements',
      '2607-069':
        'basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client reads every form of challenge and acts on a 401.',
    proof: [
      'packages/sdk/test/client-auth/discovery.test.ts > is read from the challenge: %s',
      'packages/sdk/test/client-auth/login.test.ts > asks with PKCE, state, resource and scopes, and gets the call through',
      'packages/sdk/test/client-auth/refresh.test.ts > that was revoked is renewed once for 50 calls at a time',
    ],
  },
  {
    places: {
      '2511-013': 'basic/authorization#protected-resource-metadata-discovery-requirements',
      '2607-068':
        'basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements',
    },
    level: 'MUST',
    of: 'client',
    says: 'The place a challenge names counts; without one the well-known places are tried, that of the path before the root.',
    proof: [
      'packages/sdk/test/client-auth/discovery.test.ts > is read from the challenge: %s',
      'packages/sdk/test/client-auth/discovery.test.ts > is found at the well-known place of %s',
      'packages/sdk/test/client-auth/discovery.test.ts > is not looked for elsewhere when the challenge names a place',
    ],
  },
  {
    places: {
      '2506-009': 'basic/authorization#overview',
      '2506-013': 'basic/authorization#server-metadata-discovery',
      '2511-010': 'basic/authorization#overview',
      '2607-102': 'basic/authorization/index#overview',
    },
    level: 'MUST',
    of: 'client',
    says: 'A client reads authorization server metadata of OAuth 2.0 and of OpenID Connect alike.',
    proof: [
      'packages/sdk/test/client-auth/discovery.test.ts > with the issuer path "%s" is described at %s',
      'packages/sdk/test/client-auth/interop.test.ts > logs in, renews and steps up at an authorization server that others wrote',
    ],
  },
  {
    places: {
      '2511-018': 'basic/authorization#authorization-server-metadata-discovery',
      '2511-019': 'basic/authorization#authorization-server-metadata-discovery',
      '2511-020': 'basic/authorization#authorization-server-metadata-discovery',
      '2607-070':
        'basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery',
      '2607-071':
        'basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery',
      '2607-072':
        'basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery',
    },
    level: 'MUST',
    of: 'client',
    says: 'Where metadata may be is tried in order: OAuth 2.0 before OpenID Connect, the path of the issuer inserted before appended.',
    proof: ['packages/sdk/test/client-auth/discovery.test.ts > with the issuer path "%s" is described at %s'],
  },
  {
    places: {
      '2607-073':
        'basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'Metadata that names another issuer than the one it was looked up for, character by character, is not used.',
    proof: ['packages/sdk/test/client-auth/discovery.test.ts > whose metadata names %s is not used'],
  },
  {
    places: { '2511-009': 'basic/authorization#overview', '2607-101': 'basic/authorization/index#overview' },
    level: 'MUST',
    of: 'authorization server',
    says: 'An authorization server publishes metadata in one of the two forms.',
    none: elsewhere,
  },
  {
    places: { '2607-103': 'basic/authorization/index#authorization-server-discovery' },
    level: 'MUST',
    of: 'both',
    says: 'Both sides keep to the rules of discovery.',
    proof: [
      'packages/sdk/test/auth/metadata.test.ts > the metadata says who may issue tokens, to anybody and to any page',
      'packages/sdk/test/client-auth/discovery.test.ts > is found at the well-known place of %s',
      'packages/sdk/test/client-auth/discovery.test.ts > with the issuer path "%s" is described at %s',
      'packages/sdk/test/auth/end-to-end.test.ts > a client signs in, and signs in again for what needs more (%s, bound to a key: %s)',
    ],
  },
  {
    places: {
      '2607-066': 'basic/authorization/authorization-server-discovery#authorization-server-location',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'What a client has from one authorization server stays apart from what it has from another.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is never shown to another, though one store keeps it all',
      'packages/sdk/test/client-auth/login.test.ts > has nothing to do with a new authorization server but what it registers there',
      'packages/sdk/test/client-auth/discovery.test.ts > is the one this client is registered with, of several',
    ],
  },
  {
    places: { '2503-008': 'basic/authorization#overview' },
    level: 'MUST',
    of: 'client',
    says: 'In 2025-03-26 a client reads the metadata of the server as an authorization server.',
    proof: [
      'packages/sdk/test/client-auth/unpublished.test.ts > has its metadata looked for at the root of its origin, whatever its own path',
    ],
  },
  {
    places: {
      '2503-011': 'basic/authorization#authorization-base-url',
      '2503-012': 'basic/authorization#authorization-base-url',
    },
    level: 'MUST',
    of: 'client',
    says: 'There the base is the origin of the server, whatever its path, and metadata is at the root of it.',
    proof: [
      'packages/sdk/test/client-auth/unpublished.test.ts > has its metadata looked for at the root of its origin, whatever its own path',
    ],
  },
  {
    places: {
      '2503-013': 'basic/authorization#fallbacks-for-servers-without-metadata-discovery',
      '2503-014': 'basic/authorization#fallbacks-for-servers-without-metadata-discovery',
    },
    level: 'MUST',
    of: 'client',
    says: 'Only where no metadata is found are the default endpoints used, and everything else stays as it is.',
    proof: [
      'packages/sdk/test/client-auth/unpublished.test.ts > has its endpoints presumed at the root of its origin, once no metadata was found',
      'packages/sdk/test/client-auth/discovery.test.ts > is the server itself where nothing at all is published (2025-03-26)',
      'packages/sdk/test/client-auth/discovery.test.ts > that publishes nothing is an error where the server names it',
    ],
  },
])
