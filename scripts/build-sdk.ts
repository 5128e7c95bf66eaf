import { join } from 'node:path'
import type { CodeSplittingGroup } from 'rolldown'
import { bundle, type Written, waysInto } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'sdk')

/** What is loaded only when it is needed: see `core/later.ts`. */
const asking =
  'core/(?:live|replay|sealed-replay|seal|state|journal|questions|asking|secret-fields|json-value)'
const sessions = 'serve/(?:session|session-room|asker|batch|initialize)'
const revisions = 'protocol/(?:session-revision|revisions|fields)'
const legacy = 'serve/http/(?:legacy|sessionless|http-session|sessions|resumable|event-log|post-stream)'
const lines = 'duplex|late-session|line-|calls|cancel'
const apart = `(?!(?:${[asking, revisions, sessions, legacy].join('|')})\\.ts$)`

// Fewer, larger files: what is loaded file by file costs more in opening them than in running them. `base` is all that
// `@jackfield/sdk/http` needs at once, `server` what a server of any transport, or one on stdin and stdout, needs besides.
const groups = [
  group(
    'base',
    `${apart}(?:jsonrpc/(?!line-source)|protocol/(?!shapes)|core|validate/dialects|server/described|serve/(?!http/sse\\.ts|${lines}))`,
  ),
  group('lines', 'jsonrpc/line-source'),
  group('shapes', 'protocol/shapes'),
  group('server', `${apart}(?:server/|validate/(?!schema\\.ts|linear-|regex-parts)|serve/(?:${lines}))`),
  group('schema', 'validate/'),
  group('asking', `(?:${asking})\\.ts$`),
  group('revisions', `(?:${revisions})\\.ts$`),
  group('sessions', `(?:${sessions})\\.ts$`),
  group('legacy', `(?:${legacy})\\.ts$`),
  // What imports modules of Node stays out of what runs in browsers.
  group('processes', 'links/(?:inherited-|process-)'),
  group('client', '(?:client/(?!engine|lists)|links/(?!memory))'),
  group('tasks', 'extensions/tasks/'),
  group('skills', 'extensions/skills/'),
  group('shared', '(?!links/memory)'),
]

/** What at least two ways in share of the sources at a path. */
function group(name: string, path: string): CodeSplittingGroup {
  return { name, test: new RegExp(`/sdk/src/(?:${path})`), minShareCount: 2 }
}

/** Writes the SDK's JavaScript: one file for each way in of its package.json, and a few that they share. */
export function buildSdk(to?: string): Promise<Written[]> {
  return bundle({ folder, entries: waysInto(folder), groups, chunks: 'chunks/' }, to)
}
