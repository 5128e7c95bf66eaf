import { type Class, read, reported } from '../advisory.ts'

const guard = 'packages/sdk/test/serve/http-guard.test.ts'
const modern = 'packages/sdk/test/serve/http-modern.test.ts'

/** Two readers of one message that see two messages. */
export const messages: Class = {
  title: 'Messages that read two ways',
  weaknesses: [
    {
      title: 'Readers that are lax with JSON',
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
      here: 'One strict reader for all transports: names of members are exact, a member that stands twice is refused at any depth, bytes have to be UTF-8, and one body or line is one text. A composed server or proxy sends messages of its own making, never the bytes it was given.',
      proof: [
        'test/torture/parsers/corpus.test.ts > No other reader of JSON, before our server or behind our proxy, sees another tool called than the one that runs',
        'packages/sdk/test/jsonrpc/repeated.test.ts > is refused wherever it stands, however it is escaped, and named',
        'packages/sdk/test/jsonrpc/framing.test.ts > delivers no line that is not UTF-8, and says so in its place',
        `${guard} > %s as a body is a parse error`,
        'packages/sdk/test/links/http.test.ts > with an id of another type are not taken for the answer',
        'packages/sdk/test/compose/names.test.ts > are never the same for two tools',
      ],
    },
    {
      title: 'Headers that say something else than the body',
      advisories: [
        read(
          'Kuadrant MCP gateway to 0.6.1',
          'a routing header that the client set itself went around authorization',
          'GHSA-g53w-w6mj-hrpp',
        ),
      ],
      here: 'Headers that mirror the body are compared with it after decoding, and a difference is refused with -32020. What a request means is taken from its body alone.',
      proof: [
        'packages/sdk/test/serve/http-headers.test.ts > that say something else than the body are refused with 400 and -32020: %s',
        `${guard} > a name that two lines make up`,
      ],
    },
    {
      title: 'Names of things that every object has',
      advisories: [
        reported(
          'official TypeScript packages 2.4.0, as measured',
          'a tool called “constructor” was found, and said to be disabled',
          'no identifier',
        ),
      ],
      here: 'What is looked up by a name of a peer stands in maps or is asked for as an own member.',
      proof: [
        'test/torture/sessions/names.test.ts > A name that every object of the language has is answered like any other unknown name',
        `${modern} > a tool named like a prototype member`,
        'packages/sdk/test/server/uri-template.test.ts > leaves members of the prototype alone',
      ],
    },
  ],
}

/** What makes a process slow, large or dead. */
export const exhaustion: Class = {
  title: 'Too much, too slow, too deep',
  weaknesses: [
    {
      title: 'Patterns that take for ever',
      advisories: [
        read(
          'official TypeScript SDK before 1.25.2',
          'URI templates became patterns with nested repetition; the fix left polynomial time',
          'CVE-2026-0621',
          'GHSA-8r9q-7v3j-jr4g',
        ),
        read('mcp-filesystem-server', 'a tool ran a pattern of the model', 'mcp-filesystem-server, issue 63'),
      ],
      here: 'URIs are matched in one pass, in time that grows with the URI alone. Patterns of a peer run in an engine without backtracking, and a check of a value has a bound on its steps.',
      proof: [
        'test/torture/limits/templates.test.ts > A long URI is held against a template in time that grows with its length alone',
        'test/torture/limits/schemas.test.ts > A schema or a pattern of a peer does not hold a process up',
        'packages/sdk/test/server/uri-template.test.ts > %s takes time that grows with the URI alone',
        'packages/sdk/test/validate/patterns.test.ts > patterns that hang a backtracking engine',
        'packages/sdk/test/validate/patterns.test.ts > does work in proportion to the text, whatever the pattern',
        'packages/sdk/test/validate/refusals.test.ts > a schema that doubles its work at every level is given up in time',
        'packages/sdk/test/client/results.test.ts > with a pattern made to be slow does not stop the world',
      ],
    },
    {
      title: 'Requests that take the process with them',
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
      here: 'Nothing that a peer sends throws past the edge: what is no message is answered or reported, and the next one is served.',
      proof: [
        'test/torture/parsers/fuzz.test.ts > No input crashes a parser',
        'packages/sdk/test/serve/duplex-faults.test.ts > never throws and never leaves a request unanswered, whatever comes',
        'packages/sdk/test/serve/http-node.test.ts > is answered, and the server goes on',
        `${guard} > %s as a body is an invalid request`,
        'packages/sdk/test/serve/http-node.test.ts > in the middle of its body leaves nothing behind',
      ],
    },
    {
      title: 'Bodies, lines and lists without end',
      advisories: [
        read('official Ruby SDK before 0.23.0', 'a line on stdio had no bound', 'CVE-2026-63119'),
        read(
          'official Ruby SDK before 0.23.0',
          'a body had no bound: 512 MB became 1.66 GB',
          'CVE-2026-67432',
        ),
        reported('mcp-framework before 0.2.22', 'a body had no bound', 'CVE-2026-39313'),
      ],
      here: 'Everything that a peer can make grow has a bound in one table, on for both sides, with an error of its own.',
      proof: [
        'test/torture/limits/bounds.test.ts > What is at a limit is taken, and one more is refused in the words of that limit',
        'test/torture/limits/caps.test.ts > A client cuts an answer off at its limit, however it is packed, and closes the connection',
        'test/torture/limits/slow.test.ts > Clients that read nothing cost little memory, are cut in time, and disturb nobody',
        `${guard} > a body over the limit is refused with 413, announced or not`,
        'packages/sdk/test/serve/stdio.test.ts > answers what is not JSON, nests too deep or is too long without an id, and goes on',
        'packages/sdk/test/links/stdio.test.ts > larger than the limit close the connection; those before are delivered',
        'packages/sdk/test/links/http.test.ts > without end are cut off (%s)',
        'packages/sdk/test/client-auth/reach.test.ts > is not read beyond 64 kB',
      ],
    },
    {
      title: 'Sessions that stay for ever',
      advisories: [read('official Ruby SDK before 0.23.0', 'sessions never expired', 'CVE-2026-67430')],
      here: 'Sessions are bounded on a node and for a principal and end when they are idle; a new one takes the place of the one used longest ago, never of one in use.',
      proof: [
        'test/torture/sessions/flood.test.ts > Sessions that nobody ends give way to new ones, longest unused first, and none that is used',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > make room for a new session by ending the idle one used longest ago',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > never end a session that is used, and refuse a new one instead',
        'packages/sdk/test/serve/http-legacy-limits.test.ts > end after a while, unless somebody is connected',
      ],
    },
  ],
}
