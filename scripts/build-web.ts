import { join } from 'node:path'
import { bundle, type Written } from './bundle.ts'
import { root } from './run.ts'

const folder = join(root, 'packages', 'web')

/** Writes the JavaScript of the web server. It has a folder of its own, beside that of the page. */
export function buildWeb(to: string = join(folder, 'dist', 'server')): Promise<Written[]> {
  return bundle({ folder, entries: { index: 'src/server/index.ts' }, groups: [], chunks: '' }, to)
}
