import type { Requirement } from '../requirement.ts'

export const serverCompletion: readonly Requirement[] = [
  {
    places: {
      '2503-167': 'server/utilities/completion#capabilities',
      '2506-206': 'server/utilities/completion#capabilities',
      '2511-384': 'server/utilities/completion#capabilities',
      '2607-453': 'server/utilities/completion#capabilities',
    },
    level: 'MUST',
    of: 'server',
    says: 'A server that completes arguments says so.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > declares every capability that is used',
      'packages/sdk/test/server/definitions.test.ts > completers, and what is experimental',
    ],
    runs: { everywhere: ['a server declares what it has, and nothing else'] },
  },
  {
    places: {
      '2503-168': 'server/utilities/completion#error-handling',
      '2506-207': 'server/utilities/completion#error-handling',
      '2511-385': 'server/utilities/completion#error-handling',
      '2607-454': 'server/utilities/completion#error-handling',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'What cannot be completed is answered with the codes of JSON-RPC.',
    proof: [
      'packages/sdk/test/server/lists.test.ts > %s is not found on a server that does not offer it',
      'packages/sdk/test/server/prompts.test.ts > an unknown template',
      'packages/sdk/test/server/prompts.test.ts > an argument there is not',
      'packages/sdk/test/server/prompts.test.ts > malformed params are refused',
    ],
    runs: {
      everywhere: [
        'completions are at most a hundred, and what cannot be completed is an error',
        'what a server does not declare is not found there',
      ],
    },
  },
  {
    places: {
      '2411-099': 'server/utilities/completion#implementation-considerations',
      '2503-169': 'server/utilities/completion#implementation-considerations',
      '2506-208': 'server/utilities/completion#implementation-considerations',
      '2511-386': 'server/utilities/completion#implementation-considerations',
      '2607-455': 'server/utilities/completion#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Suggestions come best first, forgive a slip, and are limited in number.',
    proof: [
      'packages/sdk/test/server/prompts.test.ts > suggests values, knowing what was already chosen',
      'packages/sdk/test/server/prompts.test.ts > sends a hundred and counts the rest',
      'packages/sdk/test/server/rate-limit.test.ts > counts completions with calls, and nothing that only lists',
      'servers/travel/test/domain/places.test.ts > count edits as people make them',
    ],
    runs: { everywhere: ['completions are at most a hundred, and what cannot be completed is an error'] },
  },
  {
    places: {
      '2411-100': 'server/utilities/completion#implementation-considerations',
      '2503-170': 'server/utilities/completion#implementation-considerations',
      '2506-209': 'server/utilities/completion#implementation-considerations',
      '2511-387': 'server/utilities/completion#implementation-considerations',
      '2607-456': 'server/utilities/completion#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client does not ask at every key, and keeps what it was told.',
    otherwise:
      'Nothing of ours completes while a person types: the command asks once, so there is nothing to slow down or keep.',
  },
  {
    places: {
      '2411-101': 'server/utilities/completion#security',
      '2503-171': 'server/utilities/completion#security',
      '2506-210': 'server/utilities/completion#security',
      '2511-388': 'server/utilities/completion#security',
      '2607-457': 'server/utilities/completion#security',
    },
    level: 'MUST',
    of: 'server',
    says: 'What is to be completed is checked, asked in measure, and gives nothing away.',
    proof: [
      'packages/sdk/test/server/prompts.test.ts > malformed params are refused',
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/server/rate-limit.test.ts > counts completions with calls, and nothing that only lists',
      'packages/sdk/test/server/prompts.test.ts > a completer that fails suggests nothing, and is reported',
    ],
    runs: { everywhere: ['completions are at most a hundred, and what cannot be completed is an error'] },
  },
]
