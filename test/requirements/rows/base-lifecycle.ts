import type { Requirement } from '../requirement.ts'

export const baseLifecycle: readonly Requirement[] = [
  {
    places: {
      '2411-005': 'basic/lifecycle#initialization',
      '2503-047': 'basic/lifecycle#initialization',
      '2506-067': 'basic/lifecycle#initialization',
      '2511-115': 'basic/lifecycle#initialization',
    },
    level: 'MUST',
    of: 'both',
    says: 'A session begins with initialize and nothing else.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends initialize first, with its newest revision, who it is and what it can answer',
      'packages/sdk/test/serve/duplex.test.ts > serves nothing but ping before initialize',
    ],
    runs: {
      everywhere: [
        'a session begins with initialize, its answer and word that the client is ready, and nothing before',
        'nothing is served before initialize, but for a ping',
      ],
    },
  },
  {
    places: {
      '2411-006': 'basic/lifecycle#initialization',
      '2503-048': 'basic/lifecycle#initialization',
      '2506-068': 'basic/lifecycle#initialization',
      '2511-116': 'basic/lifecycle#initialization',
    },
    level: 'MUST',
    of: 'client',
    says: 'initialize carries version, capabilities and who the client is.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends initialize first, with its newest revision, who it is and what it can answer',
    ],
    runs: {
      everywhere: [
        'a session begins with initialize, its answer and word that the client is ready, and nothing before',
      ],
    },
  },
  {
    places: {
      '2411-007': 'basic/lifecycle#initialization',
      '2503-050': 'basic/lifecycle#initialization',
      '2506-069': 'basic/lifecycle#initialization',
      '2511-117': 'basic/lifecycle#initialization',
    },
    level: 'MUST',
    of: 'server',
    says: 'The server answers with its own capabilities and who it is.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > agrees on %s',
      'packages/sdk/test/conversation/conversation.test.ts > declares every capability that is used',
    ],
    runs: {
      everywhere: ['initialize is answered with the revision it offers, and with what the server is and has'],
    },
  },
  {
    places: {
      '2411-008': 'basic/lifecycle#initialization',
      '2503-051': 'basic/lifecycle#initialization',
      '2506-070': 'basic/lifecycle#initialization',
      '2511-118': 'basic/lifecycle#initialization',
    },
    level: 'MUST',
    of: 'client',
    says: 'The client then says that it is ready.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends nothing more before the answer, then notifications/initialized, then requests',
    ],
    runs: {
      everywhere: [
        'a session begins with initialize, its answer and word that the client is ready, and nothing before',
      ],
    },
  },
  {
    places: {
      '2411-009': 'basic/lifecycle#initialization',
      '2503-052': 'basic/lifecycle#initialization',
      '2506-071': 'basic/lifecycle#initialization',
      '2511-119': 'basic/lifecycle#initialization',
    },
    level: 'SHOULD NOT',
    of: 'client',
    says: 'Before the answer to initialize a client sends nothing else.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends nothing more before the answer, then notifications/initialized, then requests',
    ],
    runs: {
      everywhere: [
        'a session begins with initialize, its answer and word that the client is ready, and nothing before',
      ],
    },
  },
  {
    places: {
      '2411-010': 'basic/lifecycle#initialization',
      '2503-053': 'basic/lifecycle#initialization',
      '2506-072': 'basic/lifecycle#initialization',
      '2511-120': 'basic/lifecycle#initialization',
    },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'Before the client is ready a server asks nothing.',
    otherwise:
      'A question belongs to a call the client made; one that calls before it said it is ready is answered all the same. Notices do wait.',
  },
  {
    places: {
      '2411-011': 'basic/lifecycle#version-negotiation',
      '2503-054': 'basic/lifecycle#version-negotiation',
      '2506-073': 'basic/lifecycle#version-negotiation',
      '2511-121': 'basic/lifecycle#version-negotiation',
    },
    level: 'MUST',
    of: 'client',
    says: 'initialize offers a version the client speaks, its newest.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends initialize first, with its newest revision, who it is and what it can answer',
      'packages/sdk/test/client/hello.test.ts > that wants another version in initialize is offered that one',
    ],
    runs: { everywhere: ['initialize offers the newest revision that the client speaks'] },
  },
  {
    places: {
      '2411-012': 'basic/lifecycle#version-negotiation',
      '2503-055': 'basic/lifecycle#version-negotiation',
      '2506-074': 'basic/lifecycle#version-negotiation',
      '2511-122': 'basic/lifecycle#version-negotiation',
    },
    level: 'MUST',
    of: 'server',
    says: 'The server agrees to a version it speaks, and offers its newest otherwise.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > agrees on %s',
      'packages/sdk/test/serve/duplex.test.ts > offers its newest session revision for',
    ],
    runs: {
      everywhere: [
        'initialize is answered with the revision it offers, and with what the server is and has',
        'a revision the server does not speak is answered with its newest',
      ],
    },
  },
  {
    places: {
      '2411-013': 'basic/lifecycle#version-negotiation',
      '2503-056': 'basic/lifecycle#version-negotiation',
      '2506-075': 'basic/lifecycle#version-negotiation',
      '2511-123': 'basic/lifecycle#version-negotiation',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client that does not speak what the server answered disconnects.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > disconnects from a server that answers with a revision it does not speak',
      'packages/sdk/test/client/lifecycle.test.ts > does not survive a server process that speaks no revision of this client',
    ],
    runs: { everywhere: ['a client leaves a server that answers with a revision it does not speak'] },
  },
  {
    places: {
      '2411-014': 'basic/lifecycle#operation',
      '2503-057': 'basic/lifecycle#operation',
      '2506-077': 'basic/lifecycle#operation',
      '2511-125': 'basic/lifecycle#operation',
    },
    level: 'MUST',
    of: 'both',
    says: 'Both keep to the version and the capabilities they agreed on.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
      'packages/sdk/test/client/lifecycle.test.ts > uses no capability that the server did not declare',
      'packages/sdk/test/serve/envelope.test.ts > is asked nothing it did not say it can answer',
      'packages/sdk/test/serve/duplex.test.ts > does not offer what the server has no capability for',
    ],
    runs: {
      everywhere: [
        'no result before 2026-07-28 says a type or how long it stays fresh',
        'what a server does not declare is not found there',
        'a client asks for nothing that its server did not declare',
        'a client is asked nothing that it did not declare',
      ],
    },
  },
  {
    places: {
      '2411-015': 'basic/lifecycle#stdio',
      '2503-058': 'basic/lifecycle#stdio',
      '2506-078': 'basic/lifecycle#stdio',
      '2511-126': 'basic/lifecycle#stdio',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A server process is ended by closing its input, then SIGTERM, then SIGKILL.',
    proof: [
      'packages/sdk/test/links/stdio.test.ts > is quick for a server that ends with its input',
      'packages/sdk/test/links/stdio.test.ts > ends the whole tree, also a grandchild that ignores SIGTERM',
    ],
    runs: { only: 'stdio' },
  },
  {
    places: {
      '2411-016': 'basic/lifecycle#error-handling',
      '2503-062': 'basic/lifecycle#error-handling',
      '2506-082': 'basic/lifecycle#error-handling',
      '2511-130': 'basic/lifecycle#error-handling',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Mismatched versions, missing capabilities and silence are errors of their own.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > that answers initialize with a revision nobody offered is refused',
      'packages/sdk/test/client/hello.test.ts > that never answers anything is given up in time',
      'packages/sdk/test/client/lifecycle.test.ts > uses no capability that the server did not declare',
      'packages/sdk/test/client/client.test.ts > waits as long as there is progress, but not for ever',
    ],
    runs: {
      everywhere: [
        'a client leaves a server that answers with a revision it does not speak',
        'a client asks for nothing that its server did not declare',
        'a request has a clock of its own, and is cancelled when it runs out',
      ],
    },
  },
  {
    places: {
      '2411-017': 'basic/lifecycle#error-handling',
      '2503-059': 'basic/lifecycle#timeouts',
      '2506-079': 'basic/lifecycle#timeouts',
      '2511-127': 'basic/lifecycle#timeouts',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Requests have a clock, and are cancelled when it runs out.',
    proof: [
      'packages/sdk/test/client/client.test.ts > tells the server when a call is given up, by its caller or by its clock',
      'packages/sdk/test/links/stdio.test.ts > are cancelled by a notice, and a late answer is ignored',
      'packages/sdk/test/client/lifecycle.test.ts > has a ping with a clock of its own',
    ],
    runs: { everywhere: ['a request has a clock of its own, and is cancelled when it runs out'] },
  },
  {
    places: {
      '2503-060': 'basic/lifecycle#timeouts',
      '2506-080': 'basic/lifecycle#timeouts',
      '2511-128': 'basic/lifecycle#timeouts',
      '2607-178': 'basic/patterns/cancellation#timeouts',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'The clock can be set for each request.',
    proof: [
      'packages/sdk/test/client/client.test.ts > tells the server when a call is given up, by its caller or by its clock',
      'packages/sdk/test/client/client.test.ts > waits as long as there is progress, but not for ever',
    ],
    runs: { everywhere: ['a request has a clock of its own, and is cancelled when it runs out'] },
  },
  {
    places: {
      '2503-061': 'basic/lifecycle#timeouts',
      '2506-081': 'basic/lifecycle#timeouts',
      '2511-129': 'basic/lifecycle#timeouts',
      '2607-179': 'basic/patterns/cancellation#timeouts',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'However much progress there is, a request ends in time.',
    proof: ['packages/sdk/test/client/client.test.ts > waits as long as there is progress, but not for ever'],
    runs: { everywhere: ['progress keeps a request alive, but not for ever'] },
  },
  {
    places: { '2503-049': 'basic/lifecycle#initialization' },
    level: 'MUST NOT',
    of: 'client',
    says: 'initialize is not part of a batch.',
    proof: [
      'packages/sdk/test/serve/duplex-faults.test.ts > are refused before initialize, empty, too long, and with what may not be in them',
      'packages/sdk/test/serve/http-legacy-limits.test.ts > cannot begin a session',
    ],
    runs: { everywhere: ['initialize is no part of a batch, on either side'] },
  },
  {
    places: {
      '2506-076': 'basic/lifecycle#version-negotiation',
      '2511-124': 'basic/lifecycle#version-negotiation',
    },
    level: 'MUST',
    of: 'client',
    says: 'Over HTTP every later request names the agreed version in its header.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > names the agreed revision in the header of every later request',
      'packages/sdk/test/links/http-sessions.test.ts > has its id and revision on every later request',
    ],
    runs: { only: 'http' },
  },
]
