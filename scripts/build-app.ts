import { join } from 'node:path'
import type { ChunkingContext } from 'rolldown'
import { bundle, importedBy, type Written } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'app')
const main = join(folder, 'src', 'main.ts')

/** Writes the JavaScript of the command line: the entry, shared chunks, and a file for each kind of command. */
export function buildApp(to?: string): Promise<Written[]> {
  const light = ['commands/list.ts', 'commands/call.ts', 'daemon/attach.ts'].map((source) =>
    join(folder, 'src', source),
  )
  let first: ReadonlySet<string> | undefined
  let forClients: ReadonlySet<string> | undefined
  const isFirst = (source: string, context: ChunkingContext): boolean => {
    first ??= importedBy(main, context)
    return first.has(source)
  }
  const isForClients = (source: string, context: ChunkingContext): boolean => {
    forClients ??= new Set(light.flatMap((one) => [...importedBy(one, context)]))
    return forClients.has(source) && /\/app\/src\//.test(source)
  }
  // What the commands share is apart from what starts them, and what needs the host is apart from both: help and mistakes need
  // neither, and a command that uses the host process needs its client alone.
  const groups = [
    {
      debugName: 'first',
      name: (source: string, context: ChunkingContext) => (isFirst(source, context) ? 'first' : null),
      minShareCount: 2,
    },
    {
      debugName: 'client',
      name: (source: string, context: ChunkingContext) => (isForClients(source, context) ? 'client' : null),
      minShareCount: 2,
    },
    { name: 'shared', test: /\/app\/src\//, minShareCount: 2 },
  ]
  return bundle({ folder, entries: { main: 'src/main.ts' }, groups, chunks: '' }, to)
}
