import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builtProgram } from '../setup/built-program.ts'

const run = promisify(execFile)

/** The workspace's root folder, with a slash at its end. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** Every way into the SDK, as its users write it: `@jackfield/sdk/http`. */
export function waysIn(): string[] {
  const { name, exports } = JSON.parse(readFileSync(`${root}packages/sdk/package.json`, 'utf8'))
  return Object.keys(exports)
    .filter((path) => path !== './package.json')
    .map((path) => path.replace(/^\./, name))
}

/**
 * The files of a package that a fresh process loads for some imports, in the order they are loaded.
 * @param after what the process does then, as JavaScript
 */
export async function filesLoaded(
  imports: readonly string[],
  folder: string,
  after: string = '',
): Promise<string[]> {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    for (const name of ${JSON.stringify(imports)}) await import(name)
    ${after}
    process.stdout.write(JSON.stringify(loaded), () => process.exit())`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
  const urls: string[] = JSON.parse(stdout)
  return urls.filter((url) => url.includes(folder))
}

/** What a command line printed, and what it loaded for it. */
export interface CommandRun {
  code: number
  stdout: string
  /** The files of this workspace's packages, each with its package first: `app/dist/main.js`. */
  own: string[]
  /** The names of packages of others. */
  others: string[]
}

/**
 * Runs the built `jackfield` command in a folder of its own.
 * @param files what lies in that folder: texts by name
 */
export async function commandRun(
  words: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<CommandRun> {
  const folder = mkdtempSync(join(tmpdir(), 'weight-'))
  const loadedFile = join(folder, 'loaded.json')
  const hook = `
    import { writeFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    process.on('exit', () => writeFileSync(${JSON.stringify(loadedFile)}, JSON.stringify(loaded)))`
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  try {
    const { code, stdout } = await new Promise<{ code: number; stdout: string }>((resolve) => {
      execFile(
        process.execPath,
        [...flags, builtProgram('jackfield'), ...words],
        { cwd: folder, env: { ...process.env, HOME: folder } },
        (error, stdout) => resolve({ code: Number(error?.code ?? 0), stdout }),
      )
    })
    const urls: string[] = JSON.parse(readFileSync(loadedFile, 'utf8'))
    const own = urls.flatMap((url) => /\/packages\/(\w+\/dist\/.*)$/.exec(url)?.[1] ?? [])
    return { code, stdout, own, others: packagesOf(urls) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The names of the packages that files lie in, each once. */
export function packagesOf(urls: readonly string[]): string[] {
  const names = urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [])
  return [...new Set(names)].sort()
}
