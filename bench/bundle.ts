import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Kilobytes of a program and everything it imports, minified. */
export interface Size {
  /** Code loaded on import. */
  first: number
  firstGzip: number
  /** All code, including what is loaded on first use. */
  allGzip: number
}

/** The size of a program, bundled for Node with everything it imports. */
export async function sizeOf(source: string, folder: string): Promise<Size> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: folder, sourcefile: 'entry.js' },
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'es2023',
    outdir: folder,
    absWorkingDir: folder,
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const bytes = new Map(
    outputFiles.map(({ path, contents }) => [path.replaceAll('\\', '/').split('/').at(-1), contents]),
  )
  const first = new Set<string>()
  const follow = (file: string): void => {
    if (first.has(file)) return
    first.add(file)
    for (const { path, kind, external } of metafile.outputs[file]?.imports ?? []) {
      if (kind === 'import-statement' && external !== true) follow(path)
    }
  }
  for (const [file, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === 'entry.js' || file === 'stdin.js') follow(file)
  }
  const sum = (files: Iterable<string>, measure: (content: Uint8Array) => number): number =>
    [...files].reduce((total, file) => total + measure(bytes.get(file) ?? new Uint8Array()), 0) / 1000
  const gzipped = (content: Uint8Array): number => gzipSync(content).length
  return {
    first: sum(first, (content) => content.length),
    firstGzip: sum(first, gzipped),
    allGzip: sum(Object.keys(metafile.outputs), gzipped),
  }
}

/** The Node modules that a bundle of `entry` for web runtimes imports statically. */
export async function nodeModulesOf(entry: string, folder: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: `export * from ${JSON.stringify(entry)}`, resolveDir: folder, sourcefile: 'entry.js' },
    bundle: true,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['node:*', '@opentelemetry/api'],
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
  return imports
    .filter(({ kind, path }) => kind === 'import-statement' && path.startsWith('node:'))
    .map(({ path }) => path)
}
