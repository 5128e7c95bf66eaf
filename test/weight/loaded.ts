import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

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
