import { type Class, read, reported } from '../advisory.ts'

const guard = 'packages/sdk/test/serve/http-guard.test.ts'

/** What a page in a browser could do to a server on the same machine. */
export const web: Class = {
  title: 'Web pages and local servers',
  weaknesses: [
    {
      title: 'Host and Origin unchecked',
      advisories: [
        read(
          'official TypeScript SDK before 1.24.0',
          'checks of Host and Origin were there and off by default',
          'CVE-2025-66414',
          'GHSA-w48q-cv73-mx4w',
        ),
        read(
          'official Python SDK before 1.23.0',
          'the same; its low-level part kept them off after the fix',
          'CVE-2025-66416',
          'GHSA-9h52-p55h-vw2f',
          'modelcontextprotocol/python-sdk#2269',
        ),
        read('official Go SDK before 1.4.0', 'the same', 'CVE-2026-34742', 'GHSA-xw59-hvm2-8pj6'),
        read('official Java SDK before 1.0.0', 'the same', 'CVE-2026-35568', 'GHSA-8jxr-pr72-r468'),
        read(
          'official Rust SDK (rmcp) before 1.4.0',
          'Host was not looked at',
          'CVE-2026-42559',
          'GHSA-89vp-x53w-74fx',
          'RUSTSEC-2026-0189',
        ),
        read(
          'official Ruby SDK before 0.23.0',
          'neither Host nor Origin was looked at',
          'CVE-2026-63118',
          'GHSA-rjr6-rcgv-9m7m',
        ),
        read(
          'official C# SDK',
          'reported as still open in April 2026',
          'modelcontextprotocol/csharp-sdk#1520',
        ),
        read('Docker MCP Gateway before 0.28', 'rebinding reaches every tool behind it', 'CVE-2025-64443'),
        read('safedep vet before 1.12.5', 'rebinding reads scan results', 'CVE-2025-59163'),
        read('coder agentapi before 0.4', 'rebinding reads conversations', 'CVE-2025-59956'),
        reported('Playwright MCP before 0.0.40', 'rebinding drives the browser', 'CVE-2025-9611'),
        reported(
          'Neo4j Cypher server before 0.4.0',
          'rebinding runs queries',
          'CVE-2025-10193',
          'GHSA-vcqx-v2mg-7chx',
        ),
      ],
      here: 'The handler checks Host and Origin against allow lists, separately, for every method and path, before it reads a body. By default the lists contain the names of the local machine; the options that disable a check have long names.',
      proof: [
        'test/torture/browsers/requests.test.ts > By default only the names and pages of the local machine reach a tool, however the server is mounted',
        'test/torture/browsers/pages.test.ts > No page of another site, with or without an origin, under its own or a rebound name, runs a tool',
        `${guard} > rejects Host %j for every method and path`,
        `${guard} > rejects Origin %j for every method and path`,
        `${guard} > checks Host and Origin separately`,
        `${guard} > two different Hosts`,
        'packages/sdk/test/auth/metadata.test.ts > the Host is checked as well',
        'packages/sdk/test/transports/sse-server.test.ts > rejects requests of other origins and hosts, at the stream and at the endpoint',
      ],
    },
    {
      title: 'Requests that browsers send without asking',
      advisories: [
        read(
          'official Go SDK before 1.4.1',
          'any page could have tools run by a POST of plain text, since neither Origin nor Content-Type counted',
          'CVE-2026-33252',
          'GHSA-89xv-2j6f-qhc8',
        ),
      ],
      here: 'Only a body whose parsed media type is JSON is accepted; anything else gets 415 and nothing runs.',
      proof: [
        'test/torture/browsers/pages.test.ts > No page of another site, with or without an origin, under its own or a rebound name, runs a tool',
        `${guard} > Content-Type %j gets %i`,
      ],
    },
    {
      title: 'CORS for every origin',
      advisories: [
        reported(
          'official Java SDK before 1.0.1 and 1.1.1',
          'its servlet transport sent Access-Control-Allow-Origin: * with every answer',
          'CVE-2026-34237',
        ),
        read(
          'Google MCP Toolbox before 1.2.0',
          'the older event-stream handler kept the wildcard when the newer one lost it',
          'CVE-2026-9739',
          'GHSA-7pf3-8xx7-rvhf',
        ),
        read('sliver', 'permissive CORS before a server without authentication', 'CVE-2026-34227'),
      ],
      here: 'CORS headers are sent only for listed origins, naming exactly the requesting one, and never with credentials. Only the protected resource metadata, which is public, can be read by any page.',
      proof: [
        'test/torture/browsers/requests.test.ts > By default only the names and pages of the local machine reach a tool, however the server is mounted',
        `${guard} > serves the configured origins, with CORS for exactly them`,
        `${guard} > answers a preflight of a listed origin, and no other`,
        'packages/sdk/test/auth/metadata.test.ts > the metadata names the issuers, for every client and origin',
      ],
    },
    {
      title: 'WebSockets from other sites',
      advisories: [
        read(
          'official Python SDK before 1.28.1',
          'its WebSocket transport took connections of any page',
          'CVE-2026-59950',
          'GHSA-vj7q-gjh5-988w',
        ),
      ],
      here: 'The SDK has no WebSocket transport and refuses upgrades. The web app accepts a WebSocket only with its exact Origin, a session cookie and a key that only its page has. A socket server closes a connection whose first line is not a message, such as the request line of a browser.',
      proof: [
        'test/torture/browsers/pages.test.ts > No page of another site, with or without an origin, under its own or a rebound name, runs a tool',
        'packages/sdk/test/transports/socket.test.ts > ignores a client whose first line is not JSON, such as a web browser',
      ],
    },
    {
      title: 'Programs that start programs, open to the network',
      advisories: [
        read(
          'MCP Inspector before 0.14.1',
          'a proxy that starts processes listened on all interfaces and asked for no credential',
          'CVE-2025-49596',
        ),
        reported(
          'MCPJam inspector',
          'listened on all interfaces, and so ran commands of anybody',
          'CVE-2026-23744',
        ),
      ],
      here: 'Servers listen on 127.0.0.1 by default, and the gateway over HTTP requires a token even for local clients. No network API accepts the definition of a process.',
      proof: [
        'test/torture/browsers/requests.test.ts > a server is not reached at other addresses of this machine',
        'packages/host/test/gateway/front.test.ts > rejects requests without a token of a user',
        'packages/app/test/gateway/gateway.test.ts > accepts only the users of a file over HTTP',
        'packages/sdk/test/transports/socket.test.ts > is on this machine, unless an explicit option allows others',
        'servers/travel/test/process.test.ts > serves HTTP on 127.0.0.1, prints its address, and ends on request',
      ],
    },
  ],
}
