import { only, type Requirement } from '../requirement.ts'

const elsewhere = 'It binds the authorization server, which is not part of this project.'

/** How clients become known to authorization servers. */
export const authorizationRegistration: readonly Requirement[] = only('http', [
  {
    places: { '2607-104': 'basic/authorization/index#client-registration' },
    level: 'MUST',
    of: 'client',
    says: 'Before a login a client has an id: given, its metadata document, or registered for.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is the one registered by hand, before all else',
      'packages/sdk/test/client-auth/registration.test.ts > is its metadata document, before it registers',
      'packages/sdk/test/client-auth/registration.test.ts > registers where documents are not said to be looked up',
      'packages/sdk/test/client-auth/login.test.ts > is asked for where it can neither register nor be looked up',
    ],
  },
  {
    places: {
      '2511-021': 'basic/authorization#client-registration-approaches',
      '2607-074': 'basic/authorization/client-registration',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'An id given by hand comes first, then the metadata document, then registering, then asking for one.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is the one registered by hand, before all else',
      'packages/sdk/test/client-auth/registration.test.ts > is its metadata document, before it registers',
      'packages/sdk/test/client-auth/registration.test.ts > registers where documents are not said to be looked up',
      'packages/sdk/test/client-auth/login.test.ts > is asked for where it can neither register nor be looked up',
    ],
  },
  {
    places: {
      '2511-007': 'basic/authorization#overview',
      '2511-022': 'basic/authorization#client-id-metadata-documents',
      '2607-075': 'basic/authorization/client-registration#client-id-metadata-documents',
      '2607-099': 'basic/authorization/index#overview',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client may be known by the URL of its metadata document.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > is its metadata document where that is supported',
      'packages/sdk/test/client-auth/registration.test.ts > is its metadata document, before it registers',
    ],
  },
  {
    places: {
      '2511-034': 'basic/authorization#discovery',
      '2607-087': 'basic/authorization/client-registration#advertising-cimd-support',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client looks whether documents are supported, and registers where they are not.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > registers where documents are not said to be looked up',
      'packages/sdk/test/client-auth/registration.test.ts > registers where documents are said not to be looked up',
    ],
  },
  {
    places: {
      '2511-023': 'basic/authorization#implementation-requirements',
      '2607-076': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'Metadata documents follow their own draft.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > is its metadata document where that is supported',
      'packages/sdk/test/client-auth/login.test.ts > cannot have its metadata document at %s',
    ],
  },
  {
    places: {
      '2511-024': 'basic/authorization#implementation-requirements',
      '2607-077': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'MUST',
    of: 'author',
    says: 'The document is served over https.',
    none: 'The document is published by whoever makes an application; the client refuses a URL for it that is not https.',
  },
  {
    places: {
      '2511-025': 'basic/authorization#implementation-requirements',
      '2607-078': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'MUST',
    of: 'client',
    says: 'The URL that is a client id is https and has a path.',
    proof: ['packages/sdk/test/client-auth/login.test.ts > cannot have its metadata document at %s'],
  },
  {
    places: {
      '2511-026': 'basic/authorization#implementation-requirements',
      '2511-027': 'basic/authorization#implementation-requirements',
      '2607-079': 'basic/authorization/client-registration#implementation-requirements',
      '2607-080': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'MUST',
    of: 'author',
    says: 'The document names itself exactly by its URL, and holds a name and the redirect URIs.',
    none: 'The document is published by whoever makes an application; the client only sends its URL.',
  },
  {
    places: {
      '2511-028': 'basic/authorization#implementation-requirements',
      '2511-030': 'basic/authorization#implementation-requirements',
      '2607-081': 'basic/authorization/client-registration#implementation-requirements',
      '2607-083': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Documents are fetched where an id is a URL, and kept as long as HTTP allows.',
    none: elsewhere,
  },
  {
    places: {
      '2511-029': 'basic/authorization#implementation-requirements',
      '2511-031': 'basic/authorization#implementation-requirements',
      '2511-032': 'basic/authorization#implementation-requirements',
      '2607-082': 'basic/authorization/client-registration#implementation-requirements',
      '2607-084': 'basic/authorization/client-registration#implementation-requirements',
      '2607-085': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'A document is sound JSON, names itself by its URL and holds the redirect URI in use.',
    none: elsewhere,
  },
  {
    places: {
      '2511-033': 'basic/authorization#implementation-requirements',
      '2607-086': 'basic/authorization/client-registration#implementation-requirements',
    },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Fetching documents follows the security advice of the draft.',
    none: elsewhere,
  },
  {
    places: {
      '2511-078': 'basic/authorization#client-id-metadata-document-security',
      '2607-163': 'basic/authorization/security-considerations#client-id-metadata-document-security',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'The dangers of documents that others host are thought of.',
    none: elsewhere,
  },
  {
    places: {
      '2511-079': 'basic/authorization#authorization-server-abuse-protection',
      '2511-080': 'basic/authorization#localhost-redirect-uri-risks',
      '2607-164': 'basic/authorization/security-considerations#authorization-server-abuse-protection',
      '2607-165': 'basic/authorization/security-considerations#localhost-redirect-uri-risks',
    },
    level: 'SHOULD',
    of: 'authorization server',
    says: 'Fetching a document reaches nothing inside, and redirects to this machine alone are warned about.',
    none: elsewhere,
  },
  {
    places: {
      '2511-081': 'basic/authorization#localhost-redirect-uri-risks',
      '2607-166': 'basic/authorization/security-considerations#localhost-redirect-uri-risks',
    },
    level: 'MUST',
    of: 'authorization server',
    says: 'The host people are sent back to is shown at the login.',
    none: elsewhere,
  },
  {
    places: {
      '2511-035': 'basic/authorization#preregistration',
      '2607-088': 'basic/authorization/client-registration#pre-registration',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Credentials registered by hand can be given.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > proves itself by %s where %j is supported',
      'packages/sdk/test/client-auth/discovery.test.ts > is the one this client is registered with, of several',
      'packages/sdk/test/client-auth/machine.test.ts > get a token for the resource, and another when it is refused',
    ],
  },
  {
    places: {
      '2503-007': 'basic/authorization#overview',
      '2503-015': 'basic/authorization#dynamic-client-registration',
      '2506-007': 'basic/authorization#overview',
      '2506-014': 'basic/authorization#dynamic-client-registration',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client registers itself where it can, without a person.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > registers itself as what it is, once for one issuer and redirect URI',
      'packages/sdk/test/client-auth/interop.test.ts > logs in, renews and steps up at an authorization server that others wrote',
    ],
  },
  {
    places: {
      '2607-089': 'basic/authorization/client-registration#application-type-and-redirect-uri-constraints',
    },
    level: 'MUST',
    of: 'client',
    says: 'A registration says what kind of application the client is.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is of a %s application where people come back to %s, and nowhere else',
      'packages/sdk/test/client-auth/login.test.ts > registers itself as what it is, once for one issuer and redirect URI',
    ],
  },
  {
    places: {
      '2607-090': 'basic/authorization/client-registration#application-type-and-redirect-uri-constraints',
      '2607-091': 'basic/authorization/client-registration#application-type-and-redirect-uri-constraints',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'It is a native one where people come back to their own machine, and a web one otherwise.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > is of a %s application where people come back to %s, and nowhere else',
    ],
  },
  {
    places: {
      '2607-092': 'basic/authorization/client-registration#application-type-and-redirect-uri-constraints',
    },
    level: 'MUST',
    of: 'client',
    says: 'A registration that is refused is an error that says what is wrong.',
    proof: [
      'packages/sdk/test/client-auth/registration.test.ts > that is refused ends the attempt before anybody is asked, and is not kept',
      'packages/sdk/test/client-auth/login.test.ts > says what the authorization server has against its registration',
    ],
  },
  {
    places: { '2607-093': 'basic/authorization/client-registration#authorization-server-binding' },
    level: 'MUST NOT',
    of: 'client',
    says: 'Credentials of a client belong to the issuer they are from; a new authorization server means a new registration.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > has nothing to do with a new authorization server but what it registers there',
      'packages/sdk/test/client-auth/login.test.ts > that was registered by hand stays with its issuer',
      'packages/sdk/test/client-auth/login.test.ts > registers itself as what it is, once for one issuer and redirect URI',
      'packages/sdk/test/client-auth/registration.test.ts > is never shown to another, though one store keeps it all',
      'packages/sdk/test/client-auth/machine.test.ts > stay with their issuer',
    ],
  },
  {
    places: { '2607-094': 'basic/authorization/client-registration#authorization-server-binding' },
    level: 'SHOULD',
    of: 'client',
    says: 'Credentials given for another authorization server are an error, not tried.',
    proof: [
      'packages/sdk/test/client-auth/login.test.ts > that was registered by hand stays with its issuer',
      'packages/sdk/test/client-auth/machine.test.ts > stay with their issuer',
    ],
  },
])
