import { createHash } from 'node:crypto'
import type { InboxItem } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { asking, type Served, serveHost, stored } from '../fixtures/harness.ts'
import { missing, openPage, openTab, sentAnswers } from './journey.ts'

const rules = [
  { id: 'echo asks', verdict: 'ask' as const, tool: 'echo', scope: 'always' as const },
  { id: 'rest', verdict: 'allow' as const },
]
const textOf = (run: unknown): string => JSON.stringify(run)

/** Has the model's side call a tool, so that policy asks. */
function ask(served: Served, args: Record<string, unknown>): Promise<unknown> {
  return served.service.host.call('demo__echo', args, { caller: 'chat' })
}

function start(served: Served, tool: string, args: Record<string, unknown>): string {
  return served.service.startRun(
    { kind: 'call', tool: `demo__${tool}`, arguments: args },
    { by: 'test', asks: true },
  )
}

function open(served: Served): InboxItem[] {
  return served.service.host.inbox.list()
}

async function one(served: Served): Promise<InboxItem> {
  const { promise, resolve } = Promise.withResolvers<InboxItem>()
  const look = (): void => {
    const [item] = open(served)
    if (item !== undefined) resolve(item)
  }
  const off = served.service.host.on(look)
  look()
  return promise.finally(off)
}

describe.skipIf(missing !== undefined)(
  `questions in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('a login link works once and its key is stored nowhere afterwards', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const link = served.link()
      const key = new URL(link).hash.replace('#k=', '')
      const places: string[] = []
      // The browser itself reports the login that is refused.
      for (const [shown, path, faults] of [
        [/Nothing waits/, '/inbox', []],
        [/The login link is not valid/, '/', [expect.stringContaining('401')]],
      ] as const) {
        const tab = await openPage()
        const { page } = tab
        page.context().on('request', (request) => {
          // The one request that has to carry it is the login itself.
          if (new URL(request.url()).pathname !== '/login')
            places.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`)
        })
        await page.goto(link)
        await page.waitForFunction((source) => new RegExp(source).test(document.body.innerText), shown.source)
        const protocol = await page.context().newCDPSession(page)
        const { entries } = await protocol.send('Page.getNavigationHistory')
        const own = await page.evaluate(() => [
          location.href,
          document.referrer,
          document.documentElement.outerHTML,
          JSON.stringify({ ...localStorage, ...sessionStorage }),
        ])
        places.push(...entries.map(({ url }) => url), ...own)
        expect([page.url(), tab.faults.splice(0)]).toEqual([`${served.url}${path}`, faults])
      }
      expect(places.length).toBeGreaterThan(10)
      expect([...places, ...(await stored(served))].filter((text) => text.includes(key))).toEqual([])
      expect(served.sessions()).toBe(1)
    })

    test('a call is allowed with one action, and the server gets the arguments that were shown', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const call = ask(served, { text: 'Oslo' })
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.check()
      await tab.click('[data-act=allow]')
      expect(textOf(await call)).toContain('Oslo')
      expect(tab.acts).toBe(1)
    })

    test('a question does not move the focus, and keys without a modifier never answer it', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/activity')
      await tab.page.getByLabel('Filter').focus()
      const call = ask(served, { text: 'x' })
      await tab.page.waitForFunction(() => document.title.startsWith('(1)'))
      const typed = 'y d Allow once '
      await tab.page.keyboard.type(typed)
      for (const key of ['Enter', 'Space', 'Enter', 'Escape']) await tab.page.keyboard.press(key)
      await expect.poll(() => tab.page.getByLabel('Filter').inputValue()).toBe(`${typed} `)
      expect(open(served)).toHaveLength(1)
      // Nor do they on the card itself, as long as no button has the focus.
      await tab.page.goto(`${served.url}/inbox`)
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.locator('[data-card]').focus()
      for (const key of ['Enter', 'Space', 'y', 'Escape']) await tab.page.keyboard.press(key)
      expect(open(served)).toHaveLength(1)
      await tab.press('Control+Enter')
      expect(textOf(await call)).toContain('x')
    })

    test('after a press before the card is armed, a key answers at once', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const call = ask(served, { text: 'x' })
      const button = tab.page.locator('[data-act=allow]')
      await button.waitFor()
      expect(await button.getAttribute('data-armed')).toBe('false')
      for (const event of ['pointerdown', 'pointerup', 'click']) await button.dispatchEvent(event)
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      expect(open(served)).toHaveLength(1)
      await tab.page.locator('[data-card]').focus()
      await tab.press('Control+Enter')
      await tab.page.locator('[data-card]').waitFor({ state: 'detached' })
      expect(textOf(await call)).toContain('x')
    })

    test('a press before the card is armed is ignored', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      // Presses where the button appears, from before it is there.
      const call = ask(served, { text: 'x' })
      const button = tab.page.locator('[data-act=allow]')
      await button.waitFor()
      expect(await button.getAttribute('data-armed')).toBe('false')
      await button.dispatchEvent('pointerdown')
      await button.dispatchEvent('click')
      expect(open(served)).toHaveLength(1)
      // A press that began before, and ends after.
      const box = await button.boundingBox()
      if (box === null) throw new Error('no button')
      await tab.page.mouse.move(box.x + 5, box.y + 5)
      await tab.page.mouse.down()
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.mouse.up()
      expect(open(served)).toHaveLength(1)
      await tab.click('[data-act=allow]')
      await call
    })

    test('a card that is partly out of view is not armed', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const call = ask(served, { text: 'x' })
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      const detail = tab.page.getByRole('region', { name: 'Question', exact: true })
      await detail.evaluate((element) => element.style.setProperty('max-height', '200px'))
      await tab.page.waitForSelector('[data-act=allow][data-armed=false]')
      await tab.page.locator('[data-act=allow]').dispatchEvent('click')
      expect(open(served)).toHaveLength(1)
      await detail.evaluate((element) => element.style.removeProperty('max-height'))
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.click('[data-act=allow]')
      await call
    })

    test('arguments are edited: invalid ones are not sent, others are sent as edited', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const call = ask(served, { text: 'before' })
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.click('[data-act=edit]')
      await tab.page.getByRole('button', { name: 'JSON', exact: true }).click()
      const editor = tab.page.getByLabel('Arguments as JSON')
      await editor.fill('{"text": ')
      await tab.page.waitForSelector('[data-act=allow][aria-disabled=true]')
      await tab.page.locator('[data-act=allow]').dispatchEvent('click')
      expect(open(served)).toHaveLength(1)
      // Arguments that the schema forbids are not sent either: the card names the place.
      await editor.fill('{"text": 5}')
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.click('[data-act=allow]')
      await tab.page.getByRole('alert').getByText('/text').waitFor()
      expect(served.service.host.activity({ kind: 'call' }).map(({ outcome }) => outcome)).toEqual([
        'running',
      ])
      await tab.click('[data-act=edit]')
      // Nor is a value that cannot be read: the last one that could be is not sent in its place.
      await tab.page.getByLabel(/^text/).fill('five')
      await tab.page.getByText('Correct /text first.').waitFor()
      await tab.page.waitForSelector('[data-act=allow][aria-disabled=true]')
      await tab.page.getByRole('button', { name: 'JSON', exact: true }).click()
      await editor.fill('{"text": "after"}')
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.getByRole('button', { name: 'Your changes (1)' }).click()
      await expect.poll(() => tab.page.locator('[data-card] ins').count()).toBe(1)
      await tab.check()
      await tab.click('[data-act=allow]')
      expect(textOf(await call)).toContain('after')
      const row = served.service.host.activity({ kind: 'approval' }).at(-1)
      expect(row?.detail).toMatchObject({ edited: true, sent: { text: 'after' } })
    })

    test('an argument of 1 MB with invisible characters is shown as it is sent', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const text = `start\u202e${'0123456789'.repeat(100_000)}\u200bend`
      const tab = await openTab(served, '/inbox')
      const call = ask(served, { text })
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await expect
        .poll(() => tab.page.locator('[data-act=allow]').innerText())
        .toContain('Allow without reading the rest')
      await tab.page.getByRole('button', { name: /characters more/ }).click()
      const shown = await tab.page.locator('[data-card] td bdi').evaluate((element) => element.textContent)
      const digest = (value: string): string => createHash('sha256').update(value).digest('hex')
      expect(digest(shown.replaceAll('U+202E', '\u202e').replaceAll('U+200B', '\u200b'))).toBe(digest(text))
      expect(shown).not.toMatch(/[\u202e\u200b]/)
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.check()
      await tab.click('[data-act=allow]')
      // The server gives back what it got.
      const { result } = JSON.parse(textOf(await call))
      expect(digest(JSON.parse(result.content[0].text).text)).toBe(digest(text))
    })

    test('a result shows the tokens of both sides, and the part of a long one that the model gets', async () => {
      const served = await serveHost({
        servers: { demo: asking },
        rules: [{ id: 'seen', verdict: 'ask', tool: 'echo', gate: 'result' }, ...rules.slice(1)],
      })
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      const call = ask(served, { text: 'word '.repeat(6_000) })
      await page.waitForSelector('[data-act=allow][data-armed=true]')
      const [given, passed] = ['What the server gave', 'What is passed on'].map((name) =>
        page.getByRole('group', { name, exact: true }).first(),
      )
      const tokens = (text: string): number =>
        Number(/about ([\d,]+) tokens/.exec(text)?.[1]?.replace(',', ''))
      const whole = tokens((await given?.innerText()) ?? '')
      expect(whole).toBeGreaterThan(8_000)
      expect(tokens((await passed?.innerText()) ?? '')).toBe(whole)
      const beginning = page.getByText('The model gets the beginning').first()
      const part = tokens(await beginning.innerText())
      expect(part).toBeGreaterThan(1_000)
      expect(part).toBeLessThan(whole / 4)
      await beginning.click()
      await page.getByText('read more of it with read_result').waitFor()
      await tab.check()
      // What is cut by hand to a length that a model gets whole is not shortened.
      await page.locator('[data-act=edit]').click()
      await page.locator('[data-card] textarea').fill('{"content":[{"type":"text","text":"Short."}]}')
      await beginning.waitFor({ state: 'detached' })
      await tab.click('[data-act=allow][data-armed=true]')
      expect(textOf(await call)).toContain('Short.')
    })

    test('without a connection nothing is sent, then or later', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const answers = sentAnswers(tab.page)
      await tab.page.reload()
      const call = ask(served, { text: 'x' })
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await served.disconnect()
      await tab.page.getByText('Not connected: nothing was sent.').waitFor()
      await tab.page.locator('[data-act=allow]').dispatchEvent('click')
      await tab.page.getByText('The connection to the host is lost').waitFor()
      await served.reconnect()
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]', { timeout: 20_000 })
      expect(open(served)).toHaveLength(1)
      expect(answers).toEqual([])
      await tab.click('[data-act=allow]')
      await call
      expect(answers).toHaveLength(1)
      await tab.finish()
    })

    test('a secret with a default is cleared, and is not stored with the draft', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const requestedSchema = {
        type: 'object',
        properties: {
          password: { type: 'string', title: 'Password', default: 'hunter2hunter2' },
          note: { type: 'string', title: 'Note' },
        },
      }
      start(served, 'ask', { params: { message: 'Log in', requestedSchema } })
      const password = tab.page.locator('input[type=password]')
      await expect.poll(() => password.inputValue()).toBe('hunter2hunter2')
      await tab.page.getByLabel('Note').fill('two of us')
      const kept = await tab.page.evaluate(() => JSON.stringify({ ...sessionStorage }))
      expect(kept).toContain('two of us')
      expect(kept).not.toContain('hunter2')
      await password.fill('')
      expect(await password.inputValue()).toBe('')
      // The host sends the default for a field without a value, and not without consent.
      await tab.page.locator('[data-act=review]').click()
      expect(await tab.page.locator('[data-act=accept]').count()).toBe(0)
      await tab.page.locator('[data-act=decline][data-armed=true]').click()
      await tab.page.locator('[data-card]').waitFor({ state: 'detached' })
    })

    test('the label of a field leads to it, and a choice is validated once it is left', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const requestedSchema = {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Name' },
          colours: {
            type: 'array',
            title: 'Colours',
            items: { type: 'string', enum: ['red', 'green'] },
            minItems: 2,
          },
        },
      }
      start(served, 'ask', { params: { message: 'Who are you?', requestedSchema } })
      const { page } = tab
      await page.locator('label', { hasText: 'Name' }).click()
      expect(await page.locator('input[type=text]:focus').count()).toBe(1)
      await page.getByLabel('red').focus()
      await page.keyboard.press('Space')
      await page.keyboard.press('Tab')
      expect(await page.getByLabel('green').evaluate((input) => input === document.activeElement)).toBe(true)
      const problem = page.locator('fieldset [class*=problem]')
      expect(await problem.count()).toBe(0)
      await page.getByRole('button', { name: 'Later' }).focus()
      await problem.waitFor()
    })

    test('a form is filled in, reviewed and sent; its draft survives a reload', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const requestedSchema = {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Name', minLength: 2 },
          seats: { type: 'integer', title: 'Seats', minimum: 1 },
          tier: { type: 'string', title: 'Tier', enum: ['free', 'team'] },
          news: { type: 'boolean', title: 'News' },
          mail: { type: 'string', title: 'Mail', format: 'email' },
        },
        required: ['name', 'tier'],
      }
      const tab = await openTab(served, '/inbox')
      const run = start(served, 'ask', { params: { message: 'Who are you?', requestedSchema } })
      await tab.page.getByLabel('Name').fill('Ada')
      await tab.page.getByLabel('Seats').fill('x')
      await tab.page.reload()
      await expect.poll(() => tab.page.getByLabel('Name').inputValue()).toBe('Ada')
      await tab.page.locator('[data-act=review]').click()
      await tab.page.getByText('This is required').waitFor()
      await tab.page.getByLabel('Seats').fill('3')
      await tab.page.getByLabel('Mail').fill('ada@example.org')
      await tab.page.getByLabel('No', { exact: true }).check()
      await tab.page.getByLabel('team').check()
      await tab.page.keyboard.press('Enter')
      expect(open(served)).toHaveLength(1)
      await tab.click('[data-act=review]')
      await tab.page.getByText('Exactly this is sent').waitFor()
      await tab.check()
      await tab.page.waitForSelector('[data-act=accept][data-armed=true]')
      await tab.click('[data-act=accept]')
      expect(tab.acts).toBe(2)
      const { result } = await served.service.runs.wait(run, new AbortController().signal)
      expect(textOf(result)).toContain(
        JSON.stringify(
          JSON.stringify({
            answer: {
              action: 'accept',
              content: { name: 'Ada', seats: 3, tier: 'team', news: false, mail: 'ada@example.org' },
            },
          }),
        ).slice(1, -1),
      )
    })

    test.each(['decline', 'cancel'])(
      'a form is answered with %s as the protocol defines it',
      async (action) => {
        const served = await serveHost({ servers: { demo: asking }, rules })
        const tab = await openTab(served, '/inbox')
        const run = start(served, 'ask', {
          params: {
            message: 'Sure?',
            requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
          },
        })
        await tab.page.waitForSelector(`[data-act=${action}][data-armed=true]`)
        await tab.click(`[data-act=${action}]`)
        expect(textOf((await served.service.runs.wait(run, new AbortController().signal)).result)).toContain(
          `\\"action\\":\\"${action}\\"`,
        )
      },
    )

    test('a field that asks for a password prevents sending until the user consents, and its value is not stored', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      start(served, 'ask', {
        params: {
          message: 'Log in',
          requestedSchema: {
            type: 'object',
            properties: {
              password: { type: 'string', title: 'Password' },
              note: { type: 'string', title: 'Note' },
            },
            required: ['password'],
          },
        },
      })
      const kept = (): Promise<string> =>
        tab.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
      await tab.page.getByLabel(/^Note/).fill('two of us')
      await tab.page.getByLabel(/^Password/).fill('hunter2hunter2')
      await tab.page.locator('[data-act=review]').click()
      expect(await tab.page.locator('[data-act=accept]').count()).toBe(0)
      // The draft of the form has what is no secret.
      expect(await kept()).toContain('two of us')
      expect(await kept()).not.toContain('hunter2')
      await tab.check()
      await tab.page.getByLabel('Send this value anyway').check()
      await tab.page.locator('[data-act=review]').click()
      await tab.page.waitForSelector('[data-act=accept][data-armed=true]')
      await tab.click('[data-act=accept]')
      await tab.page.waitForSelector('[data-act=accept]', { state: 'detached' })
      expect(await kept()).not.toContain('hunter2')
      expect(await tab.page.evaluate(() => document.documentElement.outerHTML)).not.toContain('hunter2')
      expect((await stored(served)).join()).not.toContain('hunter2')
      await tab.check()
    })

    test('two tabs answer one question: one answer is accepted, the other tab shows its origin', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const [tab, other] = [await openTab(served, '/inbox'), await openTab(served, '/inbox')]
      const call = ask(served, { text: 'x' })
      const { id } = await one(served)
      for (const { page } of [tab, other]) await page.waitForSelector('[data-act=allow][data-armed=true]')
      // The button of the one that comes second may be gone by then.
      const clicks = [tab, other].map(({ page }) =>
        page.locator('[data-act=allow]').click({ timeout: 2_000 }),
      )
      await Promise.any(clicks)
      await Promise.allSettled(clicks)
      await call
      for (const { page } of [tab, other]) {
        await page.goto(`${served.url}/inbox/${id}`)
        await page.getByText(/Allowed by web · Chrome on /).waitFor()
      }
    })

    test.each([
      [1024, 'dark', 'en'],
      [390, 'light', 'zh-CN'],
    ] as const)('every kind of card is accessible at %i px, %s, %s', async (width, colorScheme, locale) => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox', { viewport: { width, height: 844 }, colorScheme, locale })
      void ask(served, { text: 'x' })
      start(served, 'ask', {
        params: {
          message: 'Name?',
          requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      })
      start(served, 'ask', {
        params: { mode: 'url', elicitationId: 'u', message: 'Pay', url: 'https://pay.example/1' },
      })
      start(served, 'sample', {
        params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 100 },
      })
      start(served, 'roots', {})
      await tab.page.waitForFunction(() => /^\(5\)/.test(document.title))
      for (const { id } of open(served)) {
        await tab.go(`/inbox/${id}`)
        await tab.page.waitForSelector(`[data-card="${id}"]`)
        await tab.check()
      }
    })
  },
)
