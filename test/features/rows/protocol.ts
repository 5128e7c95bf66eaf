import {
  all,
  clients,
  type Group,
  inMatrix,
  lacks,
  newest,
  no,
  noClient,
  ours,
  part,
  probed,
  ran,
  ranAsClient,
  source,
  unknown,
  yes,
} from '../feature.ts'

const meets = (revision: string) =>
  ours(
    `packages/sdk/test/transports/everywhere.test.ts > a client and a server connect at %s`,
    `packages/sdk/test/serve/duplex.test.ts > ${revision}`,
  )

export const protocol: Group = {
  title: 'The protocol itself',
  features: [
    {
      title: 'speaks 2024-11-05',
      until: '2024-11-05',
      ours: meets('2024-11-05'),
      peers: all(yes(probed('speaks 2024-11-05')), { lite: no(probed('speaks 2024-11-05')) }),
    },
    {
      title: 'speaks 2025-03-26',
      since: '2025-03-26',
      until: '2025-03-26',
      ours: meets('2025-03-26'),
      peers: all(yes(probed('speaks 2025-03-26'))),
    },
    {
      title: 'speaks 2025-06-18',
      since: '2025-06-18',
      until: '2025-06-18',
      ours: meets('2025-06-18'),
      peers: all(yes(probed('speaks 2025-06-18'))),
    },
    {
      title: 'speaks 2025-11-25',
      since: '2025-11-25',
      until: '2025-11-25',
      ours: meets('2025-11-25'),
      peers: all(yes(probed('speaks 2025-11-25')), { lite: no(probed('speaks 2025-11-25')) }),
    },
    {
      title: 'speaks 2026-07-28',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/serve/http-modern.test.ts > get one JSON text with a length, without a session',
      ),
      peers: all(no(probed('serves 2026-07-28')), {
        v2: yes(probed('serves 2026-07-28'), 'its client, if enabled'),
      }),
    },
    {
      title: 'members and content that a revision does not have are left out',
      ours: ours(
        'packages/sdk/test/protocol/revisions.test.ts > %s lists a tool with its members',
        'packages/sdk/test/protocol/revisions.test.ts > describe content that a revision does not support as text',
      ),
      peers: all(no(probed('leaves out what the oldest revision it speaks does not know'))),
    },
    {
      title: 'version negotiation by the client',
      ours: ours(
        'packages/sdk/test/client/hello.test.ts > of the stateless era is detected by its response to server/discover',
        'packages/sdk/test/client/hello.test.ts > that does not respond to server/discover is legacy after the probe time, in the same process',
      ),
      peers: clients(
        part(
          'if enabled',
          source("`mode: 'auto'` — `connect()` probes the server with `server/discover` first"),
        ),
        part('among revisions with sessions', lacks('server/discover')),
      ),
    },
    {
      title: 'one server value serves all connections and revisions at once',
      ours: ours(
        'packages/sdk/test/client/apart.test.ts > returns the same lists in the same order to every client',
        'packages/sdk/test/serve/http-modern.test.ts > are separate from sessions on the same endpoint',
      ),
      peers: {
        v2: no(source('type McpServerFactory'), 'a server for each request or connection'),
        v1: no(source('Already connected to a transport'), 'a server for each connection'),
        fastmcp: part('of one era', probed('serves 2026-07-28')),
        lite: part('of one era', probed('serves 2026-07-28')),
      },
    },
    inMatrix('names and versions of client and server', all(yes(ran('gets the identity of the server')))),
    inMatrix('ping', all(yes(ran('gets repeated pings answered')))),
    inMatrix('pagination', {
      v2: part('with a custom handler', source('nextCursor')),
      v1: part(
        'with a custom handler',
        ran('gets resources/list page by page, without gaps and repetitions'),
      ),
      fastmcp: no(lacks('nextCursor')),
      lite: no(lacks('nextCursor')),
    }),
    inMatrix(
      'progress',
      all(yes(ran('gets progress, in order')), {
        fastmcp: part('without messages', ran('gets progress, in order')),
      }),
    ),
    inMatrix('log messages at the requested level', {
      v2: yes(ran('receives log messages from warning upwards')),
      v1: yes(ran('receives log messages from warning upwards')),
      fastmcp: part('every level', ran('receives log messages from debug upwards')),
      lite: no(lacks('notifications/message')),
    }),
    inMatrix(
      'cancellation',
      all(yes(ran('gives a call up, and the tool is stopped')), {
        lite: no(lacks('AbortController|AbortSignal')),
      }),
    ),
    inMatrix(
      'time limits',
      clients(
        yes(ranAsClient('runs out of time, and the tool is stopped')),
        yes(ranAsClient('runs out of time, and the tool is stopped')),
      ),
    ),
    inMatrix('many calls at once', all(yes(ran('separates thirty concurrent calls')))),
    inMatrix('large and unusual text', all(yes(ran('sends and gets line ends of every kind unchanged')))),
    inMatrix('request metadata', all(yes(ran("sends a request's _meta")), { fastmcp: unknown })),
    inMatrix('unknown methods', all(yes(probed('answers -32601 to an unknown method')))),
    inMatrix('cached lists and reads', newest(yes(source('cacheScope')))),
    {
      title: 'a client caches results for their lifetime',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/client/eras.test.ts > lists and reads are cached as long as the server says, and refreshed or bypassed on request',
      ),
      peers: clients(yes(source('InMemoryResponseCacheStore')), no(lacks('cacheScope'))),
    },
    {
      title: 'arguments mirrored into headers',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/serve/http-headers.test.ts > of arguments match the body: %s',
        'packages/sdk/test/links/http-headers.test.ts > are sent as headers if present, and only then',
      ),
      peers: newest(yes(source('x-mcp-header'))),
    },
    {
      title: 'batches',
      since: '2025-03-26',
      until: '2025-03-26',
      ours: ours(
        'packages/sdk/test/serve/duplex-faults.test.ts > are served on 2025-03-26 and answered as one array',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > are answered as one array on 2025-03-26',
        'packages/sdk/test/client/lifecycle.test.ts > accepts a batch of responses on 2025-03-26',
      ),
      peers: all(yes(probed('answers a batch of 2025-03-26'))),
    },
    {
      title: 'batches are rejected on revisions without them',
      since: '2025-06-18',
      ours: ours('packages/sdk/test/serve/duplex-faults.test.ts > are rejected on %s'),
      peers: all(no(probed('refuses a batch of 2025-06-18')), {
        lite: yes(probed('refuses a batch of 2025-06-18')),
      }),
    },
    {
      title: 'all messages are validated against the official schema of their revision, in tests',
      ours: ours(
        'packages/sdk/test/schema/wire.test.ts > names the missing part of a request',
        'packages/sdk/test/schema/second-opinion.test.ts > cover every message of the core protocol',
      ),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    {
      title: 'a client typed by its server',
      ours: ours(
        'packages/sdk/test/client/types.test.ts > contain the tools, their arguments and their results',
      ),
      peers: {
        v2: no(source("callTool(params: CallToolRequest['params']"), 'any name, any arguments'),
        v1: no(source("callTool(params: CallToolRequest['params']"), 'any name, any arguments'),
        fastmcp: noClient,
        lite: noClient,
      },
    },
  ],
}
