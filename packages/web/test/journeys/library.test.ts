import { describe, expect, test } from 'vitest'
import { bigLibrary, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { missing, openTab } from './journey.ts'

/** Colours do not fade, so that their contrast is what it stays. */
const still = { reducedMotion: 'reduce' } as const

describe.skipIf(missing !== undefined)(
  `the library in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('10,000 resources are a few rows, and more than can be attached are refused before any is read', async () => {
      const served = await serveHost({ servers: { crm: bigLibrary(10_000) } })
      const { host } = served.service
      const tab = await openTab(served, '/library', still)
      const { page } = tab
      const tree = page.getByRole('tree')
      const row = (name: string) => tree.getByRole('treeitem', { name })
      await page.getByText('10,304 resources').waitFor()
      await row('crm').first().click()
      await row('crm://').click()
      await row('customers').click()
      await row('crm://customers/00000').waitFor()
      expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThanOrEqual(1_500)
      await tree.press('End')
      await row('notes://').waitFor()
      await tree.press('ArrowUp')
      await tree.press('ArrowUp')
      await row('crm://customers/09999').waitFor()
      expect(await tree.getByRole('treeitem').count()).toBeLessThan(60)
      expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThanOrEqual(1_500)
      await tab.check()

      await tree.press('End')
      await row('archive://').click()
      await row('2026').locator('[data-choice]').click()
      await page.getByText('100 chosen').waitFor()
      await row('2025').locator('[data-choice]').click()
      await page.getByText('300 chosen').waitFor()
      await page.getByText('about 30,000 tokens').waitFor()
      await page.getByText('At most 200 resources can be attached at once. Take 100 away').waitFor()
      await expect.poll(() => page.locator('[data-act=attach]').getAttribute('aria-disabled')).toBe('true')
      expect(host.activity({ kind: 'read' })).toEqual([])
      await tab.check()
      await row('2026').locator('[data-choice]').click()
      await page.getByText('200 chosen').waitFor()
      await tab.click('[data-act=attach]')
      await page.getByText('200 resources are attached').waitFor()
      const link = page.getByRole('link', { name: 'Open the conversation' })
      const id = (await link.getAttribute('href'))?.split('/').at(-1) ?? ''
      expect(host.library.attached(id)).toHaveLength(200)
      await tab.check()
    })

    test('a folder is selected as a whole, without content for the user only, and included by priority', async () => {
      const served = await serveHost({ servers: { crm: bigLibrary(5), more: bigLibrary(5) } })
      const { host } = served.service
      const tab = await openTab(served, '/library', still)
      const { page } = tab
      const tree = page.getByRole('tree')
      await tree.getByRole('treeitem', { name: 'crm' }).waitFor()
      await tree.focus()
      await tree.press(' ')
      await page.getByText('7 chosen').waitFor()
      await tree.press('ArrowDown')
      await tree.press(' ')
      await page.getByText('14 chosen').waitFor()
      await tab.click('[data-act=attach]')
      await page.getByText('14 resources are attached').waitFor()
      const link = page.getByRole('link', { name: 'Open the conversation' })
      const id = (await link.getAttribute('href'))?.split('/').at(-1) ?? ''
      expect(host.library.attached(id)).toHaveLength(14)
      expect(host.library.attached(id).map(({ uri }) => uri)).not.toContain('docs://guide/diary.md')
      await tab.check()

      await page.getByLabel('Conversation').selectOption('')
      await tab.click('[data-act=include]')
      await page.getByText('attached by priority').waitFor()
      await page.getByText(/reasons?$/).click()
      await page.getByText('docs://guide/start.md').first().waitFor()
      await expect.poll(() => page.getByRole('alert').innerText()).toContain('docs://guide/diary.md')
      await tab.check()
    })

    test('a resource is shown as text, as a tree and as bytes; one for the user only is marked', async () => {
      const served = await serveHost({ servers: { crm: bigLibrary(5) } })
      const tab = await openTab(served, `/library/crm/${encodeURIComponent('docs://guide/data.json')}`, still)
      const { page } = tab
      await page.getByRole('button', { name: 'Tree' }).click()
      await page.getByText('"Oslo"').waitFor()
      await page.getByRole('button', { name: 'Hex' }).click()
      await page.getByText('000000  7b 22 63').waitFor()
      await tab.check()
      await tab.go(`/library/crm/${encodeURIComponent('docs://guide/diary.md')}`)
      await page.getByText('its server marks it for the user only').waitFor()
      expect(await page.locator('[data-act=choose]').count()).toBe(0)
      await tab.go(`/library/crm/${encodeURIComponent('crm://customers/00003')}`)
      const shown = page.getByRole('tree').locator('[data-shown]')
      await shown.waitFor()
      await expect.poll(() => shown.textContent()).toContain('crm://customers/00003')
      await tab.go(`/library/crm/${encodeURIComponent('notes://{day}')}`)
      await page.getByLabel('day').fill('monday')
      await page.keyboard.press('Enter')
      await page.getByText('# notes://monday').waitFor()
      for (const width of [1024, 390]) {
        await page.setViewportSize({ width, height: 844 })
        await tab.check()
        await tab.go('/library')
        await page.getByRole('tree').waitFor()
        await tab.check()
      }
    })

    test('a prompt is filled in by keys alone, and its messages are sent as edited', async () => {
      const served = await serveHost({
        servers: { crm: bigLibrary(5) },
        model: scriptedModel([{ say: 'Done.' }]),
      })
      const tab = await openTab(served, '/library?in=prompts', still)
      const { page } = tab
      await page.getByRole('link', { name: '/crm.summarize' }).focus()
      await tab.press('Enter')
      const customer = page.getByLabel('customer *')
      await customer.focus()
      await page.keyboard.type('Ada')
      await page.locator('datalist option[value=Ada]').waitFor({ state: 'attached' })
      await tab.press('Tab')
      await page.keyboard.type('short')
      await tab.press('Enter')
      const text = page.getByLabel('Text of message 1')
      await text.waitFor()
      await expect.poll(() => text.inputValue()).toBe('Summarize Ada in the style: short.')
      await text.focus()
      await tab.press('End')
      await page.keyboard.type(' In English.')
      await tab.check()
      await page.locator('[data-act=send]').focus()
      await tab.press('Enter')
      await page.waitForURL('**/chat/*')
      await page.getByText('Done.').first().waitFor()
      const [conversation] = served.service.host.conversations.list()
      const entries = served.service.host.conversations.entries(conversation?.id ?? '')
      expect(JSON.stringify(entries)).toContain('Summarize Ada in the style: short. In English.')
      expect(tab.acts).toBeLessThanOrEqual(12)
      await tab.go('/library?in=prompts&prompt=crm.summarize')
      await customer.waitFor()
      await expect.poll(() => customer.inputValue()).toBe('Ada')
      await tab.check()
    })
  },
)
