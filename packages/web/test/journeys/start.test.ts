import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { closeBrowser, missing, openBrowser } from './journey.ts'

const program = fileURLToPath(new URL('../../../app/dist/main.js', import.meta.url))

afterAll(closeBrowser)

/** `jackfield start --web` in a folder of its own, and its login link. */
async function startInBrowser(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-start-'))
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder }
  const args = [program, 'start', '--web', '--no-open', '--json']
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url }: { url: string } = JSON.parse(String(line))
  return url
}

test.skipIf(missing !== undefined)(
  `jackfield start --web plans a trip in the browser and books it once the person agrees${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  async () => {
    const url = await startInBrowser()
    const context = await (await openBrowser()).newContext({ viewport: { width: 1440, height: 900 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    await page.goto(url)
    await page.getByText('travel wants to run bookVacation').waitFor()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('travel asks').first().waitFor()
    await page.waitForTimeout(2000)
    await page.screenshot({ path: '/tmp/m/sw/t.png' })
    console.log(await page.locator('main').innerText())
    expect(faults).toEqual([])
  },
)
