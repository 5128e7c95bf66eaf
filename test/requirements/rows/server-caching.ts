import type { Requirement } from '../requirement.ts'

export const serverCaching: readonly Requirement[] = [
  {
    places: { '2607-435': 'server/utilities/caching#cacheable-results' },
    level: 'MUST',
    of: 'server',
    says: 'What may be cached says for how long and by whom.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says how long what may be cached stays fresh, and nowhere else',
      'packages/sdk/test/protocol/revisions.test.ts > carries result type, server and freshness from 2026-07-28 on',
    ],
    runs: { everywhere: ['what may be kept says for how long and by whom, and nothing else does'] },
  },
  {
    places: { '2607-436': 'server/utilities/caching#cache-key' },
    level: 'MUST NOT',
    of: 'client',
    says: 'A cached answer is for the same method and params.',
    proof: [
      'packages/sdk/test/client/results.test.ts > keeps by method and params, for as long as the server said',
    ],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-437': 'server/utilities/caching#cache-key' },
    level: 'MUST NOT',
    of: 'both',
    says: 'An answer that took a round of questions is not cached.',
    proof: [
      'packages/sdk/test/client/eras.test.ts > an answer that took a round of questions is not cached',
      'packages/sdk/test/server/resources.test.ts > an answer made with input of its own is not to be kept',
    ],
    runs: { everywhere: ['an answer that took a round of questions is kept by nobody'] },
  },
  {
    places: { '2607-438': 'server/utilities/caching#time-to-live-ttl-field' },
    level: 'SHOULD',
    of: 'client',
    says: 'With a time of 0 nothing is kept.',
    proof: ['packages/sdk/test/client/results.test.ts > keeps nothing with the time %s'],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-439': 'server/utilities/caching#time-to-live-ttl-field' },
    level: 'SHOULD',
    of: 'client',
    says: 'An answer is fresh as long as the server says.',
    proof: [
      'packages/sdk/test/client/results.test.ts > keeps by method and params, for as long as the server said',
      'packages/sdk/test/client/apart.test.ts > asks again when the time is over, at the next read and not before',
    ],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-440': 'server/utilities/caching#time-to-live-ttl-field' },
    level: 'SHOULD',
    of: 'client',
    says: 'Without a time nothing is kept.',
    proof: ['packages/sdk/test/client/results.test.ts > keeps nothing with the time %s'],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-441': 'server/utilities/caching#time-to-live-ttl-field' },
    level: 'SHOULD',
    of: 'client',
    says: 'A time below 0 is 0.',
    proof: ['packages/sdk/test/client/results.test.ts > keeps nothing with the time %s'],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-442': 'server/utilities/caching#time-to-live-ttl-field' },
    level: 'MUST',
    of: 'server',
    says: 'Times are 0 or more.',
    proof: [
      'packages/sdk/test/conversation/conversation.test.ts > says how long what may be cached stays fresh, and nowhere else',
      'packages/sdk/test/server/definitions.test.ts > a negative time to live',
    ],
    runs: { everywhere: ['what may be kept says for how long and by whom, and nothing else does'] },
  },
  {
    places: { '2607-443': 'server/utilities/caching#freshness-calculation' },
    level: 'SHOULD',
    of: 'client',
    says: 'What is stale is fetched at the next use.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > asks again when the time is over, at the next read and not before',
    ],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-444': 'server/utilities/caching#freshness-calculation' },
    level: 'MUST',
    of: 'client',
    says: 'The time is no clock to poll by.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > asks again when the time is over, at the next read and not before',
    ],
    runs: {
      everywhere: [
        'an answer is kept for its own method and params, as long as its server says, and fetched at the next use',
      ],
    },
  },
  {
    places: { '2607-445': 'server/utilities/caching#cache-scope-field' },
    level: 'MUST NOT',
    of: 'client',
    says: 'What is private is shared with no other authorization.',
    proof: ['packages/sdk/test/client/apart.test.ts > is shared with nobody, be the answer %s'],
    runs: { everywhere: ['no client is given what another one was told'] },
  },
  {
    places: { '2607-446': 'server/utilities/caching#interaction-with-pagination' },
    level: 'SHOULD',
    of: 'client',
    says: 'A page that is stale is fetched by its cursor.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > fetches a stale page by its cursor, and all pages anew when asked to refresh',
    ],
    runs: {
      everywhere: [
        'a page that is no longer fresh is fetched by its cursor, and all of them anew when that went bad',
      ],
    },
  },
  {
    places: { '2607-447': 'server/utilities/caching#interaction-with-pagination' },
    level: 'SHOULD',
    of: 'client',
    says: 'Who wants a list as it is now fetches it from the start.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > fetches a stale page by its cursor, and all pages anew when asked to refresh',
    ],
    runs: {
      everywhere: [
        'a page that is no longer fresh is fetched by its cursor, and all of them anew when that went bad',
      ],
    },
  },
  {
    places: { '2607-448': 'server/utilities/caching#interaction-with-pagination' },
    level: 'SHOULD',
    of: 'client',
    says: 'When a cursor went bad the pages are forgotten and fetched from the start.',
    proof: [
      'packages/sdk/test/client/results.test.ts > cached in part are taken from the start when the server no longer knows the cursor',
    ],
    runs: {
      everywhere: [
        'a page that is no longer fresh is fetched by its cursor, and all of them anew when that went bad',
      ],
    },
  },
  {
    places: { '2607-449': 'server/utilities/caching#interaction-with-pagination' },
    level: 'MUST',
    of: 'server',
    says: 'All pages of a list are public or all are private.',
    proof: ['packages/sdk/test/server/names-and-pages.test.ts > is so on every page (%s)'],
    runs: { everywhere: ['all pages of a list may be kept by the same people'] },
  },
  {
    places: { '2607-450': 'server/utilities/caching#security-considerations' },
    level: 'MUST',
    of: 'server',
    says: 'What is public may be seen by others than who asked, so what depends on who asks is private.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > what a resource needs decides who may keep it',
      'packages/sdk/test/auth/scopes.test.ts > %s shows what its caller may use',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2607-451': 'server/utilities/caching#security-considerations' },
    level: 'MUST',
    of: 'server',
    says: 'Rights are looked at for each thing, and caching hints are no guard.',
    proof: [
      'packages/sdk/test/auth/scopes.test.ts > %s %j needs %s',
      'packages/sdk/test/auth/scopes.test.ts > each request of a session may do what its own token allows',
    ],
    runs: { only: 'callers' },
  },
]
