import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { InboxItem } from '@jackfield/host'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { seed } from '../../../../test/setup/seed.ts'
import { run } from '../../../app/test/cli/jackfield.ts'
import { changed, definitionServer, shop as shopTexts } from '../../../host/test/trust/definition-server.ts'
import { asking, type Served, serveHost, stateless } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const isLong = process.env['JACKFIELD_LONG'] === '1'
const races = isLong ? 200 : 8
/** Presses of a mouse around the appearance of cards. */
const presses = isLong ? 1_000 : 20
/** Of 1,000 open questions, those that a key leads to. */
const reached = isLong ? 1_000 : 200

const rules = [
  { id: 'echo asks', verdict: 'ask' as const, tool: 'echo', scope: 'always' as const },
  { id: 'look', verdict: 'ask' as const, tool: 'look', gate: 'result' as const },
  { id: 'rest', verdict: 'allow' as const },
]

/** Has the model's side call a tool, so that policy asks. */
function ask(
  served: Served,
  args: Record<string, unknown>,
  server = 'demo',
  tool = 'echo',
): Promise<unknown> {
  const caller = { caller: 'chat', conversation: 'talk' } as const
  return served.service.host.call(`${server}__${tool}`, args, caller).catch((error: unknown) => error)
}

function start(served: Served, tool: string, params?: Record<string, unknown>): string {
  const request = { kind: 'call' as const, tool: `demo__${tool}`, arguments: params ? { params } : {} }
  return served.service.startRun(request, { by: 'test', asks: true })
}

const open = (served: Served): InboxItem[] => served.service.host.inbox.list()

/** Of all open questions about changed definitions. */
const changesOf = (served: Served): number =>
  open(served).reduce(
    (sum, { question }) => sum + (question.kind === 'drift' ? question.changes.length : 0),
    0,
  )

/** Waits for a question and opens it. */
async function look(served: Served, tab: Tab, what = 'question'): Promise<string> {
  await until(() => open(served).length > 0, `a ${what}`)
  const [item] = open(served)
  const id = item?.id ?? ''
  await tab.go(`/inbox/${id}`)
  await tab.page.locator(`[data-card="${id}"]`).waitFor()
  return id
}

/** Presses a button of the card once it is armed. */
async function press(tab: Tab, act: string): Promise<void> {
  await tab.page.waitForSelector(`[data-act=${act}][data-armed=true]`)
  await tab.click(`[data-act=${act}]`)
}

function answered(served: Served, id: string): Promise<unknown> {
  const item = (): InboxItem | undefined => served.service.host.inbox.get(id)
  return until(() => item()?.state !== 'open', 'the answer').then(
    () => item()?.answer?.value ?? item()?.state,
  )
}

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { a: { type: 'string' } } } }
const page = { mode: 'url', elicitationId: 'u', message: 'Pay', url: 'https://pay.example/1' }

describe.skipIf(missing !== undefined)(
  `the inbox in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: isLong ? 1_200_000 : 90_000 },
  () => {
    test('a page is accepted, opened by the user, and confirmed, and is not fetched before', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const run = start(served, 'ask', { ...page, url: 'https://xn--pypal-4ve.example/pay' })
      await look(served, tab)
      // A name that imitates another is shown as it is resolved.
      await expect.poll(() => tab.page.locator('[data-card]').innerText()).toContain('xn--pypal-4ve.example')
      await press(tab, 'accept')
      const link = tab.page.getByRole('link', { name: 'Open the page' })
      await link.waitFor()
      await expect.poll(() => link.getAttribute('rel')).toBe('noopener noreferrer')
      // A button that is armed during the check changes its colours.
      await tab.page.locator('[data-act=done][data-armed=true]').waitFor()
      await tab.check()
      const context = tab.page.context()
      let fetched = 0
      await context.route('https://xn--pypal-4ve.example/**', (route) => {
        fetched += 1
        return route.fulfill({ body: 'Pay', contentType: 'text/html' })
      })
      const [opened] = await Promise.all([context.waitForEvent('page'), link.click()])
      await opened.getByText('Pay').waitFor()
      expect([fetched, await opened.evaluate('[opener, document.referrer]')]).toEqual([1, [null, '']])
      await opened.close()
      expect(tab.faults.splice(0)).toEqual(['request: https://xn--pypal-4ve.example/pay'])
      await press(tab, 'done')
      const { result } = await served.service.runs.wait(run, new AbortController().signal)
      expect(JSON.stringify(result)).toContain('\\"action\\":\\"accept\\"')
    })

    test('a server gets the one of three folders that was selected, and none once it is denied', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const { host } = served.service
      const folder = join(served.file, '..')
      for (const name of ['one', 'two']) {
        mkdirSync(join(folder, name))
        await host.roots.add(join(folder, name))
      }
      const tab = await openTab(served, '/inbox')
      const run = start(served, 'roots')
      await until(() => open(served).length > 0, 'a question')
      await tab.go('/servers/demo')
      await tab.page.getByText('waits for you', { exact: true }).waitFor()
      await look(served, tab)
      const boxes = tab.page.locator('[data-card] input[type=checkbox]')
      const uris = await tab.page.locator('[data-card] label bdi').allInnerTexts()
      await expect.poll(() => boxes.count()).toBe(3)
      for (const n of [1, 2]) await boxes.nth(n).uncheck()
      await press(tab, 'allow')
      const { result } = await served.service.runs.wait(run, new AbortController().signal)
      const output = JSON.stringify(result)
      const files = uris.filter((uri) => uri.startsWith('file:'))
      expect(files.map((uri) => output.includes(`\\"${uri}\\"`))).toEqual([true, false, false])
      await tab.go('/servers/demo')
      await tab.page.getByRole('button', { name: 'Allow none' }).click()
      await expect.poll(async () => (await host.roots.servers())[0]?.state).toBe('denied')
      const none = start(served, 'roots')
      const { result: nothing } = await served.service.runs.wait(none, new AbortController().signal)
      expect(files.filter((uri) => JSON.stringify(nothing).includes(uri))).toEqual([])
    })

    test('12 changed definitions of a server are rows, and disabled until the user accepts them', async () => {
      const shop = definitionServer(shopTexts)
      const served = await serveHost({ servers: { demo: shop.config }, rules })
      const tab = await openTab(served, '/inbox')
      const { host } = served.service
      const names = (): string[] => host.tools().map(({ tool }) => tool.name)
      await until(() => names().includes('buy'), 'the tools')
      const change = (copy: typeof shopTexts): void => {
        const [buy, look] = copy.tools
        const [choose, thank] = copy.prompts
        const [open, list] = copy.resources
        const [item, bill] = copy.templates
        const definition = { description: 'Now it also sends \u200byour files.' }
        Object.assign(buy ?? {}, definition, { title: 'Buy!' })
        for (const one of [look, choose, thank, open, list, item, bill]) Object.assign(one ?? {}, definition)
        Object.assign(open ?? {}, { title: 'Opening hours' })
        for (const one of [choose, thank]) Object.assign(one ?? {}, { title: 'Choose!' })
      }
      shop.define(changed(change))
      await host.call('demo__reload', {}, { caller: 'person', typed: true })
      await until(() => changesOf(served) >= 12, 'all changes')
      const ids = open(served).map(({ id }) => id)
      const rows: string[] = []
      for (const id of ids) {
        await tab.go(`/inbox/${id}`)
        const card = tab.page.locator(`[data-card="${id}"]`)
        await card.waitFor()
        rows.push(...(await card.locator('[data-change]').allInnerTexts()))
      }
      expect(rows).toHaveLength(12)
      expect(rows.filter((row) => row.includes('U+200B'))).toHaveLength(8)
      expect(names()).toEqual(['reload'])
      await tab.check()
      for (const id of ids) {
        await tab.go(`/inbox/${id}`)
        await press(tab, 'accept')
        expect(await answered(served, id)).toMatchObject({ verdict: 'accept' })
      }
      await until(() => names().length === 3, 'the tools')

      // One more change, from another screen: two actions lead to it and accept it.
      await tab.go('/servers')
      shop.define(
        changed((copy) => {
          change(copy)
          Object.assign(copy.tools[0] ?? {}, { description: 'Now it sends nothing.' })
        }),
      )
      await host.call('demo__reload', {}, { caller: 'person', typed: true })
      await until(() => changesOf(served) === 1, 'the change')
      await tab.page.waitForFunction(() => document.title.startsWith('(1)'))
      tab.acts = 0
      await tab.press('i')
      await tab.page.locator('[data-change]').getByText('nothing').waitFor()
      await press(tab, 'accept')
      await until(() => open(served).length === 0, 'the answer')
      expect(tab.acts).toBe(2)
    })

    test('500 random keys while cards appear answer nothing and stay in the focused field', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/activity')
      const field = tab.page.getByLabel('Filter')
      // The cards appear in the side panel.
      await tab.page.keyboard.press('.')
      await tab.page.locator('#dock').waitFor()
      await field.focus()
      // Whatever else gets the focus, also for a moment.
      await tab.page.evaluate(() => {
        const focused: string[] = []
        Object.assign(window, { focused })
        for (const kind of ['focusin', 'focusout'])
          document.addEventListener(kind, ({ target }) => focused.push(`${kind} ${target}`), true)
      })
      const keys = fc.constantFrom('y', 'd', 'a', 'Enter', 'Space', 'l', 'e', 'r', 'x', 'J', 'Control+.')
      const chosen = fc.sample(keys, { numRuns: 500, seed })
      let typed = ''
      for (const [n, key] of chosen.entries()) {
        if (n % 25 === 0) void ask(served, { text: String(n) })
        await tab.page.keyboard.press(key)
        typed += key.length === 1 ? key : key === 'Space' ? ' ' : ''
      }
      await tab.page.waitForFunction(() => document.title.startsWith('(20)'))
      await expect.poll(() => tab.page.locator('#dock [data-card]').count()).toBe(20)
      await expect.poll(() => field.inputValue()).toBe(typed)
      expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
      expect(await tab.page.evaluate('focused')).toEqual([])
      expect(open(served)).toHaveLength(20)
      expect(served.service.host.inbox.list({ state: 'all' })).toHaveLength(20)
    })

    test(`${presses} presses of the mouse around the moments that cards appear answer only once they are armed`, async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      await tab.page.evaluate(() => {
        const presses: (string | null)[] = []
        Object.assign(window, { presses })
        document.addEventListener(
          'pointerdown',
          ({ target }) => {
            const button = target instanceof Element ? target.closest('[data-act=allow]') : null
            if (button !== null) presses.push(button.getAttribute('data-armed'))
          },
          true,
        )
      })
      let count = 0
      let cards = 0
      for (; count < presses; cards++) {
        const call = ask(served, { text: String(cards) })
        const button = tab.page.locator('[data-act=allow]')
        await button.waitFor()
        while (open(served).length > 0) {
          // It moves until everything above it is drawn.
          const box = await button.boundingBox({ timeout: 500 }).catch(() => null)
          if (box !== null) await tab.page.mouse.click(box.x + 8, box.y + 8)
          await tab.page.waitForTimeout((cards * 37) % 90)
        }
        await call
        const armed: string[] = await tab.page.evaluate('presses.splice(0)')
        // No answer without a press on an armed button, and none is missing after it.
        const early = armed.indexOf('true')
        expect(early).toBeGreaterThanOrEqual(0)
        expect(armed.slice(0, early)).toEqual(Array(early).fill('false'))
        count += armed.length
      }
      expect(served.service.host.inbox.list({ state: 'all' })).toHaveLength(cards)
    })

    test(`two tabs and a terminal answer ${races} questions at once: one answer is accepted, and the others show who gave it and when`, async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tabs = [await openTab(served, '/inbox'), await openTab(served, '/inbox')]
      const { inbox } = served.service.host
      const store = join(dirname(served.file), 'store.db')
      const winners = { tab: 0, terminal: 0 }
      // The tabs answer before the command, whose duration is not known, and in every second round after it as well.
      let usualMs = 50
      const delays = fc.sample(fc.tuple(fc.nat(100), fc.nat(100)), { numRuns: races, seed })
      for (const [round, drawn] of delays.entries()) {
        const shares = drawn.map((share) => (round % 2 === 0 ? share : share + 75))
        const call = ask(served, { text: String(round) })
        await until(() => open(served).length === 1, 'the question')
        const id = open(served)[0]?.id ?? ''
        for (const tab of tabs) {
          await tab.go(`/inbox/${id}`)
          await tab.page.waitForSelector(`[data-card="${id}"] [data-act=allow][data-armed=true]`)
        }
        const presses = tabs.map(({ page }, n) =>
          // Pressed within the page, so that the answers are given within a few milliseconds.
          page.evaluate(
            ([card, wait]) =>
              new Promise<void>((resolve) => {
                setTimeout(() => {
                  document.querySelector<HTMLElement>(`[data-card="${card}"] [data-act=allow]`)?.click()
                  resolve()
                }, wait)
              }),
            [id, ((shares[n] ?? 0) / 100) * usualMs] as const,
          ),
        )
        const before = performance.now()
        // A command of its own connection to the store.
        const command = run(['respond', id, '--deny', '--store', store]).finally(() => {
          usualMs = performance.now() - before
        })
        const [terminal] = await Promise.all([command, ...presses])
        const { value, by = '', at = '' } = inbox.get(id)?.answer ?? {}
        const isTerminal = by === 'jackfield respond'
        // The call did what the one answer says.
        expect([round, value]).toEqual([round, { verdict: isTerminal ? 'deny' : 'allow' }])
        expect(JSON.stringify(await call).includes('"denied":true')).toBe(isTerminal)
        // Every other one names who gave it and when.
        expect([round, terminal.code === 0]).toEqual([round, isTerminal])
        if (!isTerminal) expect(terminal.stderr).toContain(`answered by ${by} at ${at}`)
        const time = new Intl.DateTimeFormat('en', {
          ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false },
        }).format(new Date(at))
        for (const { page } of tabs)
          await page.getByText(`${isTerminal ? 'Denied' : 'Allowed'} by ${by} at ${time}`).waitFor()
        winners[isTerminal ? 'terminal' : 'tab'] += 1
      }
      expect(inbox.list({ state: 'all' })).toHaveLength(races)
      // The race is one: both sides win some of it.
      expect(Math.min(winners.tab, winners.terminal)).toBeGreaterThan(0)
      for (const tab of tabs) await tab.check()
    })

    test('20 questions of 5 servers are answered in random order and over two reloads, each to its own call', async () => {
      const names = ['demo', 'shop', 'crm', 'mail', 'files']
      const servers = Object.fromEntries(names.map((name) => [name, asking]))
      const served = await serveHost({ servers, rules })
      const tab = await openTab(served, '/inbox')
      const calls = Array.from({ length: 20 }, (_, n) =>
        ask(served, { text: `answer ${n}` }, names[n % names.length]),
      )
      await tab.page.waitForFunction(() => document.title.startsWith('(20)'))
      const ids = open(served).map(({ id }) => id)
      const [order = []] = fc.sample(fc.shuffledSubarray(ids, { minLength: ids.length }), {
        numRuns: 1,
        seed,
      })
      for (const [n, id] of order.entries()) {
        if (n === 6 || n === 13) await tab.page.reload()
        await tab.go(`/inbox/${id}`)
        await tab.page.locator(`[data-card="${id}"]`).waitFor()
        await press(tab, 'allow')
        expect(await answered(served, id)).toEqual({ verdict: 'allow' })
      }
      const results = await Promise.all(calls)
      expect(results.map((result, n) => JSON.stringify(result).includes(`answer ${n}\\"`))).toEqual(
        results.map(() => true),
      )
      expect(served.service.host.inbox.list({ state: 'all' })).toHaveLength(20)
      expect(tab.acts).toBe(20)
    })

    test('1,000 open questions are counted, filtered, reached by key one by one, and rendered with few elements', async () => {
      const served = await serveHost({ servers: { demo: asking, shop: asking }, rules })
      const tab = await openTab(served, '/inbox')
      for (let n = 0; n < 1_000; n++) void ask(served, { text: String(n) }, n % 40 === 0 ? 'shop' : 'demo')
      await tab.page.waitForFunction(() => document.title.startsWith('(1000)'))
      await tab.page.getByText('1,000 wait for you').first().waitFor()
      // One more call is rejected, since none is answered.
      expect(JSON.stringify(await ask(served, { text: 'one more' }))).toContain('1000 questions are open')
      expect(await tab.page.locator('*').count()).toBeLessThanOrEqual(3_000)
      const filter = tab.page.getByLabel('Filter questions')
      await filter.fill('shop')
      await tab.page.getByText('25 of 1,000').waitFor()
      expect(
        await tab.page
          .getByRole('list', { name: 'Questions' })
          .locator('li')
          .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-setsize'))),
      ).toContain('25')
      await filter.fill('')
      await filter.blur()
      // Pressed within the page: what a key does is tested elsewhere, and each shows another card.
      const seen: string[] = await tab.page.evaluate(async (count) => {
        const paths: string[] = []
        for (let n = 0; n < count; n++) {
          document.body.dispatchEvent(
            new KeyboardEvent('keydown', { key: 'J', shiftKey: true, bubbles: true }),
          )
          paths.push(location.pathname)
          await new Promise((resolve) => setTimeout(resolve))
        }
        return paths
      }, reached)
      expect(new Set(seen).size).toBe(reached)
      expect(await tab.page.locator('*').count()).toBeLessThanOrEqual(3_000)
    })

    test('two tabs reconnect after the host was killed; a call of 2026-07-28 is then answered and completes, one of a session is lost', async () => {
      const first = await serveHost({ servers: { demo: asking, modern: stateless }, rules })
      const tab = await openTab(first, '/inbox')
      const other = await tab.page.context().newPage()
      await other.goto(`${first.url}/servers`)
      await other.getByText('ready').first().waitFor()
      const { service } = first
      for (const tool of ['demo__ask', 'modern__ask'])
        service.startRun({ kind: 'call', tool, arguments: { params: form } }, { by: 'test', asks: true })
      await until(() => open(first).length === 2, 'both questions')
      const again = await first.restart()
      await other.getByText('ready').first().waitFor()
      // What a tab shows that was there before is what a new one shows, and neither logs in.
      const fresh = await tab.page.context().newPage()
      await fresh.goto(`${again.url}/inbox`)
      const listed = (page: Page): Promise<string> =>
        page.locator('main section > header').first().innerText()
      await expect.poll(async () => (await listed(tab.page)) === (await listed(fresh))).toBe(true)
      await fresh.goto(`${again.url}/servers`)
      await fresh.getByText('ready').first().waitFor()
      // Times go on, and differ by what was measured.
      const rowsOf = async (page: Page): Promise<string[]> =>
        (await page.locator('main li').allInnerTexts()).map((text) =>
          text.replace(/\d+(?:\.\d+)?\s*(?:ms|sec|min)/g, ''),
        )
      await expect
        .poll(async () => JSON.stringify(await rowsOf(other)) === JSON.stringify(await rowsOf(fresh)))
        .toBe(true)
      expect(again.sessions()).toBe(1)
      await fresh.close()
      // The call of the older revision died with its session; the other one is continued once it is answered.
      await tab.page.getByText('Settled (1)').waitFor()
      const items = again.service.host.inbox.list({ state: 'all' })
      expect(new Map(items.map(({ question, state }) => [question.cause.server, state]))).toEqual(
        new Map([
          ['demo', 'lost'],
          ['modern', 'open'],
        ]),
      )
      await tab.go(`/inbox/${items.find(({ state }) => state === 'lost')?.id}`)
      await tab.page.bringToFront()
      await tab.page.getByText('Lost: the call that asked cannot be continued.').first().waitFor()
      await tab.check()

      const modern = items.find(({ state }) => state === 'open')?.id ?? ''
      await tab.go(`/inbox/${modern}`)
      await tab.page.getByLabel('seat').fill('12A')
      await tab.page.click('[data-act=review]')
      await press(tab, 'accept')
      await until(() => again.service.host.inbox.get(modern)?.state !== 'open', 'the answer')
      // The call is the same as the one before the end of the host, so the rule against repeated calls asks.
      await look(again, tab)
      await press(tab, 'allow')
      expect(JSON.stringify(await again.service.host.inbox.resumed(modern))).toContain('12A')
      // Its host ends before the one that this test began with.
      await tab.finish()
    })
  },
)
