import { join } from 'node:path'
import type { ChunkingContext } from 'rolldown'
import { bundle, entriesOf, importedBy, type Written } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'host')

/** Programs and threads that the host starts by their path, beside the file that starts them. */
const programs = {
  'program-process': 'src/models/code/program-process.ts',
  'query-thread': 'src/log/trace/query-thread.ts',
  forward: 'src/servers/sandbox/forward.ts',
}

/** Writes the host's JavaScript: one file to import, the programs it starts, and what is loaded only when it is needed. */
export function buildHost(to?: string): Promise<Written[]> {
  // A command that uses the host of another process loads the client and the configuration alone.
  const light = ['src/service/client-entry.ts', 'src/config-entry.ts'].map((source) => join(folder, source))
  let found: ReadonlySet<string> | undefined
  const isLight = (source: string, context: ChunkingContext): boolean => {
    found ??= new Set(light.flatMap((one) => [...importedBy(one, context)]))
    return found.has(source)
  }
  const groups = [
    {
      debugName: 'light',
      name: (source: string, context: ChunkingContext) => (isLight(source, context) ? 'light' : null),
      minShareCount: 2,
    },
    { name: 'shared', test: /\/host\/src\//, minShareCount: 2 },
  ]
  return bundle({ folder, entries: { ...entriesOf(folder), ...programs }, groups, chunks: '' }, to)
}
