import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../run.ts'

/** An entry of a package: its import specifier, and the source file that declares its exports. */
export interface Entry {
  readonly name: string
  readonly file: string
  /** The package's own folder. */
  readonly folder: string
}

interface Manifest {
  name: string
  exports: Record<string, string | { types?: string }>
}

/** The packages whose every public name is documented. */
const folders = [
  'packages/sdk',
  'packages/redis',
  'packages/postgres',
  'packages/ai-sdk',
  'packages/host',
  'packages/web',
]

/** The entries of every documented package, as its `exports` name them. */
export function entries(): Entry[] {
  return folders.flatMap((folder) => {
    const manifest: Manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    return Object.entries(manifest.exports).flatMap(([path, to]) => {
      if (typeof to === 'string' || to.types === undefined) return []
      const source = to.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts')
      const file = join(root, folder, source)
      return existsSync(file)
        ? [{ name: path.replace(/^\./, manifest.name), file, folder: join(root, folder) }]
        : []
    })
  })
}
