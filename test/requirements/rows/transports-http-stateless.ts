import { only, type Requirement } from '../requirement.ts'

/** What a server does over HTTP in the stateless era, headers aside. */
export const transportsHttpStateless: readonly Requirement[] = only('http', [
  {
    places: { '2607-242': 'basic/transports/streamable-http' },
    level: 'MUST',
    of: 'server',
    says: 'One path serves POST.',
    proof: ['packages/sdk/test/serve/http-revisions.test.ts > lives at one path, by POST alone'],
  },
  {
    places: { '2607-252': 'basic/transports/streamable-http#sending-messages' },
    level: 'MUST',
    of: 'server',
    says: 'A notification that is taken gets 202 without a body.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > takes a notice with 202 and no body, and refuses what it cannot take with an error status',
    ],
  },
  {
    places: { '2607-253': 'basic/transports/streamable-http#sending-messages' },
    level: 'MUST',
    of: 'server',
    says: 'A notification that cannot be taken gets an error status.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > takes a notice with 202 and no body, and refuses what it cannot take with an error status',
    ],
  },
  {
    places: { '2607-254': 'basic/transports/streamable-http#sending-messages' },
    level: 'MUST',
    of: 'both',
    says: 'A request is answered with JSON or an event stream, and a client takes both.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers with JSON or a stream of valid messages about that request alone, and no requests',
      'packages/sdk/test/links/http.test.ts > are taken as JSON and as an event stream',
    ],
  },
  {
    places: { '2607-255': 'basic/transports/streamable-http#receiving-messages' },
    level: 'MUST',
    of: 'server',
    says: 'Notifications on a stream are about its request.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers with JSON or a stream of valid messages about that request alone, and no requests',
      'packages/sdk/test/serve/envelope.test.ts > stay off every stream but their own request’s',
    ],
  },
  {
    places: { '2607-256': 'basic/transports/streamable-http#receiving-messages' },
    level: 'MUST NOT',
    of: 'server',
    says: 'No requests go out on a stream; questions travel in results.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > answers with JSON or a stream of valid messages about that request alone, and no requests',
      'packages/sdk/test/serve/http-modern.test.ts > ask by results, and the retry carries the answer',
    ],
  },
  {
    places: { '2607-257': 'basic/transports/streamable-http#receiving-messages' },
    level: 'SHOULD',
    of: 'server',
    says: 'The response ends the stream.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > become an event stream at the first notice, and end with the answer',
    ],
  },
  {
    places: { '2607-258': 'basic/transports/streamable-http#receiving-messages' },
    level: 'SHOULD',
    of: 'server',
    says: 'A stream says `X-Accel-Buffering: no`.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > become an event stream at the first notice, and end with the answer',
    ],
  },
  {
    places: { '2607-259': 'basic/transports/streamable-http#cancellation' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A closed stream cancels its request: work stops, and nothing more is sent.',
    proof: [
      'packages/sdk/test/serve/http-modern.test.ts > are cancelled when the client disconnects, before and after the stream began',
    ],
  },
  {
    places: { '2607-262': 'basic/transports/streamable-http#protocol-version-header' },
    level: 'MUST',
    of: 'server',
    says: 'A version the server does not speak gets 400 and an error that lists those it does.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that name a version nobody speaks are answered with 400, -32022 and the versions there are',
    ],
  },
  {
    places: { '2607-263': 'basic/transports/streamable-http#protocol-version-header' },
    level: 'MUST',
    of: 'server',
    says: 'A method the server does not have gets 404 and -32601.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that name a method nobody has are answered with 404 and -32601',
    ],
  },
  {
    places: { '2607-264': 'basic/transports/streamable-http#protocol-version-header' },
    level: 'MUST',
    of: 'server',
    says: 'A request without the version header is refused, except for clients of older revisions.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are all required: a request without %s is refused with 400 and -32020',
      'packages/sdk/test/serve/http-headers.test.ts > belong to a body without _meta where they name no version: that is a session, and there is none',
    ],
  },
  {
    places: { '2607-297': 'basic/transports/streamable-http#earlier-streamable-http-revisions' },
    level: 'SHOULD',
    of: 'server',
    says: 'A server without sessions answers GET and DELETE with 405 and ignores session and event ids.',
    proof: [
      'packages/sdk/test/serve/http-revisions.test.ts > lives at one path, by POST alone',
      'packages/sdk/test/serve/http-headers.test.ts > of sessions and resumption mean nothing to a stateless request',
    ],
  },
  {
    places: { '2607-298': 'basic/transports/streamable-http#httpsse-transport-2024-11-05' },
    level: 'SHOULD NOT',
    of: 'both',
    says: 'New implementations do not take up HTTP+SSE.',
    otherwise:
      '2024-11-05 is among the revisions served, and has no other transport over HTTP. A server offers it only where a path is named for it, a client tries it last.',
  },
])
