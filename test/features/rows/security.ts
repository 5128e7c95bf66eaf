import {
  all,
  clients,
  type Group,
  lacks,
  newest,
  no,
  ours,
  part,
  probed,
  source,
  unknown,
  yes,
} from '../feature.ts'

const guarded = 'packages/sdk/test/serve/http-guard.test.ts'

export const security: Group = {
  title: 'Safe by default',
  features: [
    {
      title: 'a foreign Host is refused (DNS rebinding)',
      ours: ours(`${guarded} > rejects Host %j for every method and path`),
      peers: {
        v2: no(probed('refuses a foreign Host'), 'with its framework apps, or `hostHeaderValidation`'),
        v1: no(probed('refuses a foreign Host'), 'with `createMcpExpressApp`, or `allowedHosts`'),
        fastmcp: no(probed('refuses a foreign Host')),
        lite: no(probed('refuses a foreign Host'), 'with `allowedHosts`'),
      },
    },
    {
      title: 'a foreign Origin is refused',
      ours: ours(`${guarded} > rejects Origin %j for every method and path`),
      peers: {
        v2: no(probed('refuses a foreign Origin'), 'with its framework apps, or `originValidation`'),
        v1: no(probed('refuses a foreign Origin'), 'with `allowedOrigins`'),
        fastmcp: no(probed('refuses a foreign Origin')),
        lite: no(probed('refuses a foreign Origin'), 'with `allowedOrigins`'),
      },
    },
    {
      title: 'a body of 8 MiB is refused',
      ours: ours(
        `${guarded} > a body over the limit is rejected with 413, with or without a declared length`,
      ),
      peers: all(yes(probed('refuses a body of 8 MiB')), { lite: no(probed('refuses a body of 8 MiB')) }),
    },
    {
      title: 'errors of handlers are not sent to the client',
      ours: ours('packages/sdk/test/server/tools.test.ts > %s: the reason is not sent'),
      peers: all(no(probed('does not show what a handler threw'))),
    },
    {
      title: 'an unknown revision is refused',
      ours: ours('packages/sdk/test/serve/http-legacy.test.ts > %j gets %i'),
      peers: all(yes(probed('rejects an unpublished revision'))),
    },
    {
      title: 'headers must match the body',
      since: '2026-07-28',
      ours: ours(
        'packages/sdk/test/serve/http-headers.test.ts > that differ from the body are rejected with 400 and -32020: %s',
      ),
      peers: newest(yes(source('HEADER_MISMATCH'))),
    },
    {
      title: 'a session belongs to the caller that started it',
      since: '2025-03-26',
      until: '2025-11-25',
      ours: ours(
        'packages/sdk/test/serve/http-legacy.test.ts > belongs to its principal: for any other it does not exist',
      ),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    {
      title: 'sessions, streams, events and requests in flight are bounded',
      ours: ours(
        'packages/sdk/test/serve/http-legacy-limits.test.ts > replace the least recently used idle session by a new one',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > bound the running requests',
      ),
      peers: {
        v2: part('subscriptions', source('maxSubscriptions')),
        v1: unknown,
        fastmcp: unknown,
        lite: unknown,
      },
    },
    {
      title: 'a client that does not read is disconnected, and its queue is bounded',
      ours: ours(
        'packages/sdk/test/serve/http-node.test.ts > is not buffered for 200 MB, and gets the response when it reads again',
      ),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    {
      title: 'schemas and patterns of a peer are evaluated in bounded time',
      ours: ours(
        'packages/sdk/test/validate/patterns.test.ts > patterns that hang a backtracking engine',
        'packages/sdk/test/client/results.test.ts > with an adversarially slow pattern does not block',
      ),
      peers: clients(unknown, unknown),
    },
    {
      title: 'template variables cannot leave a folder',
      ours: ours('packages/sdk/test/server/files.test.ts > %s names no file'),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    {
      title: 'responses to input requests that were not sent are ignored',
      since: '2026-07-28',
      ours: ours('packages/sdk/test/core/answers.test.ts > to unknown questions are not used'),
      peers: newest(unknown),
    },
    {
      title: 'credentials do not follow a redirect to another origin',
      ours: ours('packages/sdk/test/client-auth/hook.test.ts > do not follow a redirect to another origin'),
      peers: clients(unknown, unknown),
    },
    {
      title: 'URLs from a server cannot make a client request private addresses (SSRF)',
      ours: ours(
        'packages/sdk/test/client-auth/reach.test.ts > a server on the Internet cannot make the client request',
      ),
      peers: clients(no(lacks('169\\.254|isPrivate')), no(lacks('169\\.254|isPrivate'))),
    },
  ],
}
