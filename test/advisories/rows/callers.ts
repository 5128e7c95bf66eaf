import { type Class, read, reported } from '../advisory.ts'

const principals = 'packages/sdk/test/auth/principals.test.ts'
const legacy = 'packages/sdk/test/serve/http-legacy.test.ts'
const streams = 'packages/sdk/test/serve/http-legacy-streams.test.ts'

/** Who gets whose answers. */
export const callers: Class = {
  title: 'Sessions and callers',
  weaknesses: [
    {
      title: 'Session ids as credentials',
      advisories: [
        read(
          'official Python SDK before 1.27.2',
          'a session over HTTP served every caller with a valid token',
          'CVE-2026-52869',
          'GHSA-jpw9-pfvf-9f58',
        ),
        read(
          'official Ruby SDK before 0.23.0',
          'a POST with the session id of another caller had tools run',
          'CVE-2026-67431',
          'GHSA-5p9g-j988-pcwv',
        ),
        read(
          'official Ruby SDK before 0.9.2',
          'a second GET with the id of a session took its stream over',
          'CVE-2026-33946',
          'GHSA-qvqr-5cv7-wh35',
        ),
        reported(
          'oatpp-mcp',
          'the id of a session was the address of an object, and could be guessed',
          'CVE-2025-6515',
        ),
        read(
          'byterover-cli',
          'a message without a session id went to the only session there was',
          'byterover-cli, issue 329',
        ),
      ],
      here: 'A session belongs to the issuer, subject and client that started it; every request is authenticated, and for other callers the session does not exist. Its id is cryptographically random and not a credential.',
      proof: [
        'test/torture/sessions/principals.test.ts > State of one principal does not exist for another, on any node',
        'test/torture/sessions/flood.test.ts > Session ids are visible ASCII, all different, with uniformly distributed characters',
        `${principals} > cannot use, read, resume or end a session`,
        `${principals} > a session of HTTP+SSE belongs to the caller who opened its stream`,
        `${legacy} > belongs to its principal: for any other it does not exist`,
        `${legacy} > is returned by initialize: long, random, visible ASCII`,
        `${legacy} > is required for everything after: missing is 400, unknown is 404`,
        `${streams} > is one per session, and free again when it was closed`,
        'packages/sdk/test/auth/handles.test.ts > the id of a session gives no access',
      ],
    },
    {
      title: 'State shared between clients',
      advisories: [
        read(
          'official TypeScript SDK 1.10.0 to 1.25.3',
          'one transport or server used for many clients sent answers to whoever had the same request id',
          'CVE-2026-25536',
          'GHSA-345p-7cg4-v4c7',
        ),
        read(
          'GitHub MCP server 0.22 to 1.1.1',
          'a client of one user was kept for the whole process',
          'CVE-2026-48529',
          'GHSA-pjp5-fpmr-3349',
        ),
        reported(
          'Asana, June 2025',
          'the check of the tenant was lost on the way through MCP',
          'Asana incident',
        ),
      ],
      here: 'A server value has no connection. The caller is part of each exchange, comes from the transport and never from a message, and a response is sent on the connection of its request.',
      proof: [
        'test/torture/sessions/equal-ids.test.ts > Concurrent clients that use the same request ids each get their own responses',
        'packages/sdk/test/transports/socket.test.ts > serves many clients at once, each with its own session and ids',
        `${legacy} > at once are each answered with their own result`,
        'packages/host/test/gateway/front.test.ts > separates the connections and activity of its users',
        'packages/sdk/test/compose/separation.test.ts > many users are asked concurrently by a server with sessions, and each sees only their own question',
      ],
    },
    {
      title: 'Access to tasks of other callers',
      advisories: [
        read(
          'official Python SDK before 1.27.2',
          'any client could read and cancel any task',
          'CVE-2026-52870',
          'GHSA-hvrp-rf83-w775',
        ),
        read(
          'official TypeScript SDK',
          'tasks were kept without the session they belonged to',
          'modelcontextprotocol/typescript-sdk#1486',
        ),
      ],
      here: 'A task belongs to its principal; for other callers it does not exist, and tasks are not listed if callers cannot be distinguished.',
      proof: [
        'test/torture/sessions/principals.test.ts > State of one principal does not exist for another, on any node',
        'packages/sdk/test/extensions/tasks/access.test.ts > and does not exist for %s',
        'packages/sdk/test/extensions/tasks/access.test.ts > and is not listed without identified callers',
      ],
    },
    {
      title: 'Replay of events of other clients',
      advisories: [
        read(
          'official “everything” example server',
          'a resumed stream got all later events, not those of its own stream',
          'modelcontextprotocol/servers#4099',
        ),
      ],
      here: 'An event id identifies its stream; replay sends the rest of that stream, in that session, to its principal. An unknown, foreign, forged or expired id is refused.',
      proof: [
        'test/torture/sessions/resuming.test.ts > A stream that is cut at any byte resumes after the last whole event, with every event once',
        `${streams} > cannot be resumed from an event that is unknown, foreign, forged or deleted`,
        `${streams} > is never answered with events of another stream`,
        `${principals} > cannot take over a lost stream`,
      ],
    },
    {
      title: 'Unprotected routes beside protected ones',
      advisories: [
        read('obot', 'authorization was missing on one route to MCP servers', 'GHSA-vw82-7fv8-r6gp'),
        read('nginx-ui', 'one of two MCP routes was served without authentication', 'CVE-2026-33032'),
        read(
          'Google MCP Toolbox',
          'authentication could be gone around',
          'CVE-2026-11717',
          'CVE-2026-11718',
          'CVE-2026-11719',
        ),
      ],
      here: 'All transports of an endpoint share one handler, which authenticates before it routes or reads. Without a token only the resource metadata is served.',
      proof: [
        'packages/sdk/test/auth/handles.test.ts > only the metadata of the resource is served',
        `${'packages/sdk/test/serve/http-guard.test.ts'} > authenticates before it reads the body, and rejects on failure`,
        'packages/sdk/test/auth/scopes.test.ts > the HTTP+SSE transport checks scopes as well',
      ],
    },
  ],
}
