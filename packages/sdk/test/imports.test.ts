import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const sources = join(root, 'packages/sdk/src/')

/** The files of tests that import sources of the SDK by path, by the reason why its entries do not suffice. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'They state what a parser or an encoding does with any text, which no message shows completely.': [
    'packages/sdk/test/auth/challenge.test.ts',
    'packages/sdk/test/auth/dpop.test.ts',
    'packages/sdk/test/jsonrpc/framing.test.ts',
    'packages/sdk/test/jsonrpc/line-source.test.ts',
    'packages/sdk/test/jsonrpc/repeated.test.ts',
    'packages/sdk/test/jsonrpc/reread.test.ts',
    'packages/sdk/test/protocol/header-annotations.test.ts',
    'packages/sdk/test/protocol/headers.test.ts',
    'packages/sdk/test/validate/dialects.test.ts',
    'test/torture/limits/framing-program.ts',
    'test/torture/parsers/*.ts',
  ],
  'They compare the table of methods or of revisions with the specification, or go through all its rows.': [
    'packages/sdk/test/matrix/rule.ts',
    'packages/sdk/test/protocol/revisions.test.ts',
    'packages/sdk/test/server/listen.test.ts',
    'packages/sdk/test/server/notices.test.ts',
    'packages/sdk/test/server/resources.test.ts',
    'test/docs/names.test.ts',
  ],
  'They run a handler without a transport, to choose the order of its input requests, responses and notifications.':
    [
      'packages/sdk/test/compose/separation.test.ts',
      'packages/sdk/test/core/*.ts',
      'packages/sdk/test/server/question-rules.test.ts',
      'packages/sdk/test/server/support.ts',
      'packages/sdk/test/serve/duplex-changes.test.ts',
      'packages/sdk/test/serve/stdio-program.ts',
      'packages/sdk/test/serve/support.ts',
    ],
  'They give a connection single messages, in one turn of the event loop or in a chosen order.': [
    'packages/sdk/test/extensions/tasks/{access,experimental}.test.ts',
    'packages/sdk/test/extensions/tasks/support.ts',
    'packages/sdk/test/serve/duplex-support.ts',
    'packages/sdk/test/serve/{duplex,envelope,memory,one-turn,questions}.test.ts',
    'packages/sdk/test/server/mistakes.test.ts',
    'test/torture/order/*.ts',
    'test/torture/sessions/in-flight.test.ts',
  ],
  'A scripted peer reads lines, events or headers with the readers of the SDK.': [
    'packages/sdk/test/links/http-polling.test.ts',
    'packages/sdk/test/serve/{http-headers,http-modern}.test.ts',
    'packages/sdk/test/serve/http-support.ts',
    'packages/sdk/test/transports/{dial,scripted-target}.ts',
    'test/torture/sessions/cuts-program.ts',
    'test/torture/nodes/**/*.ts',
  ],
  'What they state depends on the platform, on memory or on a default that no message shows.': [
    'packages/sdk/test/compose/names.test.ts',
    'packages/sdk/test/jsonrpc/transient.test.ts',
    'packages/sdk/test/links/stdio.test.ts',
    'packages/sdk/test/serve/http-legacy-limits.test.ts',
    'packages/sdk/test/serve/limits.test.ts',
    'test/torture/recovery/reconnecting.test.ts',
  ],
  'They observe every message, connection and task of all tests.': [
    'test/setup/{received-messages,remote-messages,schema-validation,sent-messages,task-engines}.ts',
    'test/setup/wire.test.ts',
  ],
}

function importsSources(file: string): boolean {
  const paths = readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)
  return Array.from(paths, ([, path = '']) => resolve(root, dirname(file), path)).some((path) =>
    path.startsWith(sources),
  )
}

test('tests import the entries of the SDK, and its sources only for a listed reason', () => {
  const importers = globSync(['packages/sdk/test/**/*.ts', 'test/**/*.ts'], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter(importsSources)
  const listed = new Set(Object.values(allowed).flatMap((patterns) => globSync([...patterns], { cwd: root })))
  expect(importers.filter((file) => !listed.has(file))).toEqual([])
})

test('each listed file exists and still imports sources', () => {
  const patterns = Object.values(allowed).flat()
  expect(patterns.filter((pattern) => !globSync(pattern, { cwd: root }).some(importsSources))).toEqual([])
})
