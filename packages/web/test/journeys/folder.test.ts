import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../../test/setup/built-program.ts'
import { until } from '../server/rig.ts'
import { missing, openBrowser } from './journey.ts'

const program = builtProgram('jackfield')
/** Leaves its arguments in a file, and then serves tools. */
const server = fileURLToPath(new URL('../fixtures/argv-server.ts', import.meta.url))

/** `jackfield web` in a folder, and its login link. */
async function webIn(folder: string, env: Record<string, string>): Promise<string> {
  const args = [program, 'web', '--no-open', '--json']
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url }: { url: string } = JSON.parse(String(line))
  return url
}

test.skipIf(missing !== undefined)(
  `a server that a file of the folder names is started by a click, with the command line that was shown${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-folder-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
    const marker = join(folder, 'argv.json')
    const args = [server, marker, '--name', 'a b', '--text=<i>"$HOME"</i>', '\u202egpj.exe']
    const config = { mcpServers: { here: { command: process.execPath, args } } }
    writeFileSync(join(folder, '.mcp.json'), JSON.stringify(config))
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: join(folder, 'data') }
    const url = await webIn(folder, env)
    const context = await (await openBrowser()).newContext({ viewport: { width: 1440, height: 900 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(url)
    const allow = page.locator('[data-act=allow][data-armed=true]')
    await allow.waitFor()
    expect(existsSync(marker)).toBe(false)
    const shown = await page.locator('[data-card]').innerText()
    expect(shown).toContain('.mcp.json')
    expect(shown).toContain(process.execPath)
    for (const part of ['--name', 'a b', '<i>"$HOME"</i>']) expect(shown).toContain(part)
    // What changes the direction of text is shown as what it is.
    expect(shown).not.toContain('\u202e')
    expect(shown).toMatch(/U\+202E|\\u202e|⟨/i)
    await allow.click()
    const written = (): string => (existsSync(marker) ? readFileSync(marker, 'utf8') : '')
    await until(() => written().endsWith(']'), 'the process')
    expect(JSON.parse(written())).toEqual([process.execPath, ...args])
  },
)
