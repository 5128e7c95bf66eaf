import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { builtProgram } from './built-program.ts'

const require = createRequire(import.meta.url)

/** Bytes from which loading compiled code takes less CPU than compiling: below, the cache costs more than it saves. */
const cachedBytes = 200_000

/** Milliseconds after which a program is built although another worker began to. */
const builtWithinMs = 30_000

/**
 * A program of the tests with everything it imports as one file, which starts in a third of the time, and its compiled
 * code beside it if it is large. Each run of the tests builds it once, into its own folder.
 */
export function programFile(source: URL): string {
  const path = fileURLToPath(source)
  const folder = folderOf(path)
  const built = join(folder, `${basename(path, '.ts')}.mjs`)
  buildOnce(built, () => {
    const bundled = join(folder, 'bundle', 'program.mjs')
    mkdirSync(dirname(bundled), { recursive: true })
    bundle(path, bundled)
    if (statSync(bundled).size < cachedBytes) renameSync(bundled, built)
    else writeCached(built)
  })
  return built
}

/**
 * The arguments that start a program of the tests with its modules already evaluated, in two thirds of the CPU time of
 * `programFile`. The program does its work in the main function that it gives to `startupSnapshot`.
 */
export function snapshotArguments(source: URL): string[] {
  const path = fileURLToPath(source)
  const folder = folderOf(path)
  const bundled = join(folder, `${basename(path, '.ts')}.cjs`)
  const snapshot = join(folder, `${basename(path, '.ts')}.blob`)
  buildOnce(snapshot, () => {
    bundle(path, bundled, 'cjs')
    const unfinished = `${snapshot}.${process.pid}`
    execFileSync(process.execPath, ['--snapshot-blob', unfinished, '--build-snapshot', bundled])
    renameSync(unfinished, snapshot)
  })
  return ['--snapshot-blob', snapshot, bundled]
}

/**
 * A program of an installed package with everything it imports as one file, and its compiled code beside it: it starts in
 * 40 % of the CPU time. The folders have the names of the package, from which the host derives the name of a server.
 */
export function installedProgram(name: string, program = 'dist/index.js'): string {
  const source = dirname(require.resolve(`${name}/package.json`))
  const folder = join(tmpdir(), 'programs/node_modules', name, 'dist')
  const built = join(folder, 'index.mjs')
  buildOnce(built, () => {
    mkdirSync(join(folder, 'bundle'), { recursive: true })
    bundle(join(source, program), join(folder, 'bundle/program.mjs'))
    // server-everything reads its instructions and some resources there.
    const docs = join(source, 'dist/docs')
    if (existsSync(docs) && !existsSync(join(folder, 'docs'))) symlinkSync(docs, join(folder, 'docs'), 'dir')
    writeCached(built)
  })
  return built
}

/**
 * A program of this workspace as npm run build wrote it, with everything it imports as one file and its compiled code beside
 * it, which starts in half the CPU time. For programs that start no file of their own.
 */
export function bundledProgram(name: 'travel'): string {
  const folder = join(tmpdir(), 'programs', name, 'dist')
  const built = join(folder, 'main.mjs')
  buildOnce(built, () => {
    mkdirSync(join(folder, 'bundle'), { recursive: true })
    bundle(builtProgram(name), join(folder, 'bundle/program.mjs'))
    writeCached(built)
  })
  return built
}

function folderOf(path: string): string {
  return join(tmpdir(), 'programs', createHash('sha256').update(path).digest('hex').slice(0, 8))
}

/** Has a file built by one worker, which the others wait for. */
function buildOnce(built: string, build: () => void): void {
  const lock = `${built}.lock`
  const end = performance.now() + builtWithinMs
  mkdirSync(dirname(built), { recursive: true })
  for (let isMine = false; !isMine; ) {
    if (existsSync(built)) return
    isMine = locked(lock) || performance.now() > end
    if (!isMine) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
  try {
    if (!existsSync(built)) build()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Makes a folder as a lock. Returns whether it did not exist. */
function locked(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
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

function bundle(path: string, built: string, format: 'esm' | 'cjs' = 'esm'): void {
  const unfinished = `${built}.${process.pid}`
  buildSync({
    entryPoints: [path],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format,
    logLevel: 'error',
    ...(format === 'esm' && {
      banner: {
        js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
      },
    }),
  })
  renameSync(unfinished, built)
}
