import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Frame } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type Reply, type Served, scriptedModel, serveHost, weather } from '../fixtures/harness.ts'
import { missing, openTab, type Tab } from './journey.ts'

const allow = [{ id: 'all', verdict: 'allow' as const }]
const armed = '[data-act=allow][data-armed=true]'
const official = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../fixtures/official-app.ts', import.meta.url))],
}

/** Says something in a new conversation. */
async function say({ page }: Tab, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Enter')
}

async function frameOf(tab: Tab): Promise<Frame> {
  await tab.page.waitForSelector('iframe[data-ready=true]')
  const app = tab.page.frames().find((frame) => frame.url().startsWith('http://a-'))
  if (app === undefined) throw new Error('There is no frame of an app')
  return app
}

const forecast = { name: 'weather__forecast', arguments: { place: 'Oslo' } }

/** A conversation in which the model asked for the weather, and its board after consent. */
async function board(replies: Reply[] = []): Promise<{ served: Served; tab: Tab; app: Frame }> {
  const model = scriptedModel([
    { say: 'I look.', call: [forecast] },
    { say: 'It is on the board.' },
    ...replies,
  ])
  const served = await serveHost({ servers: { weather }, rules: allow, model })
  const tab = await openTab(served, '/chat')
  await say(tab, 'How is the weather?')
  await tab.page.getByText('weather wants to show its app').waitFor()
  await tab.page.waitForSelector(armed)
  await tab.click(armed)
  const app = await frameOf(tab)
  await app.getByText('Oslo').waitFor()
  return { served, tab, app }
}

describe.skipIf(missing !== undefined)(
  `apps in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('an app is shown beside its call, and its requests are questions', async () => {
      const { served, tab, app } = await board([{ say: 'Saturday suits it.' }])
      expect(tab.acts).toBe(1)
      const days = (): Promise<string> => app.locator('ol').innerText()
      await expect.poll(() => app.locator('li').count()).toBe(7)
      const before = await days()
      await app.getByRole('button', { name: 'Refresh' }).click()
      await app.getByText('Done.').waitFor()
      expect(await days()).not.toBe(before)

      await app.getByRole('button', { name: 'Ask about the weekend' }).click()
      await tab.page.getByText('wants to send this message in your name').waitFor()
      await tab.click(armed)
      await tab.page.getByText('Saturday suits it.').waitFor()
      const log = tab.page.getByRole('log')
      await expect.poll(() => log.innerText()).toContain('Which day of the weekend suits a walk in Oslo?')

      await app.getByRole('button', { name: 'Save as CSV' }).click()
      await tab.page.getByText('forecast.csv').waitFor()
      const download = tab.page.waitForEvent('download')
      await tab.click(armed)
      const file = await download
      expect(file.suggestedFilename()).toBe('forecast.csv')
      expect(readFileSync(await file.path(), 'utf8')).toMatch(/^day,sky,high\nMon,/)

      await tab.page
        .context()
        .route('https://example.com/**', (route) => route.fulfill({ body: 'The source' }))
      await app.getByRole('button', { name: 'Source' }).click()
      await tab.page.getByText('wants to open a page').waitFor()
      const opened = tab.page.context().waitForEvent('page')
      await tab.click(armed)
      const source = await opened
      expect(source.url()).toBe('https://example.com/weather')
      expect(await source.evaluate('opener')).toBe(null)
      await source.close()
      expect(tab.faults.splice(0)).toEqual(['request: https://example.com/weather'])

      await app.getByRole('button', { name: 'Source' }).click()
      await tab.click('[data-act=deny-once][data-armed=true]')
      await app.getByText('Not this time.').waitFor()
      const calls = served.service.host.activity({ kind: 'call' })
      expect(calls.map(({ detail }) => [detail['tool'], detail['caller']])).toEqual([
        ['forecast', 'chat'],
        ['refresh', 'app'],
      ])
      await tab.check()
    })

    test('an app fills the window below a bar with the name of its server, and opens again after a reload', async () => {
      const { tab, app: full } = await board()
      await tab.page.getByRole('button', { name: 'Full screen' }).click()
      const bar = tab.page.locator('header', { hasText: 'weather · Weather' })
      const frame = tab.page.locator('iframe')
      await expect.poll(async () => (await frame.boundingBox())?.width).toBe(1440)
      expect((await bar.boundingBox())?.y).toBe(0)
      await tab.check()
      // What it asks for is answered above it.
      await full.getByRole('button', { name: 'Source' }).click()
      const card = tab.page.locator('[data-card]').first()
      await card.locator('[data-act=deny-once][data-armed=true]').click()
      await full.getByText('Not this time.').waitFor()
      await tab.page.locator('[data-act=app-full]').focus()
      await tab.page.keyboard.press('Escape')
      await expect.poll(async () => (await frame.boundingBox())?.width).toBeLessThan(1000)
      await tab.page.reload()
      await tab.page.getByText('It is on the board.').waitFor()
      await tab.page.locator('[data-act=app-open], iframe').first().waitFor()
      const offer = tab.page.locator('[data-act=app-open]')
      if ((await offer.count()) > 0) await offer.click()
      const app = await frameOf(tab)
      await app.getByText('Oslo').waitFor()
      await expect.poll(() => app.locator('li').count()).toBe(7)
    })

    test('an app fits a narrow window and follows the theme', async () => {
      const { tab, app } = await board()
      const scheme = (): Promise<string> => app.evaluate('document.documentElement.style.colorScheme')
      expect(await scheme()).toBe('light')
      await tab.page.emulateMedia({ colorScheme: 'dark' })
      await expect.poll(scheme).toBe('dark')
      await tab.page.setViewportSize({ width: 390, height: 844 })
      await expect.poll(() => app.evaluate('innerWidth')).toBeLessThan(390)
      expect(await app.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      await tab.check()
    })

    test('an app of the official SDK works', async () => {
      const served = await serveHost({
        servers: { official },
        rules: allow,
        model: scriptedModel([
          { call: [{ name: 'official__show', arguments: { place: 'Oslo' } }] },
          { say: 'Here it is.' },
          { say: 'Thanks.' },
        ]),
      })
      const tab = await openTab(served, '/chat')
      await say(tab, 'Show me')
      await tab.click(armed)
      const app = await frameOf(tab)
      await app.waitForFunction('globalThis.isConnected && seen.length >= 2')
      expect(await app.evaluate('seen.filter(([kind]) => kind !== "context")')).toEqual([
        ['input', { arguments: { place: 'Oslo' } }],
        ['result', { degrees: 7 }],
      ])
      expect(await app.evaluate('app.getHostVersion().name')).toBe('jackfield')
      expect(await app.evaluate('Object.keys(app.getHostCapabilities()).sort()')).toEqual([
        'downloadFile',
        'message',
        'openLinks',
        'sandbox',
        'serverResources',
        'serverTools',
        'updateModelContext',
      ])
      expect(await app.evaluate('app.getHostContext()')).toMatchObject({
        theme: 'light',
        locale: 'en',
        displayMode: 'inline',
        toolInfo: { tool: { name: 'show' } },
        containerDimensions: { maxHeight: 640 },
      })
      expect(
        await app.evaluate('app.callServerTool({ name: "warmer", arguments: { by: 3 } })'),
      ).toMatchObject({ content: [{ type: 'text', text: '10 degrees' }] })
      expect(await app.evaluate('app.listServerResources()')).toEqual({ resources: [] })
      expect(await app.evaluate('app.readServerResource({ uri: "ui://official/page" })')).toMatchObject({
        contents: [{ uri: 'ui://official/page' }],
      })
      const context = app.evaluate(
        'app.updateModelContext({ content: [{ type: "text", text: "It shows 10 degrees" }] })',
      )
      await tab.page.getByText('wants your model to get this').waitFor()
      await tab.click(armed)
      expect(await context).toEqual({})
      const message = app.evaluate(
        'app.sendMessage({ role: "user", content: [{ type: "text", text: "Is that warm?" }] })',
      )
      await tab.page.getByText('in your name').waitFor()
      await tab.click(armed)
      expect(await message).toEqual({})
      await tab.page.getByText('Thanks.').waitFor()
      await expect.poll(() => tab.page.getByRole('log').innerText()).toContain('It shows 10 degrees')
      // After a click, as the one on the card, an app may fill the window.
      for (const mode of ['fullscreen', 'inline'])
        expect(await app.evaluate(`app.requestDisplayMode({ mode: '${mode}' })`)).toEqual({ mode })
      await app.evaluate('app.requestTeardown()')
      await tab.page.getByText('The app is closed.').waitFor()
      expect(served.service.host.apps.list()).toEqual([])
    })
  },
)
