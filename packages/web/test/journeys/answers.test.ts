import type { InboxItem } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { asking, type Served, serveHost } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const rules = [
  { id: 'echo asks', verdict: 'ask' as const, tool: 'echo', scope: 'always' as const },
  { id: 'rest', verdict: 'allow' as const },
]

function ask(served: Served, args: Record<string, unknown>, server = 'demo'): Promise<unknown> {
  return served.service.host.call(`${server}__echo`, args, { caller: 'chat', conversation: 'talk' })
}

function start(served: Served, tool: string, params?: Record<string, unknown>, server = 'demo'): string {
  const request = { kind: 'call' as const, tool: `${server}__${tool}`, arguments: params ? { params } : {} }
  return served.service.startRun(request, { by: 'test', asks: true })
}

const open = (served: Served): InboxItem[] => served.service.host.inbox.list()

async function show(served: Served, tab: Tab): Promise<string> {
  await until(() => open(served).length > 0, 'a question')
  const id = open(served)[0]?.id ?? ''
  await tab.go(`/inbox/${id}`)
  await tab.page.locator(`[data-card="${id}"]`).waitFor()
  return id
}

async function resultOf(served: Served, run: string): Promise<string> {
  return JSON.stringify((await served.service.runs.wait(run, new AbortController().signal)).result)
}

const form = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { a: { type: 'string', title: 'A' } } },
}

describe.skipIf(missing !== undefined)(
  `answers in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test.each(['keys', 'touch'] as const)('questions are answered by %s as by a mouse', async (how) => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox', how === 'touch' ? { hasTouch: true } : {})
      const act = async (name: string, isDecision = true): Promise<void> => {
        const button = tab.page.locator(`[data-act=${name}]${isDecision ? '[data-armed=true]' : ''}`)
        await button.waitFor()
        if (how === 'touch') return await button.tap()
        await button.focus()
        await tab.page.keyboard.press(name === 'later' ? 'Space' : 'Enter')
      }
      const allowed = ask(served, { text: 'yes' })
      await show(served, tab)
      await act('allow')
      expect(JSON.stringify(await allowed)).toContain('yes')

      const denied = ask(served, { text: 'no' })
      const second = await show(served, tab)
      await act('deny', false)
      await act('deny-once')
      expect(JSON.stringify(await denied)).toContain('"denied":true')
      expect(served.service.host.inbox.get(second)?.answer?.value).toEqual({ verdict: 'deny' })

      const run = start(served, 'ask', form)
      await show(served, tab)
      await tab.page.getByLabel('A', { exact: true }).fill('x')
      await act('review', false)
      await act('accept')
      expect(await resultOf(served, run)).toContain('\\"content\\":{\\"a\\":\\"x\\"}')
      await tab.check()
    })

    test('1,000 presses around the appearance of cards answer none before it is armed', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      // Each card is pressed every few milliseconds from the moment it is there.
      await tab.page.evaluate(() => {
        const log = { presses: 0, early: 0, armed: 0 }
        Object.assign(window, { log })
        const press = (): void => {
          const button = document.querySelector('[data-act=allow]')
          if (button !== null) {
            log.presses += 1
            if (button.getAttribute('data-armed') === 'true') log.armed += 1
            else log.early += 1
            const options = { bubbles: true, cancelable: true }
            button.dispatchEvent(new PointerEvent('pointerdown', options))
            button.dispatchEvent(new MouseEvent('click', options))
          }
          setTimeout(press, (log.presses * 7) % 13)
        }
        press()
      })
      let count = 0
      for (let n = 0; n < 40 && count < 1_000; n++) {
        await ask(served, { text: String(n) })
        const log: { presses: number; early: number; armed: number } = await tab.page.evaluate('log')
        // One answer takes one press of an armed button, no more and no less.
        expect(log.armed).toBeGreaterThanOrEqual(n + 1)
        count = log.presses
      }
      expect(count).toBeGreaterThanOrEqual(1_000)
      const answered = served.service.host.inbox.list({ state: 'all' })
      expect(answered.every(({ answer }) => answer !== undefined)).toBe(true)
      const waited = answered.map(({ at, answer }) => Date.parse(answer?.at ?? '') - Date.parse(at))
      // A card is whole and still for half a second before it is armed.
      expect(Math.min(...waited)).toBeGreaterThanOrEqual(400)
    })

    test('a reload in the middle of a form, an edit and a review keeps all but secrets; the server sees nothing', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      const requestedSchema = {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Name' },
          password: { type: 'string', title: 'Password' },
        },
      }
      start(served, 'ask', { message: 'Log in', requestedSchema })
      await show(served, tab)
      await page.getByLabel('Name').fill('Ada')
      await page.getByLabel('Password', { exact: true }).fill('hunter2hunter2')
      await page.reload()
      await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Ada')
      expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('')
      await page.waitForSelector('[data-act=decline][data-armed=true]')
      await page.click('[data-act=decline]')

      const call = ask(served, { text: 'before' })
      await until(() => open(served).length === 1, 'the call')
      await show(served, tab)
      await page.click('[data-act=edit]')
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.getByLabel('Arguments as JSON').fill('{"text":"after"}')
      await page.reload()
      await page.getByRole('button', { name: 'Your changes (1)' }).click()
      await page.waitForSelector('[data-act=allow][data-armed=true]')
      expect(open(served)).toHaveLength(1)
      await page.click('[data-act=allow]')
      expect(JSON.stringify(await call)).toContain('after')

      start(served, 'sample', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
        maxTokens: 100,
      })
      await until(() => open(served).length === 1, 'the request')
      await show(served, tab)
      const editor = page.locator('[data-card] textarea')
      await editor.fill('Hello there')
      await page.reload()
      await expect.poll(() => editor.inputValue()).toBe('Hello there')
      expect(served.service.host.inbox.list()[0]?.state).toBe('open')
      await tab.check()
    })

    test('addresses are shown by their host, judged, and nothing of them is fetched', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const urls: readonly (readonly [url: string, host: string | undefined, isOpened: boolean])[] = [
        ['https://pay.example/1', 'pay.example', true],
        ['https://PAY.example/1?a=b#c', 'pay.example', true],
        ['http://127.0.0.1:9/login', '127.0.0.1:9', true],
        ['http://pay.example/1', 'pay.example', false],
        ['https://xn--pypal-4ve.example/', 'xn--pypal-4ve.example', true],
        ['https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com', true],
        ['https://paypal.com@evil.example/', 'evil.example', true],
        ['https://evil.example/https://paypal.com', 'evil.example', true],
        ['https://paypal.com.evil.example/', 'paypal.com.evil.example', true],
        ['https://[::1]:8443/x', '[::1]:8443', true],
        ['https://192.168.0.1/admin', '192.168.0.1', true],
      ]
      for (const [n, [url, host, isOpened]] of urls.entries()) {
        start(served, 'ask', { mode: 'url', elicitationId: `u${n}`, message: 'Visit', url })
        const id = await show(served, tab)
        const card = tab.page.locator(`[data-card="${id}"]`)
        if (host !== undefined) await card.getByText(host, { exact: true }).first().waitFor()
        if (isOpened) await card.locator('[data-act=accept][data-armed=true]').waitFor()
        else {
          await card.locator('[data-act=decline][data-armed=true]').waitFor()
          expect([url, await card.locator('[data-act=accept]').getAttribute('data-armed')]).toEqual([
            url,
            'false',
          ])
        }
        expect(await card.locator('a[href^="http"], a[href^="ftp"]').count()).toBe(0)
        await card.locator('[data-act=decline]').click()
        await until(() => open(served).length === 0, 'the answer')
      }
      await tab.check()
    })

    test('an answer for later calls says what it would have matched, and is taken back in two acts', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const first = ask(served, { text: 'same' })
      await show(served, tab)
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.click('[data-act=allow]')
      await first
      const second = ask(served, { text: 'same' })
      const id = await show(served, tab)
      await tab.page.click('[data-act=remember]')
      await tab.page
        .getByText(/would have matched \d+ of \d+ calls in 30 days/)
        .first()
        .waitFor()
      await tab.check()
      await tab.page.locator('[data-card] td button[data-armed=true]').first().click()
      await second
      expect(served.service.host.policy.grants()).toHaveLength(1)
      await tab.go(`/inbox/${id}`)
      await tab.click('[data-act=forget]')
      await tab.click('[data-act=forget-sure]')
      await tab.page.getByText('not remembered any more').waitFor()
      expect(served.service.host.policy.grants()).toEqual([])
      expect(tab.acts).toBe(2)
      await tab.check()
    })
  },
)
