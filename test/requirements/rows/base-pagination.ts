import type { Requirement } from '../requirement.ts'

export const basePagination: readonly Requirement[] = [
  {
    places: {
      '2411-107': 'server/utilities/pagination#pagination-model',
      '2503-177': 'server/utilities/pagination#pagination-model',
      '2506-216': 'server/utilities/pagination#pagination-model',
      '2511-394': 'server/utilities/pagination#pagination-model',
      '2607-467': 'server/utilities/pagination#pagination-model',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'A page may have any number of entries.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > of %s may have any number of entries, and each its own',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: {
      '2411-108': 'server/utilities/pagination#implementation-guidelines',
      '2503-178': 'server/utilities/pagination#implementation-guidelines',
      '2506-217': 'server/utilities/pagination#implementation-guidelines',
      '2511-395': 'server/utilities/pagination#implementation-guidelines',
      '2607-468': 'server/utilities/pagination#implementation-guidelines',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Cursors stay good, and bad ones are answered with an error.',
    proof: [
      'packages/sdk/test/server/names-and-pages.test.ts > has cursors that stay good',
      'packages/sdk/test/server/lists.test.ts > cursor %s is refused',
    ],
    runs: { everywhere: ['a cursor stays good, on another connection too, and one that is none is refused'] },
  },
  {
    places: {
      '2411-109': 'server/utilities/pagination#implementation-guidelines',
      '2503-179': 'server/utilities/pagination#implementation-guidelines',
      '2506-218': 'server/utilities/pagination#implementation-guidelines',
      '2511-396': 'server/utilities/pagination#implementation-guidelines',
      '2607-469': 'server/utilities/pagination#implementation-guidelines',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'No cursor means the end; a list in one page is a list too.',
    proof: [
      'packages/sdk/test/client/results.test.ts > follow every cursor, the empty one too, until there is none',
      'packages/sdk/test/server/lists.test.ts > ends without a cursor when the last page is full',
      'packages/sdk/test/client/apart.test.ts > of %s may have any number of entries, and each its own',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: {
      '2411-110': 'server/utilities/pagination#implementation-guidelines',
      '2503-180': 'server/utilities/pagination#implementation-guidelines',
      '2506-219': 'server/utilities/pagination#implementation-guidelines',
      '2511-397': 'server/utilities/pagination#implementation-guidelines',
    },
    level: 'MUST',
    of: 'client',
    says: 'Cursors go back as they came, and do not outlive their session.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > of %s may have any number of entries, and each its own',
      'packages/sdk/test/client/results.test.ts > cached in part are taken from the start when the server no longer knows the cursor',
      'packages/sdk/test/client/apart.test.ts > is shared with nobody',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: { '2607-470': 'server/utilities/pagination#implementation-guidelines' },
    level: 'MUST',
    of: 'client',
    says: 'Cursors go back as they came.',
    proof: [
      'packages/sdk/test/client/apart.test.ts > of %s may have any number of entries, and each its own',
      'packages/sdk/test/client/results.test.ts > follow every cursor, the empty one too, until there is none',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: { '2607-471': 'server/utilities/pagination#implementation-guidelines' },
    level: 'MUST NOT',
    of: 'client',
    says: 'An empty cursor is a cursor.',
    proof: [
      'packages/sdk/test/client/results.test.ts > follow every cursor, the empty one too, until there is none',
    ],
    runs: {
      everywhere: ['a client follows every cursor as it came, to pages of any size, until there is none'],
    },
  },
  {
    places: {
      '2411-111': 'server/utilities/pagination#error-handling',
      '2503-181': 'server/utilities/pagination#error-handling',
      '2506-220': 'server/utilities/pagination#error-handling',
      '2511-398': 'server/utilities/pagination#error-handling',
      '2607-472': 'server/utilities/pagination#error-handling',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A cursor that is none is answered with -32602.',
    proof: [
      'packages/sdk/test/server/lists.test.ts > cursor %s is refused',
      'packages/sdk/test/client/client.test.ts > gives one page when asked for one, and passes on what the server says of a cursor',
    ],
    runs: {
      everywhere: [
        'a cursor stays good, on another connection too, and one that is none is refused',
        'pagination',
      ],
    },
  },
]
