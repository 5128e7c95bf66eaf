import { type Class, read, reported } from '../advisory.ts'

const guard = 'packages/sdk/test/serve/http-guard.test.ts'
const modern = 'packages/sdk/test/serve/http-modern.test.ts'

/** Two readers of one message that see two messages. */
export const messages: Class = {
  title: 'Ambiguous messages',
  weaknesses: [
    {
      title: 'Lenient JSON parsers',
      advisories: [
        read(
          'official Go SDK before 1.3.1',
          'names of members matched whatever their case, so a gateway allowed one tool and another ran',
          'CVE-2026-27896',
          'GHSA-wvj2-96wp-fq3f',
        ),
        read(
          'official Go SDK before 1.4.1',
          'a NUL in a name of a member was ignored',
          'GHSA-q382-vc8q-7jhj',
          'GO-2026-4770',
        ),
        read('Envoy AI Gateway before 0.6.0', 'messages could be smuggled past it', 'GHSA-4gph-2hhr-5mwg'),
      ],
      here: 'All transports share one strict parser: member names are exact, duplicate members are refused at any depth, bytes must be UTF-8, and a body or line is one JSON text. A composed server or proxy serializes its own messages and never forwards received bytes.',
      proof: [
        'test/torture/parsers/corpus.test.ts > Other JSON parsers, before our server or behind our proxy, see the same tool called that runs',
        'packages/sdk/test/jsonrpc/repeated.test.ts > is rejected at any place, however it is escaped, and named',
        'packages/sdk/test/jsonrpc/framing.test.ts > delivers no line that is not UTF-8, and reports its position',
        `${guard} > %s as a body is a parse error`,
        'packages/sdk/test/links/http.test.ts > with an id of another type are not used',
        'packages/sdk/test/compose/names.test.ts > are unique for every tool',
      ],
    },
    {
      title: 'Headers that contradict the body',
      advisories: [
        read(
          'Kuadrant MCP gateway to 0.6.1',
          'a routing header that the client set itself went around authorization',
          'GHSA-g53w-w6mj-hrpp',
        ),
      ],
      here: 'Headers that mirror the body are decoded and compared with it, and a difference is refused with -32020. Only the body determines what runs.',
      proof: [
        'packages/sdk/test/serve/http-headers.test.ts > that differ from the body are rejected with 400 and -32020: %s',
        `${guard} > a name that two lines make up`,
      ],
    },
    {
      title: 'Names of prototype members',
      advisories: [
        reported(
          'official TypeScript packages 2.4.0, as measured',
          'a tool called “constructor” was found, and said to be disabled',
          'no identifier',
        ),
      ],
      here: 'Names from a peer are looked up in maps or as own members.',
      proof: [
        'test/torture/sessions/names.test.ts > A name of a prototype member is answered like any other unknown name',
        `${modern} > a tool named like a prototype member`,
        'packages/sdk/test/server/uri-template.test.ts > does not read members of the prototype',
      ],
    },
  ],
}

/** What makes a process slow, large or dead. */
export const exhaustion: Class = {
  title: 'Denial of service',
  weaknesses: [
    {
      title: 'Regular expressions with exponential time',
      advisories: [
        read(
          'official TypeScript SDK before 1.25.2',
          'URI templates became patterns with nested repetition; the fix left polynomial time',
          'CVE-2026-0621',
          'GHSA-8r9q-7v3j-jr4g',
        ),
        read('mcp-filesystem-server', 'a tool ran a pattern of the model', 'mcp-filesystem-server, issue 63'),
      ],
      here: 'URIs are matched in one pass, in time linear in the URI. Patterns from a peer run in an engine without backtracking, and the validation of a value has a limit on its steps.',
      proof: [
        'test/torture/limits/templates.test.ts > Matching a URI against a template takes time linear in the length of the URI',
        'test/torture/limits/schemas.test.ts > No schema or pattern of a peer blocks the process',
        'packages/sdk/test/server/uri-template.test.ts > %s takes time linear in the URI',
        'packages/sdk/test/validate/patterns.test.ts > patterns that hang a backtracking engine',
        'packages/sdk/test/validate/patterns.test.ts > takes time proportional to the text, for any pattern',
        'packages/sdk/test/validate/refusals.test.ts > a schema that doubles its work at every level is stopped in time',
        'packages/sdk/test/client/results.test.ts > with an adversarially slow pattern does not block',
      ],
    },
    {
      title: 'Requests that crash the process',
      advisories: [
        reported(
          'official Python SDK before 1.10.0',
          'a client that left early ended the server',
          'CVE-2025-53365',
          'GHSA-j975-95f5-7wqh',
        ),
        reported(
          'official Python SDK before 1.9.4',
          'a malformed request ended the server',
          'CVE-2025-53366',
          'GHSA-3qhf-m339-9g5v',
        ),
        read(
          'GitHub MCP server before 1.1.0',
          'completion without a member ended the server',
          'CVE-2026-47427',
        ),
      ],
      here: 'No input throws past the transport: an invalid message is answered or reported, and the next one is served.',
      proof: [
        'test/torture/parsers/fuzz.test.ts > Parsers: no crash, no input over 1 s',
        'packages/sdk/test/serve/duplex-faults.test.ts > never throws and never leaves a request unanswered, for any input',
        'packages/sdk/test/serve/http-node.test.ts > gets a response, and the server continues',
        `${guard} > %s as a body is an invalid request`,
        'packages/sdk/test/serve/http-node.test.ts > in the middle of its body leaves nothing behind',
      ],
    },
    {
      title: 'Unbounded bodies, lines and lists',
      advisories: [
        read('official Ruby SDK before 0.23.0', 'a line on stdio had no bound', 'CVE-2026-63119'),
        read(
          'official Ruby SDK before 0.23.0',
          'a body had no bound: 512 MB became 1.66 GB',
          'CVE-2026-67432',
        ),
        reported('mcp-framework before 0.2.22', 'a body had no bound', 'CVE-2026-39313'),
      ],
      here: 'Everything that a peer can make grow has a limit in one table, enabled by default on both sides, with its own error.',
      proof: [
        'test/torture/limits/bounds.test.ts > Input at a limit is accepted, and one more is refused with the error of that limit',
        'test/torture/limits/caps.test.ts > A client aborts a response at its limit, however it is compressed, and closes the connection',
        'test/torture/limits/slow.test.ts > Clients that read nothing cost little memory, are disconnected in time, and delay no other client',
        `${guard} > a body over the limit is rejected with 413, with or without a declared length`,
        'packages/sdk/test/serve/stdio.test.ts > answers invalid JSON, deep nesting or long lines without an id, and continues',
        'packages/sdk/test/links/stdio.test.ts > above the limit close the connection; those before are delivered',
        'packages/sdk/test/links/http.test.ts > that are endless are cut off (%s)',
        'packages/sdk/test/client-auth/reach.test.ts > is read up to 64 kB',
      ],
    },
    {
      title: 'Sessions that never end',
      advisories: [read('official Ruby SDK before 0.23.0', 'sessions never expired', 'CVE-2026-67430')],
      here: 'The number of sessions is limited per node and per principal, and idle sessions end; at the limit a new session replaces the least recently used idle one, never one in use.',
      proof: [
        'test/torture/sessions/flood.test.ts > Idle sessions are replaced by new ones, the least recently used first, and never one in use',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > replace the least recently used idle session by a new one',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > never end a session in use, and reject a new one instead',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > end after a while, unless a client is connected',
      ],
    },
  ],
}
