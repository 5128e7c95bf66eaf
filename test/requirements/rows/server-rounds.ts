import type { Requirement } from '../requirement.ts'

export const serverRounds: readonly Requirement[] = [
  {
    places: { '2607-189': 'basic/patterns/mrtr' },
    level: 'MUST',
    of: 'server',
    says: 'On 2026-07-28 a server asks by its results.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > ask by results and never by requests',
      'packages/sdk/test/serve/http-modern.test.ts > ask by results, and the retry carries the answer',
    ],
    runs: {
      everywhere: [
        'nothing but requests and notices goes to a server without sessions, and no request comes from it',
        'only calls, reads and prompts are answered with questions, which are forms, visits, messages or roots',
      ],
    },
  },
  {
    places: {
      '2607-190': 'basic/patterns/mrtr',
      '2607-376': 'server/prompts',
      '2607-388': 'server/resources',
      '2607-403': 'server/tools',
      '2607-452': 'server/utilities/completion',
    },
    level: 'MUST',
    of: 'client',
    says: 'Every request says version and capabilities in its _meta.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says in every request which version, client and capabilities it comes with',
    ],
    runs: { everywhere: ['every request says which version, client and capabilities it comes with'] },
  },
  {
    places: { '2607-191': 'basic/patterns/mrtr#inputrequiredresult' },
    level: 'MUST NOT',
    of: 'client',
    says: 'A client does not look into the state.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > is retried under a new id, with the state byte for byte',
    ],
    runs: {
      everywhere: [
        'a client answers every question and then tries again under a new id, with the state as it came',
      ],
    },
  },
  {
    places: { '2607-192': 'basic/patterns/mrtr#supported-requests' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Only calls, reads and prompts are answered with questions.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > for a list is never answered with a question',
      'packages/sdk/test/server/lists.test.ts > cannot ask on the way',
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
    ],
    runs: {
      everywhere: [
        'only calls, reads and prompts are answered with questions, which are forms, visits, messages or roots',
      ],
    },
  },
  {
    places: { '2607-193': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST',
    of: 'server',
    says: 'Each question of a round has a key of its own.',
    proof: [
      'packages/sdk/test/core/asking.test.ts > asks the same question twice as two questions',
      'packages/sdk/test/core/asking.test.ts > sends everything asked in one turn in one round',
    ],
    runs: {
      everywhere: ['a round asks or carries something, and each of its questions has a key of its own'],
    },
  },
  {
    places: { '2607-194': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST',
    of: 'server',
    says: 'Questions are for a form or a visit, a message of a model, or the roots.',
    proof: [
      'packages/sdk/test/core/asking.test.ts > sends everything asked in one turn in one round',
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
    ],
    runs: {
      everywhere: [
        'only calls, reads and prompts are answered with questions, which are forms, visits, messages or roots',
      ],
    },
  },
  {
    places: {
      '2607-195': 'basic/patterns/mrtr#server-requirements-basic-workflow',
      '2607-208': 'basic/patterns/mrtr#security-considerations',
    },
    level: 'MUST',
    of: 'server',
    says: 'The state is taken for what an attacker may have made: it is sealed, and refused when it was changed.',
    proof: [
      'packages/sdk/test/core/sealed-state.test.ts > does not survive a change of any single character',
      'packages/sdk/test/core/sealed-state.test.ts > is refused with one and the same message whatever was changed',
    ],
    runs: {
      everywhere: ['state that was changed, or belongs to another request, is refused, and tells nothing'],
    },
  },
  {
    places: { '2607-196': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'SHOULD',
    of: 'server',
    says: 'The state is bound to who asked, to the request and to a time.',
    proof: [
      'packages/sdk/test/core/sealed-state.test.ts > is refused with one and the same message whatever was changed, and the reason stays in the log',
      'packages/sdk/test/core/sealed-state.test.ts > expires',
    ],
    runs: {
      everywhere: ['state that was changed, or belongs to another request, is refused, and tells nothing'],
    },
  },
  {
    places: { '2607-197': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST',
    of: 'server',
    says: 'What may happen once is held to that by the server.',
    proof: [
      'packages/sdk/test/core/sealed-state.test.ts > is good once: the same retry sent twice runs once',
      'packages/sdk/test/core/asking.test.ts > runs a step once in the life of a request',
    ],
    runs: {
      everywhere: ['state is good once', 'several questions in one call, with effects that happen once'],
    },
  },
  {
    places: { '2607-198': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST',
    of: 'server',
    says: 'A round asks or carries something.',
    proof: [
      'packages/sdk/test/core/answers.test.ts > must ask or carry something',
      'packages/sdk/test/core/answers.test.ts > may carry state alone',
      'packages/sdk/test/conversation/conversation.test.ts > keeps to the official schema, whoever says it',
    ],
    runs: {
      everywhere: ['a round asks or carries something, and each of its questions has a key of its own'],
    },
  },
  {
    places: { '2607-199': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A client is not asked what it did not say it can answer.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > names what is missing',
      'packages/sdk/test/core/asking.test.ts > ends the request with -32021 when the client cannot be asked',
      'packages/sdk/test/asking/both-eras.test.ts > is left behind, and its catch too, when the client cannot be asked',
    ],
    runs: { everywhere: ['a client is asked nothing that it did not declare'] },
  },
  {
    places: { '2607-200': 'basic/patterns/mrtr#server-requirements-basic-workflow' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Nobody counts on an answer or a retry.',
    proof: [
      'packages/sdk/test/core/answers.test.ts > that are missing are asked for again',
      'packages/sdk/test/core/asking.test.ts > parks an unanswered question instead of throwing, so that no catch falls through',
      'packages/sdk/test/core/sealed-state.test.ts > expires',
    ],
    runs: {
      everywhere: ['answers that are missing are asked for again, and what nobody asked for is ignored'],
    },
  },
  {
    places: { '2607-201': 'basic/patterns/mrtr#client-requirements-basic-workflow' },
    level: 'MUST',
    of: 'client',
    says: 'A client answers the questions before it retries.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > is retried under a new id, with the state byte for byte',
      'packages/sdk/test/client/rounds.test.ts > carries no state when the server sent none, and forgets the last round',
    ],
    runs: {
      everywhere: [
        'a client answers every question and then tries again under a new id, with the state as it came',
      ],
    },
  },
  {
    places: { '2607-202': 'basic/patterns/mrtr#client-requirements-basic-workflow' },
    level: 'MUST',
    of: 'client',
    says: 'The state goes back exactly as it came, and only where one came.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > is retried under a new id, with the state byte for byte',
      'packages/sdk/test/client/rounds.test.ts > carries no state when the server sent none, and forgets the last round',
    ],
    runs: {
      everywhere: [
        'a client answers every question and then tries again under a new id, with the state as it came',
      ],
    },
  },
  {
    places: {
      '2607-203': 'basic/patterns/mrtr#client-requirements-basic-workflow',
      '2607-409': 'server/tools#input-required-tool-results',
    },
    level: 'MUST',
    of: 'client',
    says: 'A retry has an id of its own.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > is retried under a new id, with the state byte for byte',
      'packages/sdk/test/client/eras.test.ts > a retry has a new id, the state as it came, and answers on that retry alone',
    ],
    runs: {
      everywhere: [
        'a client answers every question and then tries again under a new id, with the state as it came',
      ],
    },
  },
  {
    places: { '2607-204': 'basic/patterns/mrtr#client-requirements-basic-workflow' },
    level: 'MUST NOT',
    of: 'client',
    says: 'Questions and state belong to one request and no other.',
    proof: [
      'packages/sdk/test/client/rounds.test.ts > does not lend its state to a request beside it',
      'packages/sdk/test/client/eras.test.ts > a retry has a new id, the state as it came, and answers on that retry alone',
    ],
    runs: {
      everywhere: [
        'a client answers every question and then tries again under a new id, with the state as it came',
      ],
    },
  },
  {
    places: { '2607-205': 'basic/patterns/mrtr#error-handling' },
    level: 'SHOULD',
    of: 'server',
    says: 'Answers are checked, and bad ones are errors.',
    proof: ['packages/sdk/test/core/answers.test.ts > that are %s are refused with the reason'],
    runs: { everywhere: ['a server takes no answer that does not fit its question'] },
  },
  {
    places: { '2607-206': 'basic/patterns/mrtr#error-handling' },
    level: 'SHOULD',
    of: 'server',
    says: 'What nobody asked for is ignored.',
    proof: [
      'packages/sdk/test/core/answers.test.ts > lose the values nobody asked for',
      'packages/sdk/test/core/answers.test.ts > to questions that were never put are not used',
    ],
    runs: {
      everywhere: ['answers that are missing are asked for again, and what nobody asked for is ignored'],
    },
  },
  {
    places: { '2607-207': 'basic/patterns/mrtr#error-handling' },
    level: 'SHOULD',
    of: 'server',
    says: 'What is missing is asked for again.',
    proof: ['packages/sdk/test/core/answers.test.ts > that are missing are asked for again'],
    runs: {
      everywhere: ['answers that are missing are asked for again, and what nobody asked for is ignored'],
    },
  },
]
