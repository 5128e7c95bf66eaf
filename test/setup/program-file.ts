import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const require = createRequire(import.meta.url)

/** Bytes from which loading compiled code takes less CPU than compiling: below, the cache costs more than it saves. */
const cachedBytes = 200_000

/**
 * A program of the tests with everything it imports as one file, which starts in a third of the time, and its compiled
 * code beside it if it is large. Each run of the tests builds it once, into its own folder.
 */
export function programFile(source: URL): string {
  const path = fileURLToPath(source)
  const folder = join(tmpdir(), 'programs', createHash('sha256').update(path).digest('hex').slice(0, 8))
  const built = join(folder, `${basename(path, '.ts')}.mjs`)
  if (existsSync(built)) return built
  const bundled = join(folder, 'bundle', 'program.mjs')
  mkdirSync(dirname(bundled), { recursive: true })
  bundle(path, bundled)
  if (statSync(bundled).size < cachedBytes) bundle(path, built)
  else writeCached(built)
  return built
}

/**
 * A program of an installed package with everything it imports as one file, and its compiled code beside it: it starts in
 * 40 % of the CPU time. The folders have the names of the package, from which the host derives the name of a server.
 */
export function installedProgram(name: string, program = 'dist/index.js'): string {
  const source = dirname(require.resolve(`${name}/package.json`))
  const folder = join(tmpdir(), 'programs/node_modules', name, 'dist')
  const built = join(folder, 'index.mjs')
  if (existsSync(built)) return built
  mkdirSync(join(folder, 'bundle'), { recursive: true })
  bundle(join(source, program), join(folder, 'bundle/program.mjs'))
  // server-everything reads its instructions and some resources there.
  const docs = join(source, 'dist/docs')
  if (existsSync(docs) && !existsSync(join(folder, 'docs'))) symlinkSync(docs, join(folder, 'docs'), 'dir')
  writeCached(built)
  return built
}

/** Writes a program that runs `bundle/program.mjs` beside it from compiled code. */
function writeCached(built: string): void {
  const unfinished = `${built}.${process.pid}`
  writeFileSync(
    unfinished,
    `import { enableCompileCache, flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
enableCompileCache(${JSON.stringify(join(tmpdir(), 'compiled'))})
// A program may compare its own file with the one that was started.
process.argv[1] = fileURLToPath(new URL('./bundle/program.mjs', import.meta.url))
await import('./bundle/program.mjs')
flushCompileCache()
`,
  )
  renameSync(unfinished, built)
}

function bundle(path: string, built: string): void {
  // Workers may build the same program at the same time: the last rename wins, and a reader finds a whole file.
  const unfinished = `${built}.${process.pid}`
  buildSync({
    entryPoints: [path],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
    },
  })
  renameSync(unfinished, built)
}
