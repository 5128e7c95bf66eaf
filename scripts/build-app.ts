import { join } from 'node:path'
import type { ChunkingContext } from 'rolldown'
import { bundle, type Written } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'app')
const main = join(folder, 'src', 'main.ts')

/** Writes the command's JavaScript: what starts it, what commands share, and a file for each kind of command. */
export function buildApp(to?: string): Promise<Written[]> {
  let first: ReadonlySet<string> | undefined
  const isFirst = (source: string, context: ChunkingContext): boolean => {
    first ??= importedBy(main, context)
    return first.has(source)
  }
  // What the commands share is apart from what starts them: it needs the host, which help and mistakes do without.
  const groups = [
    {
      debugName: 'first',
      name: (source: string, context: ChunkingContext) => (isFirst(source, context) ? 'first' : null),
      minShareCount: 2,
    },
    { name: 'shared', test: /\/app\/src\//, minShareCount: 2 },
  ]
  return bundle({ folder, entries: { main: 'src/main.ts' }, groups, chunks: '' }, to)
}

/** A source with all that it imports at once, and what those import. */
function importedBy(source: string, context: ChunkingContext): Set<string> {
  const found = new Set([source])
  for (const one of found) for (const next of context.getModuleInfo(one)?.importedIds ?? []) found.add(next)
  return found
}
