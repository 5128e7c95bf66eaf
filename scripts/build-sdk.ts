import { globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type RolldownBuild, rolldown } from 'rolldown'
import { root } from './run.ts'

/** Where the SDK's ways in are named, as its package.json does. */
interface Ways {
  exports: Record<string, { default: string } | string>
}

/** One written file of the package, with the files it loads as soon as it is imported. */
export interface Written {
  file: string
  imports: readonly string[]
}

const sdk = join(root, 'packages', 'sdk')

// Fewer, larger files: what is loaded file by file costs more in opening them than in running them.
const groups = [
  { name: 'base', test: /\/sdk\/src\/(jsonrpc|protocol|core|validate)\// },
  { name: 'server', test: /\/sdk\/src\/server\// },
  { name: 'serve', test: /\/sdk\/src\/serve\/(?!line-)/ },
  // Apart, because web runtimes have no `node:process`.
  { name: 'lines', test: /\/sdk\/src\/serve\/line-/ },
  { name: 'client', test: /\/sdk\/src\/(client|links)\/(?!memory\.ts$)/ },
  { name: 'memory', test: /\/sdk\/src\/links\/memory\.ts$/ },
  { name: 'tasks', test: /\/sdk\/src\/extensions\/tasks\// },
  { name: 'skills', test: /\/sdk\/src\/extensions\/skills\// },
  { name: 'shared', test: /\/sdk\/src\// },
].map((group, at, all) => ({ ...group, minShareCount: 2, priority: all.length - at }))

/**
 * Writes the SDK's JavaScript: one file for each way in of its package.json, and a few that they share. Files appear
 * whole, and those of an earlier build that nothing needs any more go away, so a program that runs meanwhile keeps
 * working.
 * @param to the folder to write to; `dist` of the package unless given
 */
export async function buildSdk(to: string = join(sdk, 'dist')): Promise<Written[]> {
  mkdirSync(to, { recursive: true })
  const draft = mkdtempSync(join(to, '.draft-'))
  const build = await rolldown({
    cwd: sdk,
    input: Object.fromEntries(entries().map((entry) => [entry, `src/${entry}.ts`])),
    external: (id) => !/^(\.|\/|src\/|[A-Za-z]:)/.test(id),
    platform: 'neutral',
    transform: { target: 'es2023' },
    treeshake: { moduleSideEffects: false },
    preserveEntrySignatures: 'strict',
  })
  try {
    const written = await write(build, draft)
    move(draft, to)
    return written
  } finally {
    await build.close()
    rmSync(draft, { recursive: true, force: true })
  }
}

async function write(build: RolldownBuild, folder: string): Promise<Written[]> {
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // The draft lies one folder deeper than what becomes of it.
    sourcemapPathTransform: (source) => source.replace(/^\.\.\//, ''),
    // Names stay, because they are what a stack trace is read by.
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    codeSplitting: { groups },
  })
  return output.flatMap((one) => (one.type === 'chunk' ? [{ file: one.fileName, imports: one.imports }] : []))
}

/** The source of each way in, without its ending: `serve/http/index` for `./dist/serve/http/index.js`. */
function entries(): string[] {
  const { exports }: Ways = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
  return Object.values(exports).flatMap((to) =>
    typeof to === 'string' ? [] : [to.default.replace(/^\.\/dist\//, '').replace(/\.js$/, '')],
  )
}

/** Shared files first, so that no entry ever names one that is not there. */
function move(from: string, to: string): void {
  const files = globSync('**/*.{js,js.map}', { cwd: from })
  const isShared = (file: string): boolean => file.startsWith('chunks')
  for (const file of [...files.filter(isShared), ...files.filter((file) => !isShared(file))]) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    renameSync(join(from, file), join(to, file))
  }
  const kept = new Set(files)
  for (const file of globSync('**/*.{js,js.map}', { cwd: to })) {
    if (!kept.has(file) && !file.startsWith('.draft-')) rmSync(join(to, file), { force: true })
  }
}
