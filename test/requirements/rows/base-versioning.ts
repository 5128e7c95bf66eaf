import type { Requirement } from '../requirement.ts'

export const baseVersioning: readonly Requirement[] = [
  {
    places: { '2607-057': 'basic/versioning#protocol-version-negotiation' },
    level: 'MUST',
    of: 'server',
    says: 'A version the server does not speak is answered with -32022 and those it does.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > that name an unknown version learn which are supported',
      'packages/sdk/test/serve/duplex-changes.test.ts > an unknown version',
    ],
    runs: { everywhere: ['a version that is not spoken is answered with those that are'] },
  },
  {
    places: { '2607-058': 'basic/versioning#protocol-version-negotiation' },
    level: 'SHOULD',
    of: 'client',
    says: 'The client then takes a version both speak, or says that there is none.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > that refuses the very revision it names as supported is asked again, once',
      'packages/sdk/test/client/hello.test.ts > that names an older revision as its newest is greeted with that one',
      'packages/sdk/test/client/hello.test.ts > that names only revisions this client does not allow is a mismatch that lists both',
    ],
    runs: {
      everywhere: [
        'a client that is told which versions are spoken takes one of them, or says that there is none',
      ],
    },
  },
  {
    places: { '2607-059': 'basic/versioning#protocol-version-negotiation', '2607-372': 'server/discover' },
    level: 'MUST',
    of: 'server',
    says: 'server/discover is there.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says how long what may be cached stays fresh',
      'packages/sdk/test/serve/http-modern.test.ts > serve %s',
      'packages/sdk/test/server/lists.test.ts > discovery tells revisions, capabilities, instructions and freshness',
    ],
    runs: { everywhere: ['server/discover tells revisions, capabilities and instructions'] },
  },
  {
    places: { '2607-060': 'basic/versioning#extension-negotiation' },
    level: 'MUST',
    of: 'both',
    says: 'Identifiers of extensions are keys with a prefix.',
    proof: ['packages/sdk/test/extensions/negotiation.test.ts > cannot be named %j on either side'],
    runs: { only: 'definition' },
  },
  {
    places: { '2607-061': 'basic/versioning#extension-negotiation' },
    level: 'MUST',
    of: 'both',
    says: 'What only one side speaks is left away, or refused with an error that says so.',
    proof: [
      'packages/sdk/test/extensions/negotiation.test.ts > leaves a client that does not declare it with the core protocol, and refuses its methods',
      'packages/sdk/test/extensions/negotiation.test.ts > that the server lacks leaves a client with the core protocol',
    ],
    runs: {
      everywhere: [
        'an extension that only one side declares is left away, or refused with an error that says so',
      ],
    },
  },
  {
    places: { '2607-062': 'basic/versioning#backward-compatibility-with-initialization-based-versions' },
    level: 'SHOULD',
    of: 'client',
    says: 'Which era a server is of is found out once.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > is known for one once: a session that ended is begun anew without asking for the era again',
      'packages/host/test/connections/stateless-child.test.ts > serves every conversation from one process',
    ],
    runs: {
      everywhere: [
        'a client of both eras asks server/discover first, and begins a session where that is unknown',
      ],
    },
  },
  {
    places: { '2607-063': 'basic/versioning#backward-compatibility-with-initialization-based-versions' },
    level: 'SHOULD',
    of: 'server',
    says: 'A server without sessions names the versions it speaks when it refuses initialize.',
    none: 'Our server speaks every revision, so it has nothing to refuse.',
  },
  {
    places: { '2607-064': 'basic/versioning#compatibility-matrix' },
    level: 'SHOULD',
    of: 'client',
    says: 'Over stdio a client without sessions asks server/discover first, and says what is wrong.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > of the older era is not greeted with initialize when only 2026-07-28 is allowed',
      'packages/sdk/test/client/hello.test.ts > of the stateless era is known by its answer to server/discover',
    ],
    runs: {
      everywhere: [
        'a client that is told which versions are spoken takes one of them, or says that there is none',
      ],
    },
  },
  {
    places: { '2607-373': 'server/discover#when-to-call' },
    level: 'SHOULD',
    of: 'client',
    says: 'Over stdio a client of both eras asks server/discover first.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > of the stateless era is known by its answer to server/discover',
      'packages/sdk/test/client/hello.test.ts > that answers server/discover with %s is legacy, in the same process',
    ],
    runs: {
      everywhere: [
        'a client of both eras asks server/discover first, and begins a session where that is unknown',
      ],
    },
  },
]
