import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { run } from '../scripts/run.ts'
import { writePages } from './pages.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const timeoutMs = 300_000

const { values } = parseArgs({ options: { 'skip-reference': { type: 'boolean' } } })
const site = (process.env['SITE_URL'] ?? 'https://jackfield.github.io/jackfield/').replace(/\/?$/, '/')

if (!existsSync(join(folder, 'node_modules/vitepress'))) {
  await runOrThrow(['npm', 'ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'])
}
if (values['skip-reference'] !== true) await runOrThrow(['npm', 'run', '--silent', 'reference'])
const pages = writePages(join(folder, 'pages'), site)
const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js')
await runOrThrow(['node', vitepress, 'build', folder], { SITE_URL: site })
console.log(
  `${pages.length} pages for ${site} are in site/dist. To view them: npx --prefix site vitepress preview site`,
)

async function runOrThrow(command: string[], env: Record<string, string> = {}): Promise<void> {
  const { code, output } = await run(command, { limitMs: timeoutMs, env })
  if (code === 0) return
  console.error(output)
  throw new Error(`${command.join(' ')} failed with exit code ${code}`)
}
