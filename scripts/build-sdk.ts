import { join } from 'node:path'
import type { CodeSplittingGroup } from 'rolldown'
import { bundle, type Written, waysInto } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'sdk')

/** What is loaded only when it is needed. */
const questions =
  'request/(?:live-run|replay|sealed-replay|state|input-responses|asking|secret-fields|json-value)'
const sessions = 'transports/server/(?:session|session-room|session-requester|batch)'
const revisions = 'protocol/revisions'
const sessionHttp =
  'transports/server/http/(?:session-requests|sessionless|sessions|resumable-stream|post-response)'
const lines = 'connection|late-session|line-|calls|socket|stdio'
const apart = `(?!(?:${[questions, revisions, sessions, sessionHttp].join('|')})\\.ts$)`

// Fewer, larger files: what is loaded file by file costs more in opening them than in running them. `base` is all that
// `@jackfield/sdk/http` needs at once, `server` what a server of any transport, or one on stdin and stdout, needs besides.
const groups = [
  group(
    'base',
    `${apart}(?:jsonrpc/(?!line-source)|protocol/(?!shapes)|request|json-schema/places|transports/server/(?!http/sse\\.ts|${lines}))`,
  ),
  group('lines', 'jsonrpc/line-source'),
  group('shapes', 'protocol/shapes'),
  group('server', `${apart}(?:server/|json-schema/(?!schema\\.ts|linear-)|transports/server/(?:${lines}))`),
  group('schema', 'json-schema/'),
  group('questions', `(?:${questions})\\.ts$`),
  group('revisions', `(?:${revisions})\\.ts$`),
  group('sessions', `(?:${sessions})\\.ts$`),
  group('session-http', `(?:${sessionHttp})\\.ts$`),
  // What imports modules of Node stays out of what runs in browsers.
  group('processes', 'transports/client/(?:inherited-|process-)'),
  group('client', '(?:client/(?!lists)|transports/client/(?!memory))'),
  group('tasks', 'extensions/tasks/'),
  group('skills', 'extensions/skills/'),
  group('shared', '(?!transports/client/memory)'),
]

/** What at least two ways in share of the sources at a path. */
function group(name: string, path: string): CodeSplittingGroup {
  return { name, test: new RegExp(`/sdk/src/(?:${path})`), minShareCount: 2 }
}

/** Writes the SDK's JavaScript: one file for each way in of its package.json, and a few that they share. */
export function buildSdk(to?: string): Promise<Written[]> {
  return bundle({ folder, entries: waysInto(folder), groups, chunks: 'chunks/' }, to)
}
