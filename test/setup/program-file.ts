import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/**
 * A program of the tests with everything it imports as one file, which starts in a third of the time. Each run of the
 * tests builds it once, into its own folder.
 */
export function programFile(source: URL): string {
  const path = fileURLToPath(source)
  const folder = join(tmpdir(), 'programs', createHash('sha256').update(path).digest('hex').slice(0, 8))
  const built = join(folder, `${basename(path, '.ts')}.mjs`)
  if (existsSync(built)) return built
  mkdirSync(folder, { recursive: true })
  // Workers may build the same program at the same time: the last rename wins, and a reader finds a whole file.
  const unfinished = `${built}.${process.pid}`
  buildSync({
    entryPoints: [path],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
    },
  })
  renameSync(unfinished, built)
  return built
}
