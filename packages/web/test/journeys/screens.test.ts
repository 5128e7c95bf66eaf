import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { asking, library, type Reply, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openTab } from './journey.ts'

const allow = [{ id: 'all', verdict: 'allow' as const }]

describe.skipIf(missing !== undefined)(
  `screens in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('a conversation streams, runs a tool, queues, and shows untrusted content as text', async () => {
      const replies: Reply[] = [
        { say: 'I look for it.', call: [{ name: 'demo__echo', arguments: { text: 'Oslo' } }] },
        {
          say: '<img src=x onerror=alert(1)> **Done** &lt;b&gt; &copy; ![p](https://evil.example/p.png) [l](javascript:alert(1))',
          pauseMs: 40,
        },
        { say: 'And the second answer.' },
      ]
      const served = await serveHost({
        servers: { demo: asking },
        rules: allow,
        model: scriptedModel(replies),
      })
      const tab = await openTab(served, '/chat')
      await tab.page.getByRole('button', { name: 'New conversation' }).click()
      const composer = tab.page.getByRole('textbox', { name: 'Message' })
      await composer.press('Enter')
      await composer.fill('Find a flight')
      await composer.press('Enter')
      await composer.fill('and a hotel')
      await composer.press('Enter')
      await tab.page.getByText('And the second answer.').waitFor()
      const log = tab.page.getByRole('log')
      await expect.poll(() => log.innerText()).toContain('<img src=x onerror=alert(1)>')
      await expect.poll(() => log.innerText()).toContain('<b> ©')
      expect(await log.locator('img, a[href^="javascript"], a[href^="http"]').count()).toBe(0)
      await expect.poll(() => log.locator('strong', { hasText: 'Done' }).count()).toBe(1)
      await log.locator('summary', { hasText: 'echo' }).first().click()
      await log.getByText('"Oslo"').first().waitFor()
      await tab.check()
    })

    test('a streamed reply is complete and shown once, also after a reload during it', async () => {
      const words = Array.from({ length: 600 }, (_, n) => `word${n}`)
      const model = scriptedModel([{ say: words.join(' '), pauseMs: 4 }])
      const served = await serveHost({ servers: {}, model })
      const tab = await openTab(served, '/chat')
      await tab.page.getByRole('button', { name: 'New conversation' }).click()
      await tab.page.getByRole('textbox', { name: 'Message' }).fill('Talk')
      await tab.page.keyboard.press('Enter')
      await tab.page.getByText('word99').first().waitFor()
      await tab.page.reload()
      await tab.page.getByText('word599').first().waitFor()
      await tab.page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
      const logText = await tab.page.getByRole('log').innerText()
      expect(logText.match(/word\d+/g)).toEqual(words)
      await tab.check()
    })

    test('a question of a call scrolls into view in its conversation, where the user answers it', async () => {
      const words = 'A long answer. '.repeat(300)
      const call = [{ name: 'demo__echo', arguments: { text: 'Oslo' } }]
      const served = await serveHost({
        servers: { demo: asking },
        rules: [{ id: 'asks', verdict: 'ask' as const, scope: 'always' as const }],
        model: scriptedModel([{ say: words, call }, { say: 'Done it.' }]),
      })
      const tab = await openTab(served, '/chat')
      await tab.page.getByRole('button', { name: 'New conversation' }).click()
      await tab.page.getByRole('textbox', { name: 'Message' }).fill('Do it')
      await tab.page.keyboard.press('Enter')
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.check()
      await tab.click('[data-act=allow]')
      await tab.page.getByText('Done it.').waitFor()
      expect(tab.acts).toBe(1)
    })

    test('a turn is stopped', async () => {
      const served = await serveHost({
        servers: {},
        model: scriptedModel([{ say: 'word '.repeat(2_000), pauseMs: 20 }]),
      })
      const tab = await openTab(served, '/chat')
      await tab.page.getByRole('button', { name: 'New conversation' }).click()
      await tab.page.getByRole('textbox', { name: 'Message' }).fill('Talk')
      await tab.page.keyboard.press('Enter')
      await tab.page.getByText('word word').first().waitFor()
      await tab.page.keyboard.press('Control+.')
      await tab.page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    })

    test('an earlier message is edited in a copy, and both branches are kept', async () => {
      const served = await serveHost({ servers: {}, model: scriptedModel([{ say: 'First.' }]) })
      const tab = await openTab(served, '/chat')
      await tab.page.getByRole('button', { name: 'New conversation' }).click()
      await tab.page.getByRole('textbox', { name: 'Message' }).fill('One')
      await tab.page.keyboard.press('Enter')
      await tab.page.getByText('First.').waitFor()
      const before = tab.page.url()
      await tab.page.getByRole('button', { name: 'Edit in a copy' }).click()
      await tab.page.waitForURL((url) => url.href !== before)
      await expect.poll(() => tab.page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('One')
      await tab.page.goto(before)
      await tab.page.getByText('First.').waitFor()
    })

    test('a link fills arguments and runs nothing; a run takes one more action', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const tab = await openTab(
        served,
        `/inspect/demo/tools/echo?args=${encodeURIComponent('{"text":"Oslo"}')}`,
      )
      await expect.poll(() => tab.page.getByLabel('text').inputValue()).toBe('Oslo')
      expect(served.service.host.activity({ kind: 'call' })).toEqual([])
      await tab.click('[data-act=run]')
      await tab.page.getByRole('group', { name: 'Result' }).getByText('Oslo').waitFor()
      await tab.page.getByRole('button', { name: 'Why' }).click()
      await tab.check()
    })

    test('a run whose server asks the person says so and leads to the question', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const properties = { a: { type: 'string', title: 'A' } }
      const params = { message: 'Who?', requestedSchema: { type: 'object', properties } }
      const args = encodeURIComponent(JSON.stringify({ params }))
      const tab = await openTab(served, `/inspect/demo/tools/ask?args=${args}`, {
        viewport: { width: 1024, height: 768 },
      })
      const { page } = tab
      await page.getByText('Arguments of the link').waitFor()
      await tab.click('[data-act=run]')
      const waits = page.getByText('The call waits for you')
      await waits.waitFor()
      // The result is below the form in this window.
      await page.waitForFunction(() => {
        const box = document.querySelector('main a[href^="/inbox/"]')?.getBoundingClientRect()
        return box !== undefined && box.bottom <= innerHeight
      })
      expect(await page.getByText('Arguments of the link').count()).toBe(0)
      await tab.check()
      await tab.click('text=Answer it')
      await page.getByLabel('A optional', { exact: true }).waitFor()
    })

    test('the inspector opens with a server that is ready, and says why another one is not', async () => {
      const broken = { command: '/nowhere/at-all', args: [] }
      const served = await serveHost({ servers: { broken, demo: asking } })
      const tab = await openTab(served, '/inspect')
      const { page } = tab
      await page.getByRole('link', { name: /^echo/ }).waitFor()
      await tab.go('/inspect/broken')
      await page.locator('main').getByText('Could not start').waitFor()
      expect(await page.getByRole('heading', { name: 'Capabilities' }).count()).toBe(0)
      await tab.click('text=Check that the command of broken is installed')
      await page.waitForURL('**/settings/servers?server=broken')
      await tab.check()
    })

    test('a call that waits for the person is marked, the next one says that it follows, and a failed one says why', async () => {
      const call = [
        { name: 'demo__fail', arguments: {} },
        { name: 'demo__echo', arguments: { text: 'Oslo' } },
      ]
      const served = await serveHost({
        servers: { demo: asking },
        rules: [{ id: 'asks', verdict: 'ask' as const, tool: 'fail' }, ...allow],
        model: scriptedModel([{ say: 'I try.', call }, { say: 'It failed.' }]),
      })
      const tab = await openTab(served, '/chat')
      const { page } = tab
      await tab.click('[data-act=begin]')
      // The field has the focus.
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Message')
      await page.keyboard.type('Do it')
      await page.keyboard.press('Enter')
      const log = page.getByRole('log')
      await log.getByRole('img', { name: 'waits for you' }).waitFor()
      await log.getByText('runs after the calls before it').waitFor()
      await page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.click('[data-act=allow]')
      await page.getByText('It failed.').waitFor()
      await log.getByText('as it should').waitFor()
      await tab.check()
    })

    test('keys typed while the palette loads go to its field, and are no shortcuts of the page', async () => {
      const served = await serveHost({ servers: { demo: asking } })
      const tab = await openTab(served, '/servers')
      const loading = Promise.withResolvers<void>()
      await tab.page.route(/palette[^/]*\.js$/, async (route) => {
        await loading.promise
        await route.continue()
      })
      await tab.press('Control+k')
      // By themselves, the keys of the page: i opens a question, ? the list of keys.
      await tab.page.keyboard.type('ni?')
      await tab.page.keyboard.press('Backspace')
      loading.resolve()
      const field = tab.page.getByRole('combobox')
      await field.waitFor()
      await tab.page.keyboard.type('x')
      await expect.poll(() => field.inputValue()).toBe('nix')
      expect(new URL(tab.page.url()).pathname).toBe('/servers')
      await tab.check()
    })

    test('on a phone, a button closes the palette', async () => {
      const served = await serveHost({ servers: { demo: asking } })
      const tab = await openTab(served, '/servers', {
        viewport: { width: 390, height: 844 },
        hasTouch: true,
      })
      const { page } = tab
      await page.getByRole('button', { name: 'Find' }).tap()
      await page.getByRole('combobox').waitFor()
      await tab.check()
      await page.getByRole('button', { name: 'Close', exact: true }).tap()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })

    test('the palette finds a tool among all servers in three actions', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const tab = await openTab(served, '/servers')
      await tab.press('Control+k')
      await tab.page.getByRole('combobox').fill('ech')
      await tab.page.getByRole('option', { name: /echo/ }).waitFor()
      await tab.check()
      await tab.press('Enter')
      await tab.page.getByRole('heading', { name: 'echo' }).waitFor()
      await tab.page.getByLabel('text').fill('x')
      await tab.press('Control+Enter')
      await tab.page.getByRole('group', { name: 'Result' }).first().waitFor()
      expect(tab.acts).toBe(3)
    })

    test('Ctrl+Enter in the palette opens a tool with the arguments of its last call', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const tab = await openTab(served, '/servers')
      await served.service.host.call('demo__echo', { text: 'Oslo' }, { caller: 'chat' })
      await tab.press('Control+k')
      await tab.page.getByRole('combobox').fill('ech')
      await tab.page.getByRole('option', { name: /echo/ }).waitFor()
      await tab.press('Control+Enter')
      await tab.page.getByRole('heading', { name: 'echo' }).waitFor()
      expect(new URL(tab.page.url()).searchParams.get('args')).toBe('{"text":"Oslo"}')
    })

    test('a call that fails says why: one by a key, and one by an entry of the palette', async () => {
      const served = await serveHost({ servers: { notes: library('notes') } })
      const tab = await openTab(served, '/servers')
      const { page } = tab
      // An id that is not an encoded text once wouter has decoded the address.
      await tab.go('/chat/%25')
      const failed = page.getByRole('alert')
      await page.getByRole('button', { name: 'New conversation' }).waitFor()
      expect(await failed.count()).toBe(0)
      await tab.press('Control+.')
      await failed.getByText('%').waitFor()
      await tab.go('/servers')
      await failed.waitFor({ state: 'detached' })
      await tab.go('/chat/%25')
      await tab.press('Control+k')
      await page.getByRole('combobox').fill('@note')
      await page.getByRole('option').first().waitFor()
      vi.spyOn(served.service.host.library, 'attach').mockRejectedValue(new Error('The disk is full.'))
      await tab.press('Enter')
      await failed.waitFor()
    })

    test('a chord is complete also if the page changes between its keys', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: [{ id: 'all', verdict: 'ask' }] })
      const tab = await openTab(served, '/activity')
      await tab.press('g')
      void served.service.host.call('demo__echo', { text: 'x' }, { caller: 'chat' }).catch(() => {})
      await tab.page.waitForFunction(() => document.title.startsWith('(1)'))
      await tab.press('s')
      await expect.poll(() => new URL(tab.page.url()).pathname).toBe('/servers')
    })

    test('a screen or a card that cannot be loaded says so in its place, and the rest of the page works', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: [{ id: 'all', verdict: 'allow' }] })
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      await page.route(/\/assets\/(?:library|sampling)-/, (route) => route.abort())
      // The page loads the cards of questions in advance.
      await page.reload()
      await page.locator('nav a[href="/library"]').first().click()
      const failed = page.getByRole('alert').getByText('This part of the page has failed.')
      await page.locator('main').getByRole('alert').waitFor()
      await failed.first().waitFor()
      await page.locator('nav a[href="/servers"]').first().click()
      await page.getByText('demo', { exact: true }).first().waitFor()
      expect(await page.locator('main').getByRole('alert').count()).toBe(0)
      const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 9 }
      const run = { kind: 'call' as const, tool: 'demo__sample', arguments: { params } }
      served.service.startRun(run, { by: 'test', asks: true })
      await until(() => served.service.host.inbox.list().length === 1, 'the question')
      await tab.go(`/inbox/${served.service.host.inbox.list()[0]?.id}`)
      await failed.first().waitFor()
      await page.getByRole('region', { name: 'Questions', exact: true }).getByText('demo').first().waitFor()
      await page.unroute(/\/assets\/(?:library|sampling)-/)
      await page.locator('[data-act=reload]').first().click()
      await page.locator('[data-card]').first().waitFor()
      // The browser and React report what could not be loaded.
      expect(tab.faults.splice(0).filter((fault) => /^(?:policy|request)/.test(fault))).toEqual([])
    })

    test('a server that fails says why in its row, and is started again by one action', async () => {
      const program = join(tempFolder(), 'server.ts')
      const [module] = 'args' in asking ? (asking.args ?? []) : []
      const served = await serveHost({ servers: { late: { command: process.execPath, args: [program] } } })
      const tab = await openTab(served, '/servers')
      const row = tab.page.getByRole('listitem').filter({ hasText: 'late' })
      await row.getByText('Cannot find module').waitFor()
      await tab.check()
      // What it offers is unknown, which is no reason to call an address wrong.
      await tab.go('/inspect/late/tools/echo')
      await tab.page.locator('main').getByText('Cannot find module').first().waitFor()
      await tab.page.locator('main').getByRole('button', { name: 'Reconnect' }).waitFor()
      await tab.go('/servers')
      await row.getByText('Cannot find module').waitFor()
      writeFileSync(program, `import ${JSON.stringify(module)}\n`)
      await tab.click('main li button:has-text("Reconnect")')
      await row.getByText('ready').waitFor()
      expect(tab.acts).toBe(1)
    })

    test('a run shows its progress and is stopped', async () => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const tab = await openTab(served, '/inspect/demo/tools/slow')
      await tab.click('[data-act=run]')
      await tab.page.waitForFunction(() => (document.querySelector('progress')?.value ?? 0) > 0.005)
      await tab.click('[data-act=stop]')
      await tab.page.getByText('stopped').waitFor()
    })

    test.each([
      [1440, 'light', 'en'],
      [1024, 'dark', 'zh-CN'],
      [390, 'light', 'en'],
    ] as const)('every screen is accessible at %i px, %s, %s', async (width, colorScheme, locale) => {
      const served = await serveHost({ servers: { demo: asking }, rules: allow })
      const tab = await openTab(served, '/inbox', { viewport: { width, height: 844 }, colorScheme, locale })
      for (const path of [
        '/inbox',
        '/chat',
        '/servers',
        '/servers/demo',
        '/inspect',
        '/inspect/demo/tools/echo',
        '/activity',
        '/library',
        '/permissions',
        '/nothing',
        '/settings',
      ]) {
        await tab.go(path)
        await tab.page.waitForSelector('main :is(h2, li, input, button)', { state: 'attached' })
        await tab.page.waitForFunction(() => document.querySelector('main [aria-busy=true]') === null)
        await tab.check()
      }
    })
  },
)
