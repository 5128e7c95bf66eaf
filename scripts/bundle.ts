import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type ChunkingContext, type CodeSplittingGroup, type RolldownBuild, rolldown } from 'rolldown'

/** How the sources of a package are bundled. */
export interface Bundle {
  /** The package's folder, with its sources in `src`. */
  folder: string
  /** The files that others name: each by its path below the folder that is written to, without an ending, and its source. */
  entries: Readonly<Record<string, string>>
  /**
   * Sources that share a file, the most wanted first. A group takes along what they import, unless a group before it has
   * that already.
   */
  groups: readonly CodeSplittingGroup[]
  /** The folder of shared files, with a slash at its end; '' puts them beside the entries. */
  chunks: string
}

/** One written file of a package, with the files it loads as soon as it is imported. */
export interface Written {
  file: string
  imports: readonly string[]
}

/** The part of a package.json that names the entries. */
interface Exports {
  exports: Record<string, { default: string } | string>
}

/**
 * Writes a package's JavaScript: its entries, and a few files that they share. Files appear whole, and those of an
 * earlier build that nothing needs any more are removed an hour later, so a program that runs meanwhile keeps working.
 * @param to the folder to write to; `dist` of the package unless given
 */
export async function bundle(what: Bundle, to: string = join(what.folder, 'dist')): Promise<Written[]> {
  mkdirSync(to, { recursive: true })
  const draft = mkdtempSync(join(to, '.draft-'))
  const build = await rolldown({
    cwd: what.folder,
    input: { ...what.entries },
    external: (id) => !/^(\.|\/|src\/|[A-Za-z]:|@oxc-project\/runtime\/)/.test(id),
    platform: 'neutral',
    transform: { target: 'es2023' },
    treeshake: { moduleSideEffects: false },
    preserveEntrySignatures: 'strict',
    // A group may have a module in a file of its own although others import it statically.
    checks: { ineffectiveDynamicImport: false },
  })
  try {
    const written = await write(build, draft, what)
    move(draft, to, what)
    return written
  } finally {
    await build.close()
    rmSync(draft, { recursive: true, force: true })
  }
}

/** The entries of a package.json: `client/index` with the source `src/client/index.ts` for `./dist/client/index.js`. */
export function entriesOf(folder: string): Record<string, string> {
  const { exports }: Exports = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = Object.values(exports).flatMap((to) =>
    typeof to === 'string' ? [] : [to.default.replace(/^\.\/dist\//, '').replace(/\.js$/, '')],
  )
  return Object.fromEntries(files.map((file) => [file, `src/${file}.ts`]))
}

async function write(build: RolldownBuild, draft: string, { groups, chunks }: Bundle): Promise<Written[]> {
  const { output } = await build.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${chunks}[name]-[hash].js`,
    // One character beyond Latin 1 would have V8 keep the whole file in two bytes a character.
    charset: 'ascii',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // The draft lies one folder deeper than what becomes of it.
    sourcemapPathTransform: (source) => source.replace(/^\.\.\//, ''),
    // Not minified: Node prints the source line of an uncaught error, which in minified code is the whole file.
    minify: false,
    minifyInternalExports: false,
    comments: { legal: true, annotation: true, jsdoc: false },
    codeSplitting: { groups: groups.map((group, at) => ({ ...group, priority: groups.length - at })) },
  })
  return output.flatMap((one) => (one.type === 'chunk' ? [{ file: one.fileName, imports: one.imports }] : []))
}

/** Shared files first, so that no entry ever names one that is not there. */
function move(from: string, to: string, { entries }: Bundle): void {
  const files = globSync('**/*.{js,js.map}', { cwd: from })
  const isEntry = (file: string): boolean =>
    Object.hasOwn(entries, file.replaceAll('\\', '/').replace(/\.js(\.map)?$/, ''))
  for (const file of [...files.filter((file) => !isEntry(file)), ...files.filter(isEntry)]) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    renameSync(join(from, file), join(to, file))
  }
  const needed = new Set(files)
  for (const file of globSync('**/*.{js,js.map}', { cwd: to })) {
    if (!needed.has(file) && !file.startsWith('.draft-')) retire(join(to, file))
  }
}

/** Removes a file an hour after a build left it out: programs that run load some of theirs late. */
function retire(file: string): void {
  const { mtimeMs, ctimeMs } = statSync(file)
  if (mtimeMs !== 0) utimesSync(file, 0, 0)
  else if (Date.now() - ctimeMs > 3_600_000) rmSync(file, { force: true })
}

/** A source with everything that it imports statically, directly or indirectly. */
export function importedBy(source: string, context: ChunkingContext): Set<string> {
  const found = new Set([source])
  for (const one of found) for (const next of context.getModuleInfo(one)?.importedIds ?? []) found.add(next)
  return found
}
