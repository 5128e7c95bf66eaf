import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, type Written } from './bundle.ts'
import { root, run } from './run.ts'

const folder = join(root, 'packages', 'web')
const limitMs = 120_000

/** What the page is made of; what it imports of other packages is among the sources of the host and the SDK. */
const inputs = [
  'packages/web/{index.html,package.json,vite.config.ts}',
  'packages/web/{src/app,locales}/**',
  'packages/host/src/{browser.ts,core/forms/*.ts,service/*.ts,shared/*.ts}',
  'packages/sdk/src/**/*.ts',
  'package-lock.json',
]

/** Writes the web server to `dist/server` and the page to `dist/app`. */
export async function buildWeb(): Promise<void> {
  await Promise.all([buildWebServer(), buildWebPage()])
}

/** Writes the JavaScript of the web server. It has a folder of its own, beside that of the page. */
export function buildWebServer(to: string = join(folder, 'dist', 'server')): Promise<Written[]> {
  return bundle({ folder, entries: { index: 'src/server/index.ts' }, groups: [], chunks: '' }, to)
}

/** Writes the page of the web app, unless nothing changed since. */
async function buildWebPage(): Promise<void> {
  const hash = createHash('sha256')
  for (const file of globSync(inputs, { cwd: root }).sort()) {
    const path = join(root, file)
    if (statSync(path).isFile()) hash.update(`${file}\0`).update(readFileSync(path))
  }
  const digest = hash.digest('hex')
  const stamp = join(folder, 'dist', '.app-inputs')
  if (read(stamp) === digest && read(join(folder, 'dist', 'app', 'index.html')) !== undefined) return
  const { code, output } = await run(['vite', 'build', folder], { limitMs })
  if (code !== 0) throw new Error(output)
  writeFileSync(stamp, digest)
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
