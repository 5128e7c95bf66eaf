import type { Requirement } from '../requirement.ts'

export const basePing: readonly Requirement[] = [
  {
    places: {
      '2411-044': 'basic/utilities/ping#behavior-requirements',
      '2503-109': 'basic/utilities/ping#behavior-requirements',
      '2506-133': 'basic/utilities/ping#behavior-requirements',
      '2511-189': 'basic/utilities/ping#behavior-requirements',
    },
    level: 'MUST',
    of: 'both',
    says: 'A ping is answered at once, with nothing.',
    proof: [
      'packages/sdk/test/serve/envelope.test.ts > answers ping at once with nothing in it',
      'packages/sdk/test/serve/envelope.test.ts > of %s answers ping and refuses log levels that are none',
      'packages/sdk/test/client/questions.test.ts > are pings too',
      'packages/sdk/test/client/hello.test.ts > may ping before it answered initialize',
    ],
    runs: { everywhere: ['a ping is answered at once with nothing, by either side'] },
  },
  {
    places: {
      '2411-045': 'basic/utilities/ping#implementation-considerations',
      '2503-110': 'basic/utilities/ping#implementation-considerations',
      '2506-134': 'basic/utilities/ping#implementation-considerations',
      '2511-190': 'basic/utilities/ping#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Pings are sent now and then to see whether the connection lives.',
    otherwise:
      'Pipes and streams say themselves when they end; the host pings when a request failed in a way that a lost connection would explain.',
  },
  {
    places: {
      '2411-046': 'basic/utilities/ping#implementation-considerations',
      '2503-111': 'basic/utilities/ping#implementation-considerations',
      '2506-135': 'basic/utilities/ping#implementation-considerations',
      '2511-191': 'basic/utilities/ping#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'How often can be set.',
    otherwise:
      'No pings are sent by a clock. An application that wants some calls ping as often as it likes.',
  },
  {
    places: {
      '2411-047': 'basic/utilities/ping#implementation-considerations',
      '2503-112': 'basic/utilities/ping#implementation-considerations',
      '2506-136': 'basic/utilities/ping#implementation-considerations',
      '2511-192': 'basic/utilities/ping#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'How long to wait for an answer to a ping fits the network.',
    proof: ['packages/sdk/test/client/lifecycle.test.ts > has a ping with a clock of its own'],
    runs: { everywhere: ['a ping has a clock of its own, and none is sent unasked'] },
  },
  {
    places: {
      '2411-048': 'basic/utilities/ping#implementation-considerations',
      '2503-113': 'basic/utilities/ping#implementation-considerations',
      '2506-137': 'basic/utilities/ping#implementation-considerations',
      '2511-193': 'basic/utilities/ping#implementation-considerations',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'Not too many pings are sent.',
    proof: [
      'packages/sdk/test/client/lifecycle.test.ts > sends nothing more before the answer, then notifications/initialized, then requests',
    ],
    runs: { everywhere: ['a ping has a clock of its own, and none is sent unasked'] },
  },
  {
    places: {
      '2411-049': 'basic/utilities/ping#error-handling',
      '2503-114': 'basic/utilities/ping#error-handling',
      '2506-138': 'basic/utilities/ping#error-handling',
      '2511-194': 'basic/utilities/ping#error-handling',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'A ping without an answer means that the connection is lost.',
    proof: [
      'packages/host/test/connections/connections.test.ts > over HTTP is noticed by the next call and brought back when it answers again',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2411-050': 'basic/utilities/ping#error-handling',
      '2503-115': 'basic/utilities/ping#error-handling',
      '2506-139': 'basic/utilities/ping#error-handling',
      '2511-195': 'basic/utilities/ping#error-handling',
    },
    level: 'SHOULD',
    of: 'both',
    says: 'A ping that fails is written down.',
    otherwise:
      'It rejects, for its caller to write down; the host makes it the reason of the reconnection it begins.',
  },
]
