import { only, type Requirement } from '../requirement.ts'

/** What a server does over HTTP, sessions first. */
export const transportsHttpServer: readonly Requirement[] = only('http', [
  {
    places: {
      '2411-030': 'basic/transports#security-warning',
      '2503-069': 'basic/transports#security-warning',
      '2506-089': 'basic/transports#security-warning',
      '2511-138': 'basic/transports#security-warning',
      '2607-243': 'basic/transports/streamable-http#security--endpoint',
    },
    level: 'MUST',
    of: 'server',
    says: '`Origin` is validated on every connection.',
    proof: [
      'packages/sdk/test/serve/http-guard.test.ts > refuses Origin %j for every method and path',
      'packages/sdk/test/serve/http-guard.test.ts > judges Host and Origin each by itself',
      'packages/sdk/test/transports/sse-server.test.ts > keeps pages of other origins and other names out, at the stream and at the inbox',
    ],
  },
  {
    places: {
      '2511-139': 'basic/transports#security-warning',
      '2607-244': 'basic/transports/streamable-http#security--endpoint',
    },
    level: 'MUST',
    of: 'server',
    says: 'An invalid `Origin` is answered with 403.',
    proof: ['packages/sdk/test/serve/http-guard.test.ts > refuses Origin %j for every method and path'],
  },
  {
    places: {
      '2411-031': 'basic/transports#security-warning',
      '2503-070': 'basic/transports#security-warning',
      '2506-090': 'basic/transports#security-warning',
      '2511-140': 'basic/transports#security-warning',
      '2607-245': 'basic/transports/streamable-http#security--endpoint',
    },
    level: 'SHOULD',
    of: 'server',
    says: "A server on a person's machine listens on loopback only.",
    proof: [
      'packages/sdk/test/serve/http-guard.test.ts > listens on this machine only, says where, and says when the port is taken',
    ],
  },
  {
    places: {
      '2411-032': 'basic/transports#security-warning',
      '2503-071': 'basic/transports#security-warning',
      '2506-091': 'basic/transports#security-warning',
      '2511-141': 'basic/transports#security-warning',
      '2607-246': 'basic/transports/streamable-http#security--endpoint',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Connections are authenticated.',
    proof: [
      'packages/sdk/test/serve/http-guard.test.ts > asks who it is before it reads the body, and refuses when it cannot tell',
      'packages/sdk/test/serve/http-guard.test.ts > tells the handler who authenticated',
      'packages/sdk/test/serve/http-legacy.test.ts > belongs to who began it: for anybody else it does not exist',
    ],
  },
  {
    places: { '2411-033': 'basic/transports#security-warning' },
    level: 'MUST',
    of: 'server',
    says: 'HTTP+SSE has two endpoints: a stream to read from and a place to POST to.',
    proof: [
      'packages/sdk/test/transports/sse-server.test.ts > takes messages with 202 and answers them on the stream, at %s',
    ],
  },
  {
    places: { '2411-034': 'basic/transports#security-warning' },
    level: 'MUST',
    of: 'both',
    says: 'HTTP+SSE begins with an `endpoint` event, and every message of the client is a POST to the URI it names.',
    proof: [
      'packages/sdk/test/transports/sse-server.test.ts > first names a place on the same origin, with an id nobody can guess and no session header',
      'packages/sdk/test/transports/sse-client.test.ts > is sent its messages at',
      'packages/sdk/test/links/sse.test.ts > is found behind its URL by itself, with the caller’s headers',
    ],
  },
  {
    places: {
      '2503-068': 'basic/transports#streamable-http',
      '2506-088': 'basic/transports#streamable-http',
      '2511-137': 'basic/transports#streamable-http',
    },
    level: 'MUST',
    of: 'server',
    says: 'One path serves POST and GET.',
    proof: ['packages/sdk/test/serve/http-revisions.test.ts > lives at one path, by POST and GET'],
  },
  {
    places: { '2503-075': 'basic/transports#sending-messages-to-the-server' },
    level: 'MUST',
    of: 'both',
    says: 'A POST of 2025-03-26 holds one message or a batch; what wants no answer gets 202, requests get JSON or a stream with every response.',
    proof: [
      'packages/sdk/test/serve/http-legacy-limits.test.ts > are answered as one array on 2025-03-26',
      'packages/sdk/test/serve/http-legacy-limits.test.ts > become a stream when one of their requests has a notice',
      'packages/sdk/test/serve/http-revisions.test.ts > takes notices and answers with 202 and no body',
      'packages/sdk/test/serve/http-revisions.test.ts > answers a request with JSON, or with a stream of valid messages that ends with the response',
      'packages/sdk/test/links/http-revisions.test.ts > takes answers that come as an array, as JSON and on a stream',
    ],
  },
  {
    places: {
      '2503-076': 'basic/transports#sending-messages-to-the-server',
      '2506-096': 'basic/transports#sending-messages-to-the-server',
      '2511-146': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'MUST',
    of: 'server',
    says: 'Notifications and responses that are taken get 202 without a body.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > takes notices and answers with 202 and no body',
    ],
  },
  {
    places: {
      '2503-077': 'basic/transports#sending-messages-to-the-server',
      '2506-097': 'basic/transports#sending-messages-to-the-server',
      '2511-147': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'MUST',
    of: 'server',
    says: 'Notifications and responses that cannot be taken get an error status.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > refuses notices and answers it cannot take with an error status',
    ],
  },
  {
    places: {
      '2503-078': 'basic/transports#sending-messages-to-the-server',
      '2506-098': 'basic/transports#sending-messages-to-the-server',
      '2511-148': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'MUST',
    of: 'both',
    says: 'A request is answered with JSON or an event stream, and a client takes both.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers a request with JSON, or with a stream of valid messages that ends with the response',
      'packages/sdk/test/links/http-revisions.test.ts > takes its answers as JSON and as an event stream',
    ],
  },
  {
    places: {
      '2503-079': 'basic/transports#sending-messages-to-the-server',
      '2506-099': 'basic/transports#sending-messages-to-the-server',
      '2511-152': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'The stream brings the response of every request in the POST.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers a request with JSON, or with a stream of valid messages that ends with the response',
      'packages/sdk/test/serve/http-legacy-limits.test.ts > become a stream when one of their requests has a notice',
    ],
  },
  {
    places: {
      '2503-080': 'basic/transports#sending-messages-to-the-server',
      '2506-100': 'basic/transports#sending-messages-to-the-server',
      '2511-153': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'What comes on a stream before the response is about that request.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > sends each message on one stream, the one of its request',
    ],
  },
  {
    places: {
      '2503-081': 'basic/transports#sending-messages-to-the-server',
      '2506-101': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'The stream is not closed before the response, unless the session ends.',
    proof: [
      'packages/sdk/test/serve/http-legacy-streams.test.ts > cannot be chosen on revisions whose clients do not come back',
      'packages/sdk/test/serve/http-legacy.test.ts > is not primed on %s',
    ],
  },
  {
    places: {
      '2503-082': 'basic/transports#sending-messages-to-the-server',
      '2506-102': 'basic/transports#sending-messages-to-the-server',
      '2511-154': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'The stream ends after the response.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers a request with JSON, or with a stream of valid messages that ends with the response',
    ],
  },
  {
    places: {
      '2503-083': 'basic/transports#sending-messages-to-the-server',
      '2506-103': 'basic/transports#sending-messages-to-the-server',
      '2511-155': 'basic/transports#sending-messages-to-the-server',
    },
    level: 'SHOULD NOT',
    of: 'server',
    says: 'A lost connection does not cancel the request of a session.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > does not take a lost connection for a wish to cancel',
      'packages/sdk/test/serve/http-legacy-streams.test.ts > cancels nothing, and the client gets the rest with GET and Last-Event-ID, once',
    ],
  },
  {
    places: {
      '2503-086': 'basic/transports#listening-for-messages-from-the-server',
      '2506-106': 'basic/transports#listening-for-messages-from-the-server',
      '2511-158': 'basic/transports#listening-for-messages-from-the-server',
    },
    level: 'MUST',
    of: 'server',
    says: 'A GET is answered with an event stream or 405.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > lives at one path, by POST and GET',
      'packages/sdk/test/serve/http-modern.test.ts > have no %s',
    ],
  },
  {
    places: {
      '2503-087': 'basic/transports#listening-for-messages-from-the-server',
      '2506-107': 'basic/transports#listening-for-messages-from-the-server',
      '2511-159': 'basic/transports#listening-for-messages-from-the-server',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'What comes on the stream of a GET is about no request under way.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > sends each message on one stream, the one of its request',
    ],
  },
  {
    places: {
      '2503-088': 'basic/transports#listening-for-messages-from-the-server',
      '2506-108': 'basic/transports#listening-for-messages-from-the-server',
      '2511-160': 'basic/transports#listening-for-messages-from-the-server',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'No response comes on the stream of a GET, unless it resumes the stream of a request.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > sends each message on one stream, the one of its request',
      'packages/sdk/test/serve/http-legacy-streams.test.ts > cancels nothing, and the client gets the rest with GET and Last-Event-ID, once',
    ],
  },
  {
    places: {
      '2503-089': 'basic/transports#multiple-connections',
      '2506-109': 'basic/transports#multiple-connections',
      '2511-162': 'basic/transports#multiple-connections',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'A message goes out on one stream only.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > sends each message on one stream, the one of its request',
      'packages/sdk/test/serve/http-legacy-streams.test.ts > is one per session, and free again when it was dropped',
    ],
  },
  {
    places: {
      '2503-090': 'basic/transports#resumability-and-redelivery',
      '2506-110': 'basic/transports#resumability-and-redelivery',
      '2511-163': 'basic/transports#resumability-and-redelivery',
    },
    level: 'MUST',
    of: 'server',
    says: 'An event id stands for one event among all streams of its session.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > sends each message on one stream, the one of its request',
    ],
  },
  {
    places: {
      '2503-092': 'basic/transports#resumability-and-redelivery',
      '2506-112': 'basic/transports#resumability-and-redelivery',
      '2511-166': 'basic/transports#resumability-and-redelivery',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'Resuming replays nothing of another stream.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > resumes a stream with what is left of it, and never with another',
      'packages/sdk/test/serve/http-legacy-streams.test.ts > is never answered with events of another stream',
    ],
  },
  {
    places: {
      '2503-093': 'basic/transports#session-management',
      '2506-113': 'basic/transports#session-management',
      '2511-167': 'basic/transports#session-management',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A session id is unique and cannot be guessed.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > is given with the answer to initialize: long, random, visible ASCII',
    ],
  },
  {
    places: {
      '2503-094': 'basic/transports#session-management',
      '2506-114': 'basic/transports#session-management',
      '2511-168': 'basic/transports#session-management',
    },
    level: 'MUST',
    of: 'server',
    says: 'A session id is visible ASCII.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > is given with the answer to initialize: long, random, visible ASCII',
    ],
  },
  {
    places: {
      '2503-096': 'basic/transports#session-management',
      '2506-116': 'basic/transports#session-management',
      '2511-171': 'basic/transports#session-management',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A request without the session id it needs gets 400.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > is needed for everything after, and missing is 400, unknown is 404',
    ],
  },
  {
    places: {
      '2503-097': 'basic/transports#session-management',
      '2506-117': 'basic/transports#session-management',
      '2511-172': 'basic/transports#session-management',
    },
    level: 'MUST',
    of: 'server',
    says: 'The id of a session that ended gets 404.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > that is over is answered with 404, whoever ended it',
      'packages/sdk/test/serve/http-legacy-limits.test.ts > end after a while, unless somebody is connected',
    ],
  },
  {
    places: {
      '2506-122': 'basic/transports#protocol-version-header',
      '2511-177': 'basic/transports#protocol-version-header',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Where nothing tells the version, 2025-03-26 is assumed.',
    otherwise:
      'A session always knows what was agreed in `initialize`, so that counts where the header is missing; without a session a request is refused.',
  },
  {
    places: {
      '2506-123': 'basic/transports#protocol-version-header',
      '2511-178': 'basic/transports#protocol-version-header',
    },
    level: 'MUST',
    of: 'server',
    says: 'A version header that is invalid or not supported gets 400.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > refuses versions nobody speaks with 400, and asks for none',
    ],
  },
  {
    places: { '2511-149': 'basic/transports#sending-messages-to-the-server' },
    level: 'SHOULD',
    of: 'server',
    says: 'A stream begins with an event id and no data.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > is a stream once there is a notice: primed, numbered, ended by the result',
    ],
  },
  {
    places: { '2511-150': 'basic/transports#sending-messages-to-the-server' },
    level: 'SHOULD',
    of: 'client',
    says: 'A client polls a stream whose connection the server closed.',
    proof: [
      'packages/sdk/test/links/http-sessions.test.ts > takes up a stream the server closed after the wait it asked for, and promptly then',
    ],
  },
  {
    places: { '2511-151': 'basic/transports#sending-messages-to-the-server' },
    level: 'MUST',
    of: 'both',
    says: 'A server that closes a connection says how long to wait, and a client waits that long.',
    proof: [
      'packages/sdk/test/serve/http-legacy-streams.test.ts > is what a handler can choose, for the client to come back',
      'packages/sdk/test/links/http-sessions.test.ts > takes up a stream the server closed after the wait it asked for, and promptly then',
    ],
  },
  {
    places: { '2511-161': 'basic/transports#listening-for-messages-from-the-server' },
    level: 'SHOULD',
    of: 'server',
    says: 'A server that closes the connection of a GET sends `retry` first.',
    otherwise:
      'Only the end of the session closes the stream of a GET here, or a reader that takes nothing and would not read it either.',
  },
  {
    places: { '2511-164': 'basic/transports#resumability-and-redelivery' },
    level: 'SHOULD',
    of: 'server',
    says: 'An event id names its stream.',
    proof: [
      'packages/sdk/test/serve/http-legacy-streams.test.ts > cannot be resumed from an event that is unknown, foreign, forged or gone',
      'packages/sdk/test/serve/http-revisions.test.ts > resumes a stream with what is left of it, and never with another',
    ],
  },
])
