import type { Requirement } from '../requirement.ts'

export const baseProgress: readonly Requirement[] = [
  {
    places: {
      '2411-051': 'basic/utilities/progress#progress-flow',
      '2503-116': 'basic/utilities/progress#progress-flow',
      '2506-140': 'basic/utilities/progress#progress-flow',
      '2511-196': 'basic/utilities/progress#progress-flow',
      '2607-209': 'basic/patterns/progress#progress-flow',
    },
    level: 'MUST',
    of: 'both',
    says: 'A progress token is a text or a whole number.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has progress tokens that no two requests in flight share',
      'packages/sdk/test/server/notices.test.ts > without a token (%s) nothing is sent',
    ],
    runs: {
      everywhere: [
        'progress goes under the token of its request, a text or a whole number, only up, and ends with the answer',
        'no two requests of a client have one progress token',
      ],
    },
  },
  {
    places: {
      '2411-052': 'basic/utilities/progress#progress-flow',
      '2503-117': 'basic/utilities/progress#progress-flow',
      '2506-141': 'basic/utilities/progress#progress-flow',
      '2511-197': 'basic/utilities/progress#progress-flow',
      '2607-210': 'basic/patterns/progress#progress-flow',
    },
    level: 'MUST',
    of: 'client',
    says: 'No two requests in flight share a progress token.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > has progress tokens that no two requests in flight share',
    ],
    runs: { everywhere: ['no two requests of a client have one progress token'] },
  },
  {
    places: {
      '2411-053': 'basic/utilities/progress#progress-flow',
      '2503-118': 'basic/utilities/progress#progress-flow',
      '2506-142': 'basic/utilities/progress#progress-flow',
      '2511-198': 'basic/utilities/progress#progress-flow',
      '2607-211': 'basic/patterns/progress#progress-flow',
    },
    level: 'MUST',
    of: 'server',
    says: 'Progress only goes up.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > and progress that only increases',
      'packages/sdk/test/server/notices.test.ts > only ever increases',
    ],
    runs: {
      everywhere: [
        'progress goes under the token of its request, a text or a whole number, only up, and ends with the answer',
      ],
    },
  },
  {
    places: {
      '2411-054': 'basic/utilities/progress#behavior-requirements',
      '2503-120': 'basic/utilities/progress#behavior-requirements',
      '2506-144': 'basic/utilities/progress#behavior-requirements',
      '2511-200': 'basic/utilities/progress#behavior-requirements',
      '2607-213': 'basic/patterns/progress#behavior-requirements',
    },
    level: 'MUST',
    of: 'server',
    says: 'Progress is told only of requests in flight, by the token they came with.',
    proof: [
      'packages/sdk/test/server/notices.test.ts > carries the token the caller gave, and what is known',
      'packages/sdk/test/server/notices.test.ts > without a token (%s) nothing is sent',
      'packages/sdk/test/server/notices.test.ts > stops with the answer',
      'packages/sdk/test/conversation/conversation.test.ts > and progress that only increases',
    ],
    runs: {
      everywhere: [
        'progress goes under the token of its request, a text or a whole number, only up, and ends with the answer',
        'without a token there is no progress',
      ],
    },
  },
  {
    places: {
      '2411-055': 'basic/utilities/progress#implementation-notes',
      '2503-121': 'basic/utilities/progress#implementation-notes',
      '2506-145': 'basic/utilities/progress#implementation-notes',
      '2511-204': 'basic/utilities/progress#implementation-notes',
      '2607-214': 'basic/patterns/progress#implementation-notes',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Both know which tokens are in use.',
    proof: [
      'packages/sdk/test/client/results.test.ts > that does not increase, or belongs to nobody, is ignored and buys no time',
      'packages/sdk/test/server/notices.test.ts > stops with the answer',
    ],
    runs: { everywhere: ['progress that belongs to nobody, does not increase or comes too late is ignored'] },
  },
  {
    places: {
      '2411-056': 'basic/utilities/progress#implementation-notes',
      '2503-122': 'basic/utilities/progress#implementation-notes',
      '2506-146': 'basic/utilities/progress#implementation-notes',
      '2511-205': 'basic/utilities/progress#implementation-notes',
      '2607-215': 'basic/patterns/progress#implementation-notes',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Progress does not become a flood.',
    proof: [
      'packages/sdk/test/server/notices.test.ts > a flood is thinned out, and its last value is sent before the answer',
      'packages/sdk/test/serve/stdio.test.ts > is not sent progress it cannot keep up with',
    ],
    runs: { everywhere: ['a flood of progress is thinned out, and its last value is told'] },
  },
  {
    places: {
      '2411-057': 'basic/utilities/progress#implementation-notes',
      '2503-123': 'basic/utilities/progress#implementation-notes',
      '2506-147': 'basic/utilities/progress#implementation-notes',
      '2511-206': 'basic/utilities/progress#implementation-notes',
      '2607-216': 'basic/patterns/progress#implementation-notes',
    },
    level: 'MUST',
    of: 'server',
    says: 'Nothing is told of a request that is over.',
    proof: [
      'packages/sdk/test/server/notices.test.ts > stops with the answer',
      'packages/sdk/test/serve/http-modern.test.ts > say nothing after the answer',
    ],
    runs: {
      everywhere: [
        'progress goes under the token of its request, a text or a whole number, only up, and ends with the answer',
      ],
    },
  },
  {
    places: {
      '2503-119': 'basic/utilities/progress#progress-flow',
      '2506-143': 'basic/utilities/progress#progress-flow',
      '2511-199': 'basic/utilities/progress#progress-flow',
      '2607-212': 'basic/patterns/progress#progress-flow',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'What a progress notice says is meant for people.',
    none: 'A handler says it; what it says travels as it is.',
  },
]
