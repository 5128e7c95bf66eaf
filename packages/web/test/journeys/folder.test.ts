import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { begin, type Running, run } from '../../../app/test/cli/jackfield.ts'
import { asking, stateless } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openPage, type Tab } from './journey.ts'

/** Leaves its arguments in a file, and then serves tools. */
const server = fileURLToPath(new URL('../fixtures/argv-server.ts', import.meta.url))
const allow = '[data-act=allow][data-armed=true]'

/** `jackfield web` in a folder, with a host process, and its login link. */
async function webIn(
  cwd: string,
  ...words: string[]
): Promise<{ url: string; running: Running; pid(): Promise<number> }> {
  const env = { HOME: cwd, XDG_DATA_HOME: join(cwd, 'data'), JACKFIELD_DAEMON: 'on' }
  const running = begin(['web', '--no-open', '--json', ...words], { cwd, env })
  onTestFinished(async () => {
    running.child.kill('SIGINT')
    await running.ended
    await run(['daemon', 'stop', '--all', '--now'], { cwd, env })
  })
  await running.waitForOutput('Ctrl+C ends')
  const { url }: { url: string } = JSON.parse(running.output().split('\n')[0] ?? '')
  return {
    url,
    running,
    async pid() {
      const { stdout } = await run(['daemon', 'status', '--all', '--json'], { cwd, env })
      const { hosts }: { hosts: { pid: number }[] } = JSON.parse(stdout)
      return hosts[0]?.pid ?? 0
    },
  }
}

/** What a screen shows, without times and durations. */
async function shown(page: Page): Promise<string> {
  await page.waitForFunction(() => document.querySelector('main [aria-busy=true]') === null)
  const text = await page.locator('main').innerText()
  return text.replaceAll(/\d\d:\d\d(?::\d\d(?:\.\d+)?)?|\d+(?:\.\d+)?\s*(?:ms|s|sec|min|h)\b/g, '–')
}

describe.skipIf(missing !== undefined)(
  `jackfield web of a folder${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 120_000 },
  () => {
    test('a server that a file of the folder names is started by a click, with the command line that was shown', async () => {
      const folder = tempFolder()
      const marker = join(folder, 'argv.json')
      const args = [
        server,
        marker,
        '--name',
        'a b',
        '--text=<i>"$HOME"</i>',
        '',
        "it's",
        'x\ny',
        '\u202egpj.exe',
      ]
      const config = { mcpServers: { here: { command: process.execPath, args } } }
      writeFileSync(join(folder, '.mcp.json'), JSON.stringify(config))
      const { url } = await webIn(folder)
      const { page } = await openPage()
      await page.goto(url)
      await page.locator(allow).waitFor()
      expect(existsSync(marker)).toBe(false)
      const card = page.locator('[data-card]')
      const command = await card.locator('[class*=argv]').first().innerText()
      await expect.poll(() => card.innerText()).toContain('.mcp.json')
      // What changes the direction of text is shown as what it is.
      expect(command).not.toContain('\u202e')
      expect(command).toContain('U+202E')
      // A shell reads the command line as exactly these words.
      const read = spawnSync('sh', ['-c', `printf '%s\\0' ${command.replaceAll('U+202E', '\u202e')}`])
      expect(String(read.stdout).split('\0').slice(0, -1)).toEqual([process.execPath, ...args])
      await page.locator(allow).click()
      const written = (): string => (existsSync(marker) ? readFileSync(marker, 'utf8') : '')
      await until(() => written().endsWith(']'), 'the process')
      expect(JSON.parse(written())).toEqual([process.execPath, ...args])
    })

    test('two tabs reconnect by themselves after the host process was killed; a call of 2026-07-28 is then answered and completes, one of a session is lost', async () => {
      const folder = tempFolder()
      const config = {
        mcpServers: { demo: asking, modern: stateless },
        jackfield: { defaultVerdict: 'allow' },
      }
      writeFileSync(join(folder, 'jackfield.json'), JSON.stringify(config))
      const { url, running, pid } = await webIn(folder, '--start-what-this-folder-names')
      const { origin } = new URL(url)
      const tab: Tab = await openPage()
      const { page } = tab
      await page.goto(url)
      await page.waitForSelector('main h1, header h1')
      const other = await page.context().newPage()
      await other.goto(`${origin}/servers`)
      await other.getByText('ready').nth(1).waitFor()
      const form = {
        message: 'Who?',
        requestedSchema: { type: 'object', properties: { seat: { type: 'string' } } },
      }
      for (const [n, name] of ['demo', 'modern'].entries()) {
        const args = encodeURIComponent(JSON.stringify({ params: form }))
        await tab.go(`/inspect/${name}/tools/ask?args=${args}`)
        await page.getByRole('heading', { name: 'ask', exact: true }).waitFor()
        await page.locator('[data-act=run]').click()
        await page.waitForFunction((count) => document.title.startsWith(`(${count})`), n + 1)
      }
      await tab.go('/inbox')
      const before = await pid()
      process.kill(before, 'SIGKILL')
      await running.waitForOutput('The host process was lost')
      await page.getByText('Settled (1)').waitFor({ timeout: 40_000 })
      await other.getByText('ready').nth(1).waitFor({ timeout: 40_000 })
      expect(await pid()).not.toBe(before)

      // Each tab shows what a new one shows, and none logs in.
      const fresh = await page.context().newPage()
      const screens = [
        '/inbox',
        '/servers',
        '/servers/demo',
        '/inspect/modern/tools',
        '/activity',
        '/chat',
        '/settings/surfaces',
      ]
      for (const path of screens) {
        await fresh.goto(`${origin}${path}`)
        for (const one of [page, other]) {
          await one.evaluate((address) => history.pushState(null, '', address), path)
          await vi.waitFor(
            async () => expect([path, await shown(one)]).toEqual([path, await shown(fresh)]),
            20_000,
          )
        }
      }
      expect(await page.getByRole('button', { name: 'Log out' }).count()).toBeLessThanOrEqual(1)
      await fresh.close()
      await other.close()

      await tab.go('/inbox')
      await page.getByText('Settled (1)').click()
      await page.getByRole('list').getByText('demo').first().click()
      await page.getByText('Lost: the call that asked cannot be continued.').first().waitFor()
      await tab.check()
      await tab.go('/inbox')
      await page.getByRole('list', { name: 'Questions' }).getByText('modern').first().click()
      await page.getByLabel('seat').fill('12A')
      await page.click('[data-act=review]')
      await tab.click('[data-act=accept][data-armed=true]')
      // The call is the same as the one before the end of the host, so the rule against repeated calls asks.
      await page.locator(allow).waitFor()
      await tab.click(allow)
      // The server got the value, and the call of before has its result.
      await tab.go(`/activity?view=raw&filter=${encodeURIComponent('server:modern kind:wire')}`)
      await page.locator('[data-place]', { hasText: '12A' }).nth(1).waitFor()
    })
  },
)
