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

/** What is loaded only when it is needed: see `core/later.ts`. */
const asking = 'core/(?:live|replay|sealed-replay|seal|state|journal|questions|asking)'
const sessions = 'serve/(?:session|session-room|asker|batch)'
const revisions = 'protocol/(?:session-revision|revisions|fields)'
const legacy = 'serve/http/(?:legacy|http-session|sessions|resumable|event-log|post-stream)'
const apart = `(?!(?:${[asking, revisions, sessions, legacy].join('|')})\\.ts$)`

// Fewer, larger files: what is loaded file by file costs more in opening them than in running them. A group takes along
// what its files import, unless a group before it has that already.
const groups = [
  group('base', `${apart}(?:jsonrpc|protocol/(?!shapes)|core|validate/dialects|server/described)`),
  group('shapes', 'protocol/shapes'),
  group('validate', 'validate/'),
  group('server', `${apart}server/`),
  group('serve', `${apart}serve/(?!http/sse\\.ts|duplex|late-session|line-|calls|cancel)`),
  group('duplex', 'serve/(?:duplex|late-session|line-|calls|cancel)'),
  group('asking', `(?:${asking})\\.ts$`),
  group('revisions', `(?:${revisions})\\.ts$`),
  group('sessions', `(?:${sessions})\\.ts$`),
  group('legacy', `(?:${legacy})\\.ts$`),
  group('client', '(?:client/(?!engine)|links/(?!memory))'),
  group('tasks', 'extensions/tasks/'),
  group('skills', 'extensions/skills/'),
  group('shared', '(?!links/memory)'),
].map((group, at, all) => ({ ...group, priority: all.length - at }))

/** What at least two ways in share of the sources at a path. */
function group(name: string, path: string): { name: string; test: RegExp; minShareCount: number } {
  return { name, test: new RegExp(`/sdk/src/(?:${path})`), minShareCount: 2 }
}

/**
 * Writes the SDK's JavaScript: one file for each way in of its package.json, and a few that they share. Files appear
 * whole, and those of an earlier build that nothing needs any more go away an hour later, so a program that runs meanwhile
 * keeps working.
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
    // Names of functions and classes stay, because they are what a stack trace is read by.
    minify: {
      compress: true,
      mangle: { toplevel: false, keepNames: { function: true, class: true } },
      codegen: { removeWhitespace: true },
    },
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
    if (!kept.has(file) && !file.startsWith('.draft-')) retire(join(to, file))
  }
}

/** Removes a file an hour after a build left it out: programs that run load some of theirs late. */
function retire(file: string): void {
  const { mtimeMs, ctimeMs } = statSync(file)
  if (mtimeMs !== 0) utimesSync(file, 0, 0)
  else if (Date.now() - ctimeMs > 3_600_000) rmSync(file, { force: true })
}
