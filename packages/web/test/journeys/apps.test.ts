import { afterAll, describe, expect, test } from 'vitest'
import { scriptedModel, serveHost, weather } from '../fixtures/harness.ts'
import { closeBrowser, missing, openTab, type Tab } from './journey.ts'

afterAll(closeBrowser)

const allow = [{ id: 'all', verdict: 'allow' as const }]

/** Says something in a new conversation. */
async function say({ page }: Tab, text: string): Promise<void> {
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Enter')
}

const armed = '[data-act=allow][data-armed=true]'

describe.skipIf(missing !== undefined)(
  `apps in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('an app is shown after consent, with its call, and what it asks for is a question', async () => {
      const model = scriptedModel([
        { say: 'I look.', call: [{ name: 'weather__forecast', arguments: { place: 'Oslo' } }] },
        { say: 'It is on the board.' },
        { say: 'Saturday.' },
      ])
      const served = await serveHost({ servers: { weather }, rules: allow, model })
      const tab = await openTab(served, '/chat')
      await say(tab, 'How is the weather?')
      await tab.page.getByText('weather wants to show its app').waitFor()
      await tab.page.waitForSelector(armed)
      await tab.page.waitForTimeout(300)
      await tab.page.screenshot({ path: '/tmp/shot-consent.png' })
      await tab.check()
      await tab.click(armed)
      await tab.page.waitForSelector('iframe[data-ready=true]')
      const app = tab.page.frames().find((frame) => frame.url().startsWith('http://a-'))
      if (app === undefined) throw new Error('There is no frame of an app')
      await app.getByText('Oslo').waitFor()
      expect(await app.locator('li').count()).toBe(7)
      await tab.page.waitForTimeout(300)
      await tab.page.screenshot({ path: '/tmp/shot-app.png' })
      await tab.check()
    })
  },
)
