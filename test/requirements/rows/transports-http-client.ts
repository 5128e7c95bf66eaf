import { only, type Requirement } from '../requirement.ts'

/** What a client does over HTTP, sessions first. */
export const transportsHttpClient: readonly Requirement[] = only('http', [
  {
    places: {
      '2503-072': 'basic/transports#sending-messages-to-the-server',
      '2506-092': 'basic/transports#sending-messages-to-the-server',
      '2511-142': 'basic/transports#sending-messages-to-the-server',
      '2607-247': 'basic/transports/streamable-http#sending-messages',
      '2503-073': 'basic/transports#sending-messages-to-the-server',
      '2506-093': 'basic/transports#sending-messages-to-the-server',
      '2511-143': 'basic/transports#sending-messages-to-the-server',
      '2607-248': 'basic/transports/streamable-http#sending-messages',
    },
    level: 'MUST',
    of: 'client',
    says: 'Every message is a POST of its own.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: {
      '2503-074': 'basic/transports#sending-messages-to-the-server',
      '2506-094': 'basic/transports#sending-messages-to-the-server',
      '2511-144': 'basic/transports#sending-messages-to-the-server',
      '2607-249': 'basic/transports/streamable-http#sending-messages',
    },
    level: 'MUST',
    of: 'client',
    says: '`Accept` names JSON and event streams.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: {
      '2506-095': 'basic/transports#sending-messages-to-the-server',
      '2511-145': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'MUST',
    of: 'client',
    says: 'A POST holds one message.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: {
      '2503-084': 'basic/transports#sending-messages-to-the-server',
      '2506-104': 'basic/transports#sending-messages-to-the-server',
      '2511-156': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client of a session cancels by a notification.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
      'packages/sdk/test/links/http-sessions.test.ts > cancels by a notice, and stops reading',
    ],
  },
  {
    places: {
      '2503-085': 'basic/transports#listening-for-messages-from-the-server',
      '2506-105': 'basic/transports#listening-for-messages-from-the-server',
      '2511-157': 'basic/transports#listening-for-messages-from-the-server',
    },
    level: 'MUST',
    of: 'client',
    says: 'The `Accept` of a GET names event streams.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: {
      '2503-091': 'basic/transports#resumability-and-redelivery',
      '2506-111': 'basic/transports#resumability-and-redelivery',
      '2511-165': 'basic/transports#resumability-and-redelivery',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A broken stream is resumed by a GET with the id of the last event.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > is resumed by a GET with the last event it has',
      'packages/sdk/test/links/http-sessions.test.ts > takes up a stream that broke off in the middle',
    ],
  },
  {
    places: {
      '2503-095': 'basic/transports#session-management',
      '2506-115': 'basic/transports#session-management',
      '2511-170': 'basic/transports#session-management',
    },
    level: 'MUST',
    of: 'client',
    says: 'The session id goes with every request after the one that began the session.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: {
      '2503-098': 'basic/transports#session-management',
      '2506-118': 'basic/transports#session-management',
      '2511-173': 'basic/transports#session-management',
    },
    level: 'MUST',
    of: 'client',
    says: 'On 404 a client begins a new session, without the old id.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > that is answered with 404 is begun anew, without its old id',
    ],
  },
  {
    places: {
      '2503-099': 'basic/transports#session-management',
      '2506-119': 'basic/transports#session-management',
      '2511-174': 'basic/transports#session-management',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A session nobody needs any more is ended with DELETE.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: {
      '2506-120': 'basic/transports#protocol-version-header',
      '2511-175': 'basic/transports#protocol-version-header',
    },
    level: 'MUST',
    of: 'client',
    says: 'The version header goes with every request after `initialize`.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: {
      '2506-121': 'basic/transports#protocol-version-header',
      '2511-176': 'basic/transports#protocol-version-header',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The version header says what was agreed on.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > sends each message in a POST of its own, with its session and both content types',
    ],
  },
  {
    places: { '2511-169': 'basic/transports#session-management' },
    level: 'MUST',
    of: 'client',
    says: 'The session id is kept safe.',
    proof: [
      'packages/sdk/test/links/http-revisions.test.ts > keeps its id to itself: it goes to no other origin, and into no error, warning or message',
    ],
  },
  {
    places: { '2607-250': 'basic/transports/streamable-http#sending-messages' },
    level: 'MUST',
    of: 'client',
    says: 'The headers that mirror the request go with every POST.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: { '2607-251': 'basic/transports/streamable-http#sending-messages' },
    level: 'MUST NOT',
    of: 'client',
    says: 'A POST of the stateless era holds one request or notification, never a response.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
      'packages/sdk/test/client/results.test.ts > gets no answer to a request of its own',
    ],
  },
  {
    places: { '2607-260': 'basic/transports/streamable-http#protocol-version-header' },
    level: 'MUST',
    of: 'client',
    says: 'Every POST has the version header.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: { '2607-296': 'basic/transports/streamable-http#backward-compatibility' },
    level: 'SHOULD',
    of: 'client',
    says: 'A 400 is read before falling back: errors of the stateless era use it too.',
    proof: [
      'packages/sdk/test/client/hello.test.ts > is modern, and never greeted with initialize',
      'packages/sdk/test/client/hello.test.ts > 400 and -32000 without an id',
    ],
  },
])
