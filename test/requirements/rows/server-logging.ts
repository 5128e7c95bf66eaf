import type { Requirement } from '../requirement.ts'

export const serverLogging: readonly Requirement[] = [
  {
    places: {
      '2411-102': 'server/utilities/logging#capabilities',
      '2503-172': 'server/utilities/logging#capabilities',
      '2506-211': 'server/utilities/logging#capabilities',
      '2511-389': 'server/utilities/logging#capabilities',
      '2607-459': 'server/utilities/logging#capabilities',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server that sends log messages says so.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > declares every capability that is used',
      'packages/sdk/test/server/definitions.test.ts > nothing',
    ],
    runs: { everywhere: ['a server declares what it has, and nothing else'] },
  },
  {
    places: {
      '2411-103': 'server/utilities/logging#error-handling',
      '2503-173': 'server/utilities/logging#error-handling',
      '2506-212': 'server/utilities/logging#error-handling',
      '2511-390': 'server/utilities/logging#error-handling',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A level that is none is answered with -32602.',
    proof: [
      'packages/sdk/test/serve/duplex.test.ts > answers ping and setLevel with nothing but {}',
      'packages/sdk/test/serve/envelope.test.ts > of %s answers ping and refuses log levels that are none',
    ],
    runs: {
      everywhere: [
        'a log level that is none is refused',
        'a session hears log messages at the level it set, and no others',
        'log messages at the level asked for',
      ],
    },
  },
  {
    places: {
      '2411-104': 'server/utilities/logging#implementation-considerations',
      '2503-174': 'server/utilities/logging#implementation-considerations',
      '2506-213': 'server/utilities/logging#implementation-considerations',
      '2511-391': 'server/utilities/logging#implementation-considerations',
      '2607-463': 'server/utilities/logging#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Log messages are limited in number and hold what helps.',
    proof: [
      'packages/sdk/test/server/notices.test.ts > a flood is cut, which is told at a level the caller wants',
    ],
    runs: {
      everywhere: ['a flood of log messages is cut, which is told, and what JSON cannot carry becomes text'],
    },
  },
  {
    places: {
      '2411-105': 'server/utilities/logging#security',
      '2503-175': 'server/utilities/logging#security',
      '2506-214': 'server/utilities/logging#security',
      '2511-392': 'server/utilities/logging#security',
      '2607-464': 'server/utilities/logging#security',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Log messages hold no secrets.',
    none: 'What a handler logs is its author’s; the library adds only how many messages it left out.',
  },
  {
    places: {
      '2411-106': 'server/utilities/logging#security',
      '2503-176': 'server/utilities/logging#security',
      '2506-215': 'server/utilities/logging#security',
      '2511-393': 'server/utilities/logging#security',
      '2607-465': 'server/utilities/logging#security',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Log messages are limited, can be read by who asked for them alone, and hold what JSON can carry.',
    proof: [
      'packages/sdk/test/server/notices.test.ts > a flood is cut, which is told at a level the caller wants',
      'packages/sdk/test/server/notices.test.ts > what JSON cannot carry becomes text',
      'packages/sdk/test/serve/envelope.test.ts > stay off every stream but their own request’s',
    ],
    runs: {
      everywhere: [
        'a flood of log messages is cut, which is told, and what JSON cannot carry becomes text',
        'log messages are for requests that name a level, and come on the stream of their own request',
      ],
    },
  },
  {
    places: { '2607-458': 'server/utilities/logging' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'Logging to the client is not taken up anew.',
    otherwise: 'It stays for servers and clients of earlier revisions, as long as the revision has it.',
  },
  {
    places: { '2607-460': 'server/utilities/logging#per-request-log-level' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Without a level in the request there are no log messages.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > hears log messages only where it names a level',
      'packages/sdk/test/server/notices.test.ts > none where the caller wants none',
    ],
    runs: {
      everywhere: [
        'log messages are for requests that name a level, and come on the stream of their own request',
      ],
    },
  },
  {
    places: { '2607-461': 'server/utilities/logging#per-request-log-level' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Log messages travel on the stream of their own request.',
    proof: ['packages/sdk/test/serve/envelope.test.ts > stay off every stream but their own request’s'],
    runs: {
      everywhere: [
        'log messages are for requests that name a level, and come on the stream of their own request',
      ],
    },
  },
  {
    places: { '2607-462': 'server/utilities/logging#error-handling' },
    level: 'SHOULD',
    of: 'server',
    says: 'A level that is none in a request is answered with -32602.',
    proof: ['packages/sdk/test/serve/envelope.test.ts > with a log level that is none is refused'],
    runs: { everywhere: ['a log level that is none is refused'] },
  },
]
