import type { Requirement } from '../requirement.ts'

export const baseStateless: readonly Requirement[] = [
  {
    places: { '2607-025': 'basic/index#statelessness' },
    level: 'MUST NOT',
    of: 'server',
    says: 'What an earlier request on the connection said counts for nothing in the next.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > are served with nothing but their own _meta, beside a session',
      'packages/sdk/test/serve/http-modern.test.ts > are kept apart from sessions on the same endpoint',
    ],
    runs: { everywhere: ['nothing that an earlier request said counts for the next, nor for one beside it'] },
  },
  {
    places: { '2607-026': 'basic/index#statelessness' },
    level: 'SHOULD',
    of: 'server',
    says: 'Requests of many conversations may come at the same time.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > at once are each answered with their own result',
      'packages/host/test/connections/stateless-child.test.ts > serves every conversation from one process',
    ],
    runs: { everywhere: ['nothing that an earlier request said counts for the next, nor for one beside it'] },
  },
  {
    places: { '2607-027': 'basic/index#statelessness' },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'Related requests may come over different connections.',
    proof: [
      'packages/sdk/test/core/asking.test.ts > runs again from the top with the answers so far, on any node that shares the keys and the backplane',
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
    ],
    runs: { everywhere: ['a cursor stays good, on another connection too, and one that is none is refused'] },
  },
  {
    places: { '2607-028': 'basic/index#statelessness' },
    level: 'SHOULD NOT',
    of: 'client',
    says: 'A server process lives longer than one conversation.',
    proof: [
      'packages/host/test/connections/stateless-child.test.ts > serves every conversation from one process',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2607-029': 'basic/index#statelessness' },
    level: 'MUST',
    of: 'server',
    says: 'What spans requests is found by something the client sends along.',
    proof: [
      'packages/sdk/test/core/answers.test.ts > carries state and answers over the rounds',
      'packages/sdk/test/core/answers.test.ts > that are missing are asked for again',
      'packages/sdk/test/conversation/conversation.test.ts > names its subscription in every notice of one',
    ],
    runs: {
      everywhere: [
        'answers that are missing are asked for again, and what nobody asked for is ignored',
        'a subscription first says what it will tell, then that and nothing else, each under its id',
      ],
    },
  },
  {
    places: { '2607-188': 'basic/patterns/index' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A server of 2026-07-28 sends no requests, and nobody answers one.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
      'packages/sdk/test/client/results.test.ts > gets no answer to a request of its own',
      'packages/sdk/test/conversation/conversation.test.ts > has a string or an integer as the id of a request',
    ],
    runs: {
      everywhere: [
        'nothing but requests and notices goes to a server without sessions, and no request comes from it',
        'a request of a server without sessions is answered by nobody',
      ],
    },
  },
  {
    places: { '2607-045': 'basic/index#_meta', '2607-466': 'server/utilities/pagination' },
    level: 'MUST',
    of: 'client',
    says: 'Every request of 2026-07-28 says version and capabilities in its _meta.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says in every request which version, client and capabilities it comes with',
      'packages/sdk/test/client/hello.test.ts > hears who this client is and what it can answer, and nothing it cannot',
    ],
    runs: { everywhere: ['every request says which version, client and capabilities it comes with'] },
  },
  {
    places: { '2607-046': 'basic/index#_meta' },
    level: 'MUST',
    of: 'server',
    says: 'A request that lacks one of them is refused with -32602, over HTTP with 400.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > no version in _meta',
      'packages/sdk/test/serve/http-modern.test.ts > no capabilities in _meta',
      'packages/sdk/test/serve/http-modern.test.ts > _meta missing',
      'packages/sdk/test/serve/duplex-changes.test.ts > capabilities missing',
    ],
    runs: { everywhere: ['a request that does not say its version or capabilities as it must is refused'] },
  },
  {
    places: { '2607-047': 'basic/index#_meta' },
    level: 'SHOULD',
    of: 'client',
    says: 'Every request says which client it comes from.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says in every request which version, client and capabilities it comes with',
    ],
    runs: { everywhere: ['every request says which version, client and capabilities it comes with'] },
  },
  {
    places: { '2607-048': 'basic/index#_meta' },
    level: 'MUST NOT',
    of: 'server',
    says: 'What the client did not declare is not relied on: -32021 names it, over HTTP with 400.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > names what is missing',
      'packages/sdk/test/core/asking.test.ts > ends the request with -32021 when the client cannot be asked',
      'packages/sdk/test/serve/http-modern.test.ts > a capability the client lacks',
    ],
    runs: { everywhere: ['a client is asked nothing that it did not declare'] },
  },
  {
    places: { '2607-049': 'basic/index#_meta', '2607-374': 'server/discover#discoverresult' },
    level: 'SHOULD',
    of: 'server',
    says: 'Every result says which server it comes from.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says in every result its type and which server it comes from',
    ],
    runs: { everywhere: ['every result says its type and which server it comes from'] },
  },
  {
    places: { '2607-050': 'basic/index#_meta', '2607-375': 'server/discover#discoverresult' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'What the other side calls itself changes nothing about what is done, and is no ground for trust.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > is served alike, whoever its client says it is',
      'packages/sdk/test/client/apart.test.ts > by name or in keys reserved for the protocol changes nothing about what it does',
    ],
    runs: { everywhere: ['who somebody says they are changes nothing, on either side'] },
  },
  {
    places: { '2607-051': 'basic/index#_meta' },
    level: 'MUST',
    of: 'server',
    says: 'Every notice of a subscription names it.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > names its subscription in every notice of one',
      'packages/sdk/test/server/listen.test.ts > tells what was asked for, each notice with its subscription',
    ],
    runs: {
      everywhere: [
        'a subscription first says what it will tell, then that and nothing else, each under its id',
      ],
    },
  },
  {
    places: { '2607-052': 'basic/index#_meta' },
    level: 'MUST',
    of: 'author',
    says: 'Trace context has the formats the W3C gave it.',
    none: 'The values come from whoever traces; they travel untouched.',
  },
  {
    places: {
      '2506-063': 'basic/index#_meta',
      '2511-106': 'basic/index#_meta',
      '2607-040': 'basic/index#_meta',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'Keys reserved for the protocol may hold anything.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > may carry reserved keys that nobody knows yet, with any value',
      'packages/sdk/test/client/apart.test.ts > by name or in keys reserved for the protocol changes nothing about what it does',
    ],
    runs: { everywhere: ['metadata nobody knows changes nothing and reaches who it is for'] },
  },
  {
    places: {
      '2506-064': 'basic/index#_meta',
      '2511-107': 'basic/index#_meta',
      '2607-041': 'basic/index#_meta',
    },
    level: 'MUST',
    of: 'both',
    says: 'A prefix of a _meta key is labels between dots, with a slash at its end.',
    proof: ['packages/sdk/test/conversation/conversation.test.ts > has well-formed keys in every _meta'],
    runs: { everywhere: ['every key of a _meta is well-formed'] },
  },
  {
    places: {
      '2506-065': 'basic/index#_meta',
      '2511-108': 'basic/index#_meta',
      '2607-042': 'basic/index#_meta',
    },
    level: 'MUST',
    of: 'both',
    says: 'A label begins with a letter and ends with a letter or digit.',
    proof: ['packages/sdk/test/conversation/conversation.test.ts > has well-formed keys in every _meta'],
    runs: { everywhere: ['every key of a _meta is well-formed'] },
  },
  {
    places: {
      '2506-066': 'basic/index#_meta',
      '2511-110': 'basic/index#_meta',
      '2607-044': 'basic/index#_meta',
    },
    level: 'MUST',
    of: 'both',
    says: 'A name begins and ends with a letter or digit.',
    proof: ['packages/sdk/test/conversation/conversation.test.ts > has well-formed keys in every _meta'],
    runs: { everywhere: ['every key of a _meta is well-formed'] },
  },
  {
    places: { '2511-109': 'basic/index#_meta', '2607-043': 'basic/index#_meta' },
    level: 'SHOULD',
    of: 'author',
    says: 'Prefixes are domain names written backwards.',
    none: 'Whoever makes a key names it; this package makes none of its own.',
  },
]
