import {
  all,
  clients,
  docs,
  type Group,
  lacks,
  no,
  ours,
  part,
  probed,
  ran,
  ranAsClient,
  source,
  unknown,
  yes,
} from '../feature.ts'

export const transports: Group = {
  title: 'Transports and runtimes',
  features: [
    {
      title: 'stdio server',
      ours: ours('packages/sdk/test/serve/stdio.test.ts > answers one line with one line, in both eras'),
      peers: all(yes(source('StdioServerTransport')), { lite: no(lacks('stdin')) }),
    },
    {
      title: 'stdio client',
      ours: ours('packages/sdk/test/transports/process.test.ts > a server process that exits during calls'),
      peers: clients(yes(source('StdioClientTransport')), yes(source('StdioClientTransport'))),
    },
    {
      title: 'a server process is ended with its whole tree',
      ours: ours(
        'packages/sdk/test/links/stdio.test.ts > stops the whole tree, also a grandchild that ignores SIGTERM',
      ),
      peers: clients(no(lacks('process\\.kill\\(-')), no(lacks('process\\.kill\\(-'))),
    },
    {
      title: 'a server process does not inherit the environment of its client',
      ours: ours(
        'packages/sdk/test/links/stdio.test.ts > contains no secret of the parent, only what programs need and what was configured',
      ),
      peers: clients(yes(source('DEFAULT_INHERITED_ENV_VARS')), yes(source('DEFAULT_INHERITED_ENV_VARS'))),
    },
    {
      title: 'Streamable HTTP server',
      since: '2025-03-26',
      ours: ours(
        'packages/sdk/test/serve/http-legacy.test.ts > is returned by initialize: long, random, visible ASCII',
      ),
      peers: all(yes(probed('speaks 2025-06-18'))),
    },
    {
      title: 'Streamable HTTP client',
      since: '2025-03-26',
      ours: ours(
        'packages/sdk/test/links/http-revisions.test.ts > sends each message in a separate POST, with its session and both content types',
      ),
      peers: clients(
        yes(ranAsClient('gets the identity of the server')),
        yes(ranAsClient('gets the identity of the server')),
      ),
    },
    {
      title: 'the package manages sessions; an unknown session gets 404',
      since: '2025-03-26',
      until: '2025-11-25',
      ours: ours(
        'packages/sdk/test/serve/http-legacy.test.ts > is required for everything after: missing is 400, unknown is 404',
      ),
      peers: {
        v2: part('the application must store the sessions', source('Session not found')),
        v1: part('the application must store the sessions', source('Session not found')),
        fastmcp: yes(probed('answers 404 to a session it does not know')),
        lite: no(probed('answers 404 to a session it does not know'), 'accepts any id'),
      },
    },
    {
      title: 'clients of these revisions can be served without sessions, each request by any instance',
      since: '2025-03-26',
      until: '2025-11-25',
      ours: ours(
        'packages/sdk/test/serve/http-sessionless.test.ts > the official SDK 1 lists, calls and gets progress',
      ),
      peers: {
        v2: yes(source('sessionIdGenerator: undefined')),
        v1: yes(source('sessionIdGenerator: undefined')),
        fastmcp: unknown,
        lite: unknown,
      },
    },
    {
      title: 'a client starts a new session after a 404',
      since: '2025-03-26',
      until: '2025-11-25',
      ours: ours(
        'packages/sdk/test/links/http-sessions.test.ts > that ended is reopened once for all callers, and rejected requests are sent again',
      ),
      peers: clients(unknown, unknown),
    },
    {
      title: 'responses of broken streams are resumed by default',
      since: '2025-11-25',
      until: '2025-11-25',
      ours: ours(
        'packages/sdk/test/serve/http-legacy-streams.test.ts > cancels nothing, and the client gets the rest with GET and Last-Event-ID, once',
      ),
      peers: {
        v2: part(
          'with an event store',
          ran('fetches responses whose streams the server released, three at once'),
        ),
        v1: part(
          'with an event store',
          ran('fetches responses whose streams the server released, three at once'),
        ),
        fastmcp: yes(source('eventStore ?? new InMemoryEventStore')),
        lite: part('the stream of a GET, with an adapter', source('Last-Event-ID')),
      },
    },
    {
      title: 'HTTP+SSE server',
      until: '2024-11-05',
      ours: ours(
        'packages/sdk/test/transports/sse-server.test.ts > accepts messages with 202 and answers them on the stream, at %s',
      ),
      peers: {
        v2: part('in a separate, frozen package', docs('server-legacy, in its migration guide')),
        v1: yes(source('class SSEServerTransport')),
        fastmcp: yes(source('sseEndpoint = "/sse"')),
        lite: no(lacks('endpoint\\\\n|event: endpoint')),
      },
    },
    {
      title: 'HTTP+SSE client, with automatic fallback',
      until: '2024-11-05',
      ours: ours(
        'packages/sdk/test/links/sse.test.ts > is detected behind its URL, with the caller’s headers',
      ),
      peers: clients(
        part('manually', source('class SSEClientTransport')),
        part('manually', source('class SSEClientTransport')),
      ),
    },
    {
      title: 'Unix and TCP sockets',
      ours: ours(
        'packages/sdk/test/transports/socket.test.ts > serves many clients at once, each with its own session and ids',
      ),
      peers: all(no(lacks('["\']node:net["\']|["\']net["\']'))),
    },
    {
      title: 'WebSocket (not in the specification)',
      ours: { has: 'no', note: '' },
      peers: {
        v2: no(lacks('new WebSocket')),
        v1: part('client only', source('WebSocketClientTransport')),
        fastmcp: no(lacks('new WebSocket')),
        lite: no(lacks('new WebSocket')),
      },
    },
    {
      title: 'in memory, without a process or port',
      ours: ours('packages/sdk/test/transports/everywhere.test.ts > a client and a server connect at %s'),
      peers: {
        v2: yes(source('InMemoryTransport')),
        v1: yes(source('InMemoryTransport')),
        fastmcp: yes(source('InMemoryTransport'), 'that of v1'),
        lite: part('with manual requests', source('bind(')),
      },
    },
    {
      title: 'every feature is tested over every transport on every revision',
      ours: ours('packages/sdk/test/matrix/matrix.test.ts > over $name'),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    {
      title: 'servers on Node, Bun, Deno and workerd',
      ours: ours(
        'test/runtimes/servers.test.ts > Bun',
        'test/runtimes/servers.test.ts > Deno',
        'test/runtimes/servers.test.ts > workerd, in a worker',
      ),
      peers: {
        v2: yes(source('WebStandardStreamableHTTPServerTransport')),
        v1: yes(source('WebStandardStreamableHTTPServerTransport')),
        fastmcp: part('some of it, in `fastmcp/edge`', docs('“Edge Runtime Support” in its README')),
        lite: yes(docs('the first paragraph of its README')),
      },
    },
    {
      title: 'mounting in Node frameworks and fetch frameworks',
      ours: ours('packages/sdk/test/adapters/examples.test.ts > serves both eras'),
      peers: {
        v2: yes(docs('packages for express, hono and fastify')),
        v1: yes(source('createMcpExpressApp')),
        fastmcp: part('it is a Hono app', source('getApp()')),
        lite: part('fetch frameworks', docs('its README')),
      },
    },
  ],
}
