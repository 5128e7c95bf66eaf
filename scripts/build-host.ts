import { join } from 'node:path'
import { bundle, type Written, waysInto } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'host')

/** Programs that the host starts by their path, beside the file that starts them. */
const programs = {
  'program-process': 'src/models/code/program-process.ts',
  forward: 'src/servers/sandbox/forward.ts',
}

/** Writes the host's JavaScript: one file to import, the programs it starts, and what is loaded only when it is needed. */
export function buildHost(to?: string): Promise<Written[]> {
  const groups = [{ name: 'shared', test: /\/host\/src\//, minShareCount: 2 }]
  return bundle({ folder, entries: { ...waysInto(folder), ...programs }, groups, chunks: '' }, to)
}
