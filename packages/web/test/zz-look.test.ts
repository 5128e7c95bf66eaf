import { mkdirSync } from 'node:fs'
import { afterAll, test } from 'vitest'
import { everything, serveHost, travel } from './fixtures/harness.ts'
import { closeBrowser, openTab } from './journeys/journey.ts'

afterAll(closeBrowser)
const out = '/tmp/shots'
mkdirSync(out, { recursive: true })

test('look', { timeout: 240_000 }, async () => {
  const served = await serveHost({ servers: { everything, travel: { ...travel, args: [...(('args' in travel && travel.args) || []), '--db', ':memory:'] } }, rules: [{ id: 'all', verdict: 'allow' }] })
  const sizes = (process.env['SIZES'] ?? '1440,1024,390').split(',').map(Number)
  for (const width of sizes) {
    const dark = width === 1024
    const tab = await openTab(served, '/inbox', { viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme: dark ? 'dark' : 'light', locale: dark ? 'zh-CN' : 'en' })
    const { page } = tab
    const shot = async (name: string) => { await page.waitForTimeout(350); await page.screenshot({ path: `${out}/${name}-${width}.png` }) }
    const args = encodeURIComponent(JSON.stringify({ origin: 'OSL', destination: 'BCN', date: '2027-01-10' }))
    await tab.go(`/inspect/travel/tools/searchFlights?args=${args}`)
    await page.waitForSelector('[data-act=run]')
    await shot('tool-form')
    await page.click('[data-act=run]')
    await page.waitForTimeout(800)
    await shot('tool-result')
    await tab.go('/inspect/everything')
    await page.waitForSelector('main h2')
    await shot('server')
    await tab.go('/inspect/everything/tools/get-tiny-image')
    await page.waitForSelector('[data-act=run]')
    await page.click('[data-act=run]')
    await page.waitForTimeout(600)
    await shot('image')
    await tab.go('/inspect/everything/prompts/complex-prompt')
    await page.waitForSelector('[data-act=run]')
    await shot('prompt')
    if (width === 1440) { await page.getByRole('button', { name: 'JSON' }).first().click().catch(() => {}) }
    await tab.go(`/inspect/travel/tools/searchFlights?args=${args}`)
    await page.waitForSelector('[data-act=run]')
    await page.getByRole('button', { name: 'JSON' }).first().click({ timeout: 3000 }).catch(() => {})
    await page.waitForTimeout(500)
    await shot('json')
    await tab.check()
  }
})
