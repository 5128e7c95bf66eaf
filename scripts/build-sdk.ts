import { join } from 'node:path'
import type { CodeSplittingGroup } from 'rolldown'
import { bundle, entriesOf, type Written } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'sdk')

/** Sources that clients do not use. */
const handlers = '(?:backplane|input-responses|journal|live-run|replay|state)\\.ts$'

/** What serves sessions, below `transports/server/`: a server over HTTP loads it at the first request of a session. */
const sessions = 'duplex-connection|session|http/(?:resumable-|session|sse)'

// Fewer, larger files: what is loaded file by file costs more in opening them than in running them.
const groups = [
  group('base', `jsonrpc/(?!line-source)|protocol/|request/(?!${handlers})|json-schema/schema-index`),
  group('edges', `request/|transports/server/(?!line-|${sessions})|server/(?:subscriptions|visibility)`),
  group('session', 'transports/server/(?:duplex-connection|session)'),
  group('lines', 'jsonrpc/line-source|transports/(?:client|server)/line-'),
  group('server', 'server/|json-schema/(?!compile-schema\\.ts|linear-)'),
  group('schema', 'json-schema/'),
  // What imports modules of Node stays out of what runs in browsers.
  group('processes', 'transports/client/process-'),
  group('client', 'client/(?!lists)|transports/client/(?!memory|line-)'),
  group('tasks', 'extensions/tasks/'),
  group('skills', 'extensions/skills/'),
  group('shared', ''),
]

/** The sources at a path that at least two entries share. */
function group(name: string, path: string): CodeSplittingGroup {
  return { name, test: new RegExp(`/sdk/src/(?:${path})`), minShareCount: 2 }
}

/** Writes the SDK's JavaScript: one file for each entry of its package.json, and a few shared chunks. */
export function buildSdk(to?: string): Promise<Written[]> {
  return bundle({ folder, entries: entriesOf(folder), groups, chunks: 'chunks/' }, to)
}
