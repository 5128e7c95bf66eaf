import type { Requirement } from '../requirement.ts'

export const serverSubscriptions: readonly Requirement[] = [
  {
    places: { '2607-217': 'basic/patterns/subscriptions#opening-a-stream' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A subscription tells what was asked for and nothing else.',
    proof: [
      'packages/sdk/test/server/listen.test.ts > tells nothing that was not asked for',
      'packages/sdk/test/server/listen.test.ts > tells what was asked for, each notice with its subscription',
      'packages/sdk/test/serve/http-modern.test.ts > listen: acknowledged first, tell only what was wanted',
    ],
    runs: {
      everywhere: [
        'a subscription first says what it will tell, then that and nothing else, each under its id',
      ],
    },
  },
  {
    places: { '2607-218': 'basic/patterns/subscriptions#acknowledgment' },
    level: 'MUST',
    of: 'server',
    says: 'The first word of a subscription is what it will tell.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > names its subscription in every notice of one',
      'packages/sdk/test/serve/http-modern.test.ts > listen: acknowledged first, tell only what was wanted',
      'packages/sdk/test/server/listen.test.ts > loses no change that comes while it says so',
    ],
    runs: {
      everywhere: [
        'a subscription first says what it will tell, then that and nothing else, each under its id',
      ],
    },
  },
  {
    places: { '2607-219': 'basic/patterns/subscriptions#acknowledgment' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client looks at what will be told.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > say which of the wanted changes will not be told',
      'packages/sdk/test/client/client.test.ts > watches for changes, and its cache hears of them first',
    ],
    runs: { everywhere: ['a client looks at what it will be told'] },
  },
  {
    places: { '2607-220': 'basic/patterns/subscriptions#receiving-notifications' },
    level: 'MUST',
    of: 'client',
    says: 'On one channel subscriptions are told apart by their id.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > are told apart by their id, not by what they tell or when',
    ],
    runs: { everywhere: ['a client tells subscriptions apart by their id'] },
  },
  {
    places: {
      '2607-221': 'basic/patterns/subscriptions#cancellation',
      '2607-222': 'basic/patterns/subscriptions#graceful-closure',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A subscription the server ends has a result.',
    proof: [
      'packages/sdk/test/serve/duplex-changes.test.ts > are taken back and answered when the server shuts down',
      'packages/sdk/test/serve/http-modern.test.ts > listen: end with their result when the server closes',
      'packages/sdk/test/serve/stdio.test.ts > tells subscriptions that they are over when it closes',
    ],
    runs: {
      everywhere: [
        'a server without sessions cancels nothing but a subscription that it ends, and answers that',
      ],
    },
  },
  {
    places: { '2607-223': 'basic/patterns/subscriptions#graceful-closure' },
    level: 'MUST',
    of: 'client',
    says: 'A process that took the place of another is asked for changes again.',
    proof: [
      'packages/host/test/connections/stateless-child.test.ts > is asked for its changes again by every process that takes its place',
    ],
    runs: { only: 'application' },
  },
]
