// Takes pictures of the web app for docs/host/web.md: the built command, a real server, and Chromium.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'
import { root } from './run.ts'

const home = '/tmp/ada'
const project = join(home, 'trip')
const to = (name: string): string => join(root, 'docs', 'pictures', `web-${name}.png`)

rmSync(home, { recursive: true, force: true })
mkdirSync(project, { recursive: true })
const mcpServers = {
  travel: { command: 'jackfield-travel', args: ['--db', ':memory:'] },
  weather: { command: process.execPath, args: [join(root, 'examples', 'apps', 'server.ts')] },
}
writeFileSync(join(project, 'jackfield.json'), JSON.stringify({ mcpServers }))

const program = join(root, 'packages', 'app', 'bin', 'jackfield.js')
const words = ['web', '--no-open', '--json', '--start-what-this-folder-names']
const child = spawn(process.execPath, [program, ...words], {
  cwd: project,
  env: {
    PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env['PATH']}`,
    HOME: home,
    JACKFIELD_DAEMON: 'off',
  },
  stdio: ['ignore', 'pipe', 'ignore'],
})
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url }: { url: string } = JSON.parse(String(line))
  const page = await browser.newPage({ viewport: { width: 1120, height: 680 }, reducedMotion: 'reduce' })
  const go = (path: string): Promise<void> =>
    page.evaluate((address) => history.pushState(null, '', address), path)
  const capture = async (name: string): Promise<void> => {
    await page.screenshot({ path: to(name) })
    process.stdout.write(`docs/pictures/web-${name}.png\n`)
  }
  await page.goto(url)
  await page.waitForSelector('header h1')
  await page.getByText('2/2').waitFor()

  await go('/chat')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page
    .getByRole('textbox', { name: 'Message' })
    .fill('Search flights from Oslo to Barcelona on 2027-01-10')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[data-act=allow][data-armed=true]')
  await capture('chat')
  await go('/inbox')
  await page.waitForSelector('[data-act=allow][data-armed=true]')
  await capture('inbox')
  await page.click('[data-act=allow]')
  await page.getByText('Nothing waits').first().waitFor()

  const args = { origin: 'OSL', destination: 'BCN', date: '2027-01-10' }
  await go(`/inspect/travel/tools/searchFlights?args=${encodeURIComponent(JSON.stringify(args))}`)
  await page.click('[data-act=run]')
  await page.getByText('flight options').first().waitFor()
  await page.mouse.move(0, 0)
  await capture('inspect')

  await go('/activity?filter=-kind:stderr')
  await page.locator('[data-place]').last().waitFor()
  await page.locator('[data-place]', { hasText: 'searchFlights of travel' }).last().click()
  await page.waitForSelector('[data-act=again]')
  await page.mouse.move(0, 0)
  await capture('activity')

  await go(`/inspect/weather/tools/forecast?args=${encodeURIComponent(JSON.stringify({ place: 'Oslo' }))}`)
  await page.click('[data-act=run]')
  await page.getByRole('button', { name: 'App', exact: true }).click()
  await page.click('[data-act=allow][data-armed=true]')
  await page.waitForSelector('iframe[data-ready=true]')
  await page.frameLocator('iframe').frameLocator('iframe').getByText('Oslo').waitFor()
  await page.mouse.move(0, 0)
  await capture('app')

  await go('/settings/look')
  await page.locator('select', { hasText: '简体中文' }).selectOption('zh-CN')
  await go('/activity?filter=-kind:stderr')
  await page.locator('[data-place]', { hasText: 'travel 的 searchFlights' }).last().click()
  await page.waitForSelector('[data-act=again]')
  await page.mouse.move(0, 0)
  await capture('activity-zh')
} finally {
  await browser.close()
  child.kill('SIGINT')
  await once(child, 'close')
  rmSync(home, { recursive: true, force: true })
}
