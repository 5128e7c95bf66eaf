import { join } from 'node:path'
import { type InboxItem, planForServer } from '@jackfield/host'
import { describe, expect, test } from 'vitest'
import { changed, saying, shop as shopTexts } from '../../../host/test/trust/saying.ts'
import { asking, type Served, serveHost, stateless } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

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

function install({ service }: Served): Promise<boolean> {
  const { config: _, ...plan } = planForServer('shop', { command: 'npx', args: ['-y', '@ann/shop@1.0.0'] })
  return service.host.approveInstallation({ plan, file: '/home/ann/config.json', starts: true })
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
const request = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 9 }

describe.skipIf(missing !== undefined)(
  `the inbox in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('every answer to every kind of question arrives as it was given', async () => {
      const inputs = [{ id: 'key', description: 'The key of the shop' }]
      const needing = {
        env: { KEY: `\${input:key}` },
        from: { file: '/none/mcp.json', layer: 'user' as const, inputs },
      }
      const served = await serveHost({ servers: { demo: asking, needing: { ...asking, ...needing } }, rules })
      const tab = await openTab(served, '/inbox')
      const answers: [kind: string, begin: () => unknown, acts: readonly string[], value: unknown][] = [
        ['approval', () => ask(served, { text: 'x' }), ['allow'], { verdict: 'allow' }],
        ['approval', () => ask(served, { text: 'x' }), ['+deny', 'deny-once'], { verdict: 'deny' }],
        ['result', () => ask(served, {}, 'demo', 'look'), ['allow'], { verdict: 'allow' }],
        ['result', () => ask(served, {}, 'demo', 'look'), ['deny-once'], { verdict: 'deny' }],
        ['elicitation', () => start(served, 'ask', form), ['decline'], { action: 'decline' }],
        ['elicitation', () => start(served, 'ask', form), ['cancel'], { action: 'cancel' }],
        [
          'elicitation',
          () => start(served, 'ask', form),
          ['+review', 'accept'],
          { action: 'accept', content: {} },
        ],
        ['elicitation', () => start(served, 'ask', page), ['decline'], { action: 'decline' }],
        ['elicitation', () => start(served, 'ask', page), ['cancel'], { action: 'cancel' }],
        ['sampling-request', () => start(served, 'sample', request), ['deny-once'], { verdict: 'deny' }],
        ['sampling-request', () => start(served, 'sample', request), ['allow'], { verdict: 'allow' }],
        ['sampling-result', () => undefined, ['deny-once'], { verdict: 'deny' }],
        ['roots', () => start(served, 'roots'), ['deny-once'], { verdict: 'deny' }],
        ['installation', () => install(served), ['deny-once'], { verdict: 'deny' }],
        ['installation', () => install(served), ['allow'], { verdict: 'allow' }],
        ['input', () => served.service.host.reconnect('needing'), ['deny-once'], { verdict: 'deny' }],
        ['input', () => served.service.host.reconnect('needing'), ['=secret', 'allow'], { verdict: 'allow' }],
      ]
      for (const [kind, begin, acts, value] of answers) {
        begin()
        const id = await look(served, tab, kind)
        expect(served.service.host.inbox.get(id)?.question.kind).toBe(kind)
        for (const act of acts)
          if (act.startsWith('='))
            await tab.page.locator('[data-card] input[type=password]').fill(act.slice(1))
          else if (act.startsWith('+')) await tab.click(`[data-act=${act.slice(1)}]`)
          else await press(tab, act)
        expect([kind, acts, await answered(served, id)]).toEqual([kind, acts, expect.objectContaining(value)])
      }
      await expect.poll(() => served.service.host.connections.get('needing')?.state).toBe('ready')
      await tab.check()
    })

    test('a page is agreed to, opened by the person, and confirmed; nothing of it is fetched before', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const run = start(served, 'ask', { ...page, url: 'https://xn--pypal-4ve.example/pay' })
      await look(served, tab)
      // A name that imitates another is shown as it is resolved.
      expect(await tab.page.locator('[data-card]').innerText()).toContain('xn--pypal-4ve.example')
      await press(tab, 'accept')
      const link = tab.page.getByRole('link', { name: 'Open the page' })
      await link.waitFor()
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
      await tab.check()
      await press(tab, 'done')
      const { result } = await served.service.runs.wait(run, new AbortController().signal)
      expect(JSON.stringify(result)).toContain('\\"action\\":\\"accept\\"')
    })

    test('a server gets the folders that were ticked, and no other', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const { host } = served.service
      const folder = join(served.file, '..')
      for (const name of ['one', 'two']) await host.roots.add(join(folder, name)).catch(() => {})
      const tab = await openTab(served, '/inbox')
      const run = start(served, 'roots')
      await look(served, tab)
      const boxes = tab.page.locator('[data-card] input[type=checkbox]')
      const uris = await tab.page.locator('[data-card] label bdi').allInnerTexts()
      for (let n = 1; n < (await boxes.count()); n++) await boxes.nth(n).uncheck()
      await press(tab, 'allow')
      const { result } = await served.service.runs.wait(run, new AbortController().signal)
      const said = JSON.stringify(result)
      const files = uris.filter((uri) => uri.startsWith('file:'))
      expect(files.map((uri) => said.includes(`\\"${uri}\\"`))).toEqual(files.map((_, n) => n === 0))
    })

    test('12 changed definitions of a server are rows, and disabled until the user accepts them', async () => {
      const shop = saying(shopTexts)
      const served = await serveHost({ servers: { demo: shop.config }, rules })
      const tab = await openTab(served, '/inbox')
      const { host } = served.service
      const names = (): string[] => host.tools().map(({ tool }) => tool.name)
      await until(() => names().includes('buy'), 'the tools')
      shop.says(
        changed((copy) => {
          const [buy, look] = copy.tools
          const [choose, thank] = copy.prompts
          const [open, list] = copy.resources
          const [item, bill] = copy.templates
          const said = { description: 'Now it also sends \u200byour files.' }
          Object.assign(buy ?? {}, said, { title: 'Buy!' })
          for (const one of [look, choose, thank, open, list, item, bill]) Object.assign(one ?? {}, said)
          Object.assign(open ?? {}, { title: 'Opening hours' })
          for (const one of [choose, thank]) Object.assign(one ?? {}, { title: 'Choose!' })
        }),
      )
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
    })

    test('random keys while cards appear answer nothing and go where they were typed', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/activity')
      const field = tab.page.getByLabel('Filter')
      await field.focus()
      const keys = ['y', 'd', 'a', 'Enter', 'Space', 'l', 'e', 'J']
      let typed = ''
      for (let n = 0; n < 120; n++) {
        if (n % 15 === 0) void ask(served, { text: String(n) })
        const key = keys[(n * 7 + (n >> 3)) % keys.length] ?? 'y'
        await tab.page.keyboard.press(key)
        typed += key === 'Enter' ? '' : key === 'Space' ? ' ' : key
      }
      await tab.page.waitForFunction(() => document.title.startsWith('(8)'))
      expect(await field.inputValue()).toBe(typed)
      expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
      expect(open(served)).toHaveLength(8)
    })

    test('presses around the moment a card appears answer only from when it is armed', async () => {
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
      for (let n = 0; n < 6; n++) {
        const call = ask(served, { text: String(n) })
        const button = tab.page.locator('[data-act=allow]')
        await button.waitFor()
        while (open(served).length > 0) {
          // It moves until everything above it is drawn.
          const box = await button.boundingBox({ timeout: 500 }).catch(() => null)
          if (box !== null) await tab.page.mouse.click(box.x + 8, box.y + 8)
          await tab.page.waitForTimeout((n * 37) % 90)
        }
        await call
        const presses = await tab.page.evaluate('presses.splice(0)')
        // No answer without a press on an armed button.
        expect(presses).toEqual(expect.arrayContaining(['true']))
      }
    })

    test('two tabs and a terminal answer at once: exactly one counts, and all show whose', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tabs = [await openTab(served, '/inbox'), await openTab(served, '/inbox')]
      const { service } = served
      for (let round = 0; round < 4; round++) {
        const call = ask(served, { text: String(round) })
        await until(() => open(served).length === 1, 'the question')
        const [{ id } = { id: '' }] = open(served)
        for (const tab of tabs) {
          await tab.go(`/inbox/${id}`)
          await tab.page.waitForSelector(`[data-card="${id}"] [data-act=allow][data-armed=true]`)
        }
        const presses = tabs.map(({ page: one }) =>
          one
            .locator('[data-act=allow]')
            .click({ timeout: 500 })
            .catch(() => {}),
        )
        const terminal = Promise.resolve().then(() =>
          service.host.inbox.answer(id, { verdict: 'deny' }, 'terminal'),
        )
        await Promise.all([...presses, terminal.catch(() => {})])
        await call
        const by = service.host.inbox.get(id)?.answer?.by ?? ''
        for (const { page: one } of tabs) await one.getByText(`by ${by}`).first().waitFor()
      }
      expect(service.host.inbox.list({ state: 'all' })).toHaveLength(4)
    })

    test('questions of several servers are answered in any order, each by its own call', async () => {
      const served = await serveHost({ servers: { demo: asking, shop: asking, crm: asking }, rules })
      const tab = await openTab(served, '/inbox')
      const calls = Array.from({ length: 9 }, (_, n) =>
        ask(served, { text: `answer ${n}` }, ['demo', 'shop', 'crm'][n % 3]),
      )
      await tab.page.waitForFunction(() => document.title.startsWith('(9)'))
      await tab.page.reload()
      const order = open(served).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      for (const { id } of order) {
        await tab.go(`/inbox/${id}`)
        await tab.page.locator(`[data-card="${id}"]`).waitFor()
        await press(tab, 'allow')
        await answered(served, id)
      }
      const results = await Promise.all(calls)
      expect(results.map((result, n) => JSON.stringify(result).includes(`answer ${n}`))).toEqual(
        results.map(() => true),
      )
      expect(tab.acts).toBe(9)
    })

    test('250 open questions are counted, reached by key one by one, and drawn with few elements', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules })
      const tab = await openTab(served, '/inbox')
      for (let n = 0; n < 250; n++) void ask(served, { text: String(n) })
      await tab.page.waitForFunction(() => document.title.startsWith('(250)'))
      await tab.page.getByText('250 wait for you').first().waitFor()
      expect(await tab.page.locator('*').count()).toBeLessThanOrEqual(3_000)
      const seen = new Set<string>()
      for (let n = 0; n < 250; n++) {
        await tab.page.keyboard.press('J')
        seen.add(await tab.page.evaluate(() => location.pathname))
      }
      expect(seen.size).toBe(250)
    })

    test('two tabs come back by themselves after the host was ended; a call of 2026-07-28 is then answered and finishes, one of a session is lost', async () => {
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
    })
  },
)
