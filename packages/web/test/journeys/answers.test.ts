import { type InboxItem, inspectUrl } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { faultyPeer } from '../../../../test/setup/faulty-peer.ts'
import { asking, type Served, serveHost } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, sentAnswers, type Tab } from './journey.ts'

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

const isLong = process.env['JACKFIELD_LONG'] === '1'
/** Of the addresses that may be opened, each how many is opened once the user consented. */
const openedEvery = isLong ? 1 : 8

const open = (served: Served): InboxItem[] => served.service.host.inbox.list()

async function show(served: Served, tab: Tab): Promise<string> {
  await until(() => open(served).length > 0, 'a question')
  const id = open(served)[0]?.id ?? ''
  await tab.go(`/inbox/${id}`)
  await tab.page.locator(`[data-card="${id}"]`).waitFor()
  return id
}

/** Addresses, the host that each leads to, what is found, and whether the page offers to open them. */
const addresses: readonly { url: string; host: string; codes: readonly string[]; opens: boolean }[] = (
  [
    ['https://pay.example/1', 'pay.example'],
    ['https://PAY.example/1?a=b#c', 'pay.example'],
    ['https://pay.example:443/', 'pay.example'],
    ['https://pay.example:8443/', 'pay.example:8443', 'port'],
    ['http://pay.example/1', 'pay.example', 'not-encrypted', false],
    ['http://pay.example:8080/', 'pay.example:8080', 'not-encrypted', false],
    ['http://localhost.evil.example/', 'localhost.evil.example', 'not-encrypted', false],
    ['http://127.0.0.1.evil.example/', '127.0.0.1.evil.example', 'not-encrypted', false],
    ['http://127.0.0.1:9/login', '127.0.0.1:9', 'this-machine'],
    ['http://localhost/', 'localhost', 'this-machine'],
    ['http://app.localhost:5173/', 'app.localhost:5173', 'this-machine'],
    ['https://0x7f.1/', '127.0.0.1', 'this-machine'],
    ['https://2130706433/', '127.0.0.1', 'this-machine'],
    ['https://[::1]:8443/x', '[::1]:8443', 'this-machine'],
    ['https://192.168.0.1/admin', '192.168.0.1', 'ip-address'],
    ['https://8.8.8.8/', '8.8.8.8', 'ip-address'],
    ['https://[2001:db8::1]/x', '[2001:db8::1]', 'ip-address'],
    ['https://0xa9fea9fe/', '169.254.169.254', 'link-local'],
    ['http://169.254.169.254/latest/meta-data', '169.254.169.254', 'link-local', false],
    ['https://metadata.google.internal/', 'metadata.google.internal', 'link-local'],
    ['https://user@pay.example/', 'pay.example', 'user-information'],
    ['https://paypal.com@evil.example/', 'evil.example', 'user-information'],
    ['https://paypal.com:evil.example@evil.example/evil.example', 'evil.example', 'user-information'],
    ['https://paypal.com%2f@evil.example/', 'evil.example', 'user-information'],
    ['https://evil.example/https://paypal.com', 'evil.example'],
    ['https://paypal.com.evil.example/', 'paypal.com.evil.example'],
    ['https://bücher.example/', 'xn--bcher-kva.example', 'other-letters'],
    ['https://xn--bcher-kva.example/', 'xn--bcher-kva.example', 'other-letters'],
    ['https://пример.рф/', 'xn--e1afmkfd.xn--p1ai', 'other-letters'],
    ['https://例え.jp/', 'xn--r8jz45g.jp', 'other-letters'],
    ['https://pаypal.com/', 'xn--pypal-4ve.com', 'mixed-letters'],
    ['https://gοοgle.com/', 'xn--ggle-0nda.com', 'mixed-letters'],
    ['https://xn--pypal-4ve.example/', 'xn--pypal-4ve.example', 'mixed-letters'],
    ['https://xn--80ak6aa92e.com/', 'xn--80ak6aa92e.com', 'disguised-letters'],
    ['https://аррӏе.com/', 'xn--80ak6aa92e.com', 'disguised-letters'],
    ['https://exa\u200bmple.org/', 'example.org', 'hidden-characters'],
    ['https://example.org/\u202etxt.exe', 'example.org', 'hidden-characters'],
    ['https:\\\\evil.example\\paypal.com', 'evil.example', 'odd-spelling'],
    ['https:evil.example/', 'evil.example', 'odd-spelling'],
    [`https://pay.example/?${'a'.repeat(5_000)}`, 'pay.example', 'long'],
  ] as const
).map(([url, host, code, opens = true]) => ({
  url,
  host,
  codes: code === undefined ? [] : [code],
  opens,
}))

describe.skipIf(missing !== undefined)(
  `answers in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: isLong ? 300_000 : 90_000 },
  () => {
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
      const answers = sentAnswers(page)
      await page.reload()
      const options = ['red', 'green', 'blue']
      const requestedSchema = {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Name' },
          mail: { type: 'string', title: 'Mail', format: 'email' },
          day: { type: 'string', title: 'Day', format: 'date' },
          seats: { type: 'integer', title: 'Seats' },
          news: { type: 'boolean', title: 'News' },
          tier: { type: 'string', title: 'Tier', enum: ['free', 'team'] },
          size: { type: 'string', title: 'Size', enum: Array.from({ length: 12 }, (_, n) => `size ${n}`) },
          colours: { type: 'array', title: 'Colours', items: { type: 'string', enum: options } },
          password: { type: 'string', title: 'Password' },
        },
      }
      start(served, 'ask', { message: 'Log in', requestedSchema })
      await show(served, tab)
      const password = page.getByLabel(/^Password/)
      await page.getByLabel('Name').fill('Ada')
      // Values that cannot be sent yet are restored, too.
      await page.getByLabel('Mail').fill('ada@')
      await page.getByLabel('Day').fill('2026-07-28')
      await page.getByLabel('Seats').fill('three')
      await page.getByLabel('No', { exact: true }).check()
      await page.getByLabel('team').check()
      await page.getByLabel('Size').selectOption('size 7')
      for (const colour of ['red', 'blue']) await page.getByLabel(colour, { exact: true }).check()
      await password.fill('hunter2hunter2')
      const typed = (): Promise<unknown> =>
        page
          .locator('[data-card]')
          .evaluate((card) =>
            [...card.querySelectorAll<HTMLInputElement>('input, select, textarea')].map((field) =>
              /checkbox|radio/.test(field.type)
                ? field.checked
                : field.type === 'password'
                  ? ''
                  : field.value,
            ),
          )
      const before = await typed()
      expect(JSON.stringify(before)).toMatch(/Ada.*ada@.*2026-07-28.*three.*size 7/)
      await page.reload()
      await page.getByLabel('Name').waitFor()
      expect(await typed()).toEqual(before)
      await expect.poll(() => password.inputValue()).toBe('')
      expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
        'hunter2',
      )
      expect(answers).toEqual([])
      await page.waitForSelector('[data-act=decline][data-armed=true]')
      await page.click('[data-act=decline]')
      await until(() => answers.length === 1, 'the answer')
      expect(JSON.stringify(answers.splice(0))).toMatch(/"answer":\{"action":"decline"\}/)
      await until(() => open(served).length === 0, 'the end of the form')

      const call = ask(served, { text: 'before' })
      await until(() => open(served).length === 1, 'the call')
      await show(served, tab)
      await page.click('[data-act=edit]')
      await page.getByRole('button', { name: 'JSON', exact: true }).click()
      await page.getByLabel('Arguments as JSON').fill('{"text":"after"}')
      await page.reload()
      await page.getByRole('button', { name: 'Your changes (1)' }).click()
      await page.waitForSelector('[data-act=allow][data-armed=true]')
      expect([open(served).length, answers]).toEqual([1, []])
      await page.click('[data-act=allow]')
      expect(JSON.stringify(await call)).toContain('after')
      expect(answers.splice(0)).toHaveLength(1)

      start(served, 'sample', {
        messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
        maxTokens: 100,
      })
      await until(() => open(served).length === 1, 'the request')
      await show(served, tab)
      const editor = page.locator('[data-card] textarea')
      const most = page.getByLabel('Maximum tokens of the answer')
      await editor.fill('Hello there')
      await most.fill('77')
      await page.reload()
      await expect.poll(() => editor.inputValue()).toBe('Hello there')
      await expect.poll(() => most.inputValue()).toBe('77')
      expect([served.service.host.inbox.list()[0]?.state, answers]).toEqual(['open', []])
      await tab.check()
    })

    test('40 addresses are shown with their host and a verdict, and none is fetched', async () => {
      faultyPeer('some of its addresses are not written as a URI')
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const { inbox } = served.service.host
      const context = tab.page.context()
      // Also those of this machine: only the page itself may be asked for something.
      const requested: string[] = []
      context.on('request', (request) => {
        if (new URL(request.url()).origin !== served.url) requested.push(request.url())
      })
      const opened: string[] = []
      for (const [n, { url }] of addresses.entries()) {
        start(served, 'ask', { mode: 'url', elicitationId: `u${n}`, message: `Visit ${n}`, url })
        await until(() => open(served).length === n + 1, 'the question')
      }
      for (const [n, { id }] of open(served).entries()) {
        const { url = '', host = '', codes = [], opens } = addresses[n] ?? {}
        const question = inbox.get(id)?.question
        const findings = question?.kind === 'elicitation' ? (question.findings ?? []) : []
        const inspected = inspectUrl(url)
        expect([url, findings]).toEqual([url, inspected.findings])
        expect([url, findings.map(({ code }) => code)]).toEqual([url, expect.arrayContaining([...codes])])
        expect([url, new URL(inspected.href).host, inspected.opens]).toEqual([url, host, opens])
        await tab.go(`/inbox/${id}`)
        const card = tab.page.locator(`[data-card="${id}"]`)
        await card.getByText(`Visit ${n}`, { exact: true }).waitFor()
        // The host is set off as it is resolved; whatever else it may be read as is a finding.
        const shown = await card.evaluate((element) => ({
          text: element.textContent ?? '',
          site: element.querySelector('[data-site] bdi')?.textContent,
          links: element.querySelectorAll('a:not([href^="/"])').length,
        }))
        expect([url, shown.site, shown.links]).toEqual([url, host, 0])
        for (const { message } of findings) expect(shown.text).toContain(message)
        // A card takes half a second to be armed.
        if (opens && n % openedEvery !== 0) continue
        await expect
          .poll(() => card.locator('[data-act=decline]').getAttribute('data-armed'), {
            message: url.slice(0, 80),
            timeout: 20_000,
          })
          .toBe('true')
        expect([url, await card.locator('[data-act=accept]').getAttribute('data-armed')]).toEqual([
          url,
          String(opens),
        ])
        expect([url, requested]).toEqual([url, []])
        if (!opens) continue
        await card.locator('[data-act=accept]').click()
        // The question whether the user has finished has another id.
        const visit = (): InboxItem | undefined =>
          open(served).find(({ question: now }) => now.kind === 'elicitation' && now.visit !== undefined)
        await until(() => visit() !== undefined, 'the question about the visit')
        await tab.go(`/inbox/${visit()?.id}`)
        const link = tab.page.getByRole('link', { name: 'Open the page' })
        await link.waitFor()
        await expect.poll(() => link.getAttribute('rel')).toBe('noopener noreferrer')
        expect([url, requested]).toEqual([url, []])
        await context.route(
          (address) => address.origin !== served.url,
          (route) => route.fulfill({ body: 'A page', contentType: 'text/html' }),
        )
        const [other] = await Promise.all([context.waitForEvent('page'), link.click()])
        await other.getByText('A page').waitFor()
        // The browser may leave out the user information.
        expect([url, await other.evaluate('[opener, document.referrer, location.host]')]).toEqual([
          url,
          [null, '', new URL(inspected.href).host],
        ])
        expect(requested.splice(0)).toHaveLength(1)
        await other.close()
        await tab.page.bringToFront()
        await context.unrouteAll()
        inbox.answer(visit()?.id ?? '', { action: 'accept' }, 'test')
        opened.push(url)
      }
      expect(opened.length).toBeGreaterThanOrEqual(
        addresses.filter(({ opens }) => opens).length / openedEvery / 2,
      )
      expect(tab.faults.splice(0).filter((fault) => !fault.startsWith('request: http'))).toEqual([])
      await tab.check()
    })

    test('an answer for later calls shows which calls it would have matched; two actions give it, and two revoke it', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const first = ask(served, { text: 'same' })
      await show(served, tab)
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.click('[data-act=allow]')
      await first
      const second = ask(served, { text: 'same' })
      const id = await show(served, tab)
      await tab.click('[data-act=remember]')
      await tab.page
        .getByText(/would have matched \d+ of \d+ calls in 30 days/)
        .first()
        .waitFor()
      await tab.check()
      await tab.page.locator('[data-card] td button[data-armed=true]').first().waitFor()
      await tab.click('[data-card] td button[data-armed=true] >> nth=0')
      await second
      expect(tab.acts).toBe(2)
      expect(served.service.host.policy.grants()).toHaveLength(1)
      await tab.go(`/inbox/${id}`)
      await tab.click('[data-act=forget]')
      await tab.click('[data-act=forget-sure]')
      await tab.page.getByText('not remembered any more').waitFor()
      expect(served.service.host.policy.grants()).toEqual([])
      expect(tab.acts).toBe(4)
      await tab.check()
    })
  },
)
