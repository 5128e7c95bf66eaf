import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SamplingMessage } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { asking, library, type Reply, type Served, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const allow = [{ id: 'all', verdict: 'allow' as const }]

/** A scripted model that also keeps what it was given. */
function recording(replies: Reply[]): {
  model: ReturnType<typeof scriptedModel>
  given: SamplingMessage[][]
} {
  const model = scriptedModel(replies)
  const given: SamplingMessage[][] = []
  return {
    given,
    model: {
      ...model,
      generate(request) {
        given.push([...request.messages])
        return model.generate(request)
      },
    },
  }
}

async function begin(served: Served, options: Parameters<typeof openTab>[2] = {}): Promise<Tab> {
  const tab = await openTab(served, '/chat', options)
  await tab.page.getByRole('button', { name: 'New conversation' }).click()
  await tab.page.getByRole('textbox', { name: 'Message' }).waitFor()
  return tab
}

async function say(tab: Tab, text: string): Promise<void> {
  await tab.page.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.page.keyboard.press('Enter')
}

/**
 * How many frames more than 30 a second came in the worst second. Frames of a pause before or in it, as a busy machine makes
 * them, are due in the pause.
 */
function mostOver30(frames: readonly number[]): number {
  const pauses = frames.map((at, n) => at - (frames[n - 1] ?? at))
  const over = frames.map((from) => {
    const longest = pauses.filter((_, n) => Math.abs((frames[n] ?? 0) - from) <= 1)
    const count = frames.filter((at) => at >= from && at < from + 1).length
    return count - 30 * (1 + Math.max(...longest))
  })
  return Math.max(...over)
}

const idOf = (tab: Tab): string => new URL(tab.page.url()).pathname.replace('/chat/', '')

describe.skipIf(missing !== undefined)(
  `chat in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('5,000 words are streamed: finished messages do not change, and the scroll position is kept', async () => {
      const words = Array.from({ length: 5_000 }, (_, n) => `word${n}${n % 40 === 39 ? '\n\n' : ''}`)
      const replies = [{ say: 'A first answer.\n\nOf two parts.' }, { say: words.join(' '), pauseMs: 1 }]
      const served = await serveHost({ servers: {}, model: scriptedModel(replies) })
      const tab = await begin(served)
      // By the clock of the browser, in seconds.
      const frames: number[] = []
      const session = await tab.page.context().newCDPSession(tab.page)
      session.on('Network.webSocketFrameReceived', ({ timestamp, response }) => {
        if (response.payloadData.includes('"partial"')) frames.push(timestamp)
      })
      await session.send('Network.enable')
      await tab.page.reload()
      await say(tab, 'Hello')
      await tab.page.getByText('Of two parts.').waitFor()
      await say(tab, 'Go on')
      await tab.page.getByText('word200').first().waitFor()
      // The first message of a page is plain text until the part that renders Markdown has loaded.
      await tab.page.locator('article p', { hasText: 'Of two parts.' }).waitFor()
      await tab.page.evaluate(() => {
        const changes = { count: 0 }
        Object.assign(window, { changes })
        for (const entry of document.querySelectorAll('[role=log] article'))
          new MutationObserver((list) => {
            changes.count += list.length
          }).observe(entry, { subtree: true, childList: true, characterData: true, attributes: true })
      })
      const log = tab.page.getByRole('log')
      await log.evaluate((element) => element.scrollTo(0, 0))
      await tab.page.getByRole('button', { name: 'To the end' }).waitFor()
      await tab.page.getByText('word1200').first().waitFor({ state: 'attached' })
      expect(await log.evaluate(({ scrollTop }) => scrollTop)).toBe(0)
      await tab.page.getByRole('button', { name: 'To the end' }).click()
      expect(await tab.page.evaluate('changes.count')).toBe(0)
      await tab.page.reload()
      await tab.page.getByText('word4999').first().waitFor({ timeout: 60_000 })
      await tab.page.locator('[data-act=stop]').waitFor({ state: 'detached' })
      const logText = await log.innerText()
      expect(logText.match(/word\d+/g)).toEqual(words.map((word) => word.trim()))
      expect(frames.length).toBeGreaterThan(60)
      expect(mostOver30(frames)).toBeLessThanOrEqual(2)
      await tab.check()
    })

    test('a turn is stopped while a tool runs, its server gets the cancellation, and queued messages are sent once', async () => {
      const file = join(tempFolder(), 'ran.jsonl')
      const { model, given } = recording([
        { call: [{ name: 'demo__slow', arguments: {} }] },
        // The one after the call is not wanted any more.
        { say: 'Not said.' },
        { say: 'Stopped, then.' },
      ])
      const demo = { ...asking, env: { LOG: file } }
      const served = await serveHost({ servers: { demo }, rules: allow, model })
      const tab = await begin(served)
      await say(tab, 'Wait for it')
      await tab.page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      await tab.check()
      await tab.press('Control+.')
      await tab.page.locator('[data-act=stop]').waitFor({ state: 'detached' })
      await until(() => readFileSync(file, 'utf8').includes('slow cancelled'), 'the cancellation')
      await say(tab, 'And now?')
      await tab.page.getByText('Stopped, then.').waitFor()
      expect(JSON.stringify(given.at(-1)).match(/And now\?/g)).toHaveLength(1)
      await tab.check()
    })

    test('messages that are queued during a turn are sent once each, in order; those of a stopped turn are not sent', async () => {
      const { model, given } = recording([
        { call: [{ name: 'demo__slow', arguments: {} }] },
        { say: 'Planned.' },
        { say: 'A hotel.' },
        { say: 'A car.' },
        { call: [{ name: 'demo__slow', arguments: {} }] },
        { say: 'Not said.' },
      ])
      const served = await serveHost({ servers: { demo: asking }, rules: allow, model })
      const tab = await begin(served)
      const { page } = tab
      const answersTo = (text: string): number =>
        given.filter((messages) => JSON.stringify(messages.at(-1)).includes(text)).length
      await say(tab, 'Plan it')
      await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      for (const text of ['and a hotel', 'and a car', 'and a boat']) await say(tab, text)
      const queued = page.getByText('Queued:', { exact: true })
      await expect.poll(() => queued.count()).toBe(3)
      await tab.check()
      await page.getByRole('button', { name: 'Take out of the queue' }).last().click()
      await expect.poll(() => queued.count()).toBe(2)
      // They wait for the end of the turn, also over a reload.
      await page.reload()
      await expect.poll(() => queued.count()).toBe(2)
      expect(given).toHaveLength(1)
      await tab.click('[data-act=cancel-call]')
      await page.getByText('A car.').waitFor()
      await expect.poll(() => queued.count()).toBe(0)
      expect(['and a hotel', 'and a car', 'and a boat'].map(answersTo)).toEqual([1, 1, 0])
      const said = await page.getByRole('log').innerText()
      expect(said.match(/and a (?:hotel|car|boat)/g)).toEqual(['and a hotel', 'and a car'])

      await say(tab, 'Once more')
      await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      await say(tab, 'and a train')
      await expect.poll(() => queued.count()).toBe(1)
      await tab.press('Control+.')
      await page.locator('[data-act=stop]').waitFor({ state: 'detached' })
      await expect.poll(() => queued.count()).toBe(0)
      expect(answersTo('and a train')).toBe(0)
      await tab.check()
    })

    test('one call is cancelled alone: its server gets the cancellation, the turn continues, and its tokens are estimated', async () => {
      const file = join(tempFolder(), 'ran.jsonl')
      const { model, given } = recording([
        {
          call: [
            { name: 'demo__slow', arguments: {} },
            { name: 'demo__echo', arguments: { text: 'word '.repeat(6_000) } },
          ],
        },
        { say: 'One was cancelled.' },
      ])
      const demo = { ...asking, env: { LOG: file } }
      const served = await serveHost({ servers: { demo }, rules: allow, model })
      const tab = await begin(served)
      const { page } = tab
      await say(tab, 'Do both')
      await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
      await tab.click('[data-act=cancel-call]')
      await page.getByText('One was cancelled.').waitFor()
      await until(() => readFileSync(file, 'utf8').includes('slow cancelled'), 'the cancellation')
      const [first, second] = JSON.stringify(given.at(-1)).split('"toolUseId"').slice(1)
      expect(first).toContain('The user cancelled this call')
      expect(second).toContain('word word')
      await page.locator('[data-state=cancelled] summary', { hasText: 'cancelled' }).waitFor()
      await page.locator('[data-state=done] summary').click()
      const done = page.locator('[data-state=done]')
      await done.getByRole('heading', { name: /^Arguments about 8,5\d\d tokens$/ }).waitFor()
      // The model gets a part of a long result.
      const [, tokens = ''] =
        /about ([\d,]+) tokens/.exec(await done.getByRole('heading', { name: /^Result/ }).innerText()) ?? []
      expect(Number(tokens.replace(',', ''))).toBeGreaterThan(500)
      expect(Number(tokens.replace(',', ''))).toBeLessThan(8_500)
      await done.getByRole('heading', { name: /the server gave about 8,[56]\d\d tokens$/ }).waitFor()
      await tab.check()
    })

    test('the last message is edited in a copy by one key, and both branches are kept', async () => {
      const { model } = recording([{ say: 'First.' }, { say: 'Second.' }])
      const served = await serveHost({ servers: {}, model })
      const tab = await begin(served)
      await say(tab, 'One')
      await tab.page.getByText('First.').waitFor()
      const before = tab.page.url()
      await tab.page.getByRole('textbox', { name: 'Message' }).press('ArrowUp')
      await tab.page.waitForURL((url) => url.href !== before)
      const field = tab.page.getByRole('textbox', { name: 'Message' })
      await expect.poll(() => field.inputValue()).toBe('One')
      await say(tab, 'Two')
      await tab.page.getByText('Second.').waitFor()
      expect(await tab.page.getByRole('log').innerText()).not.toContain('First.')
      await tab.page.goto(before)
      await tab.page.getByText('First.').waitFor()
      expect(await tab.page.getByRole('log').innerText()).not.toContain('Second.')
      await tab.check()
    })

    test('a question is deferred, the turn continues, and the model gets the result with the next turn', async () => {
      const { model, given } = recording([
        { call: [{ name: 'demo__echo', arguments: { text: 'Oslo' } }] },
        { say: 'I continue without it.' },
        { say: 'Now I have it.' },
      ])
      const rules = [{ id: 'ask', verdict: 'ask' as const, tool: 'echo' }, ...allow]
      const served = await serveHost({ servers: { demo: asking }, rules, model })
      const tab = await begin(served)
      await say(tab, 'Find it')
      await tab.page.locator('[data-act=later]').click()
      await tab.page.getByText('I continue without it.').waitFor()
      await tab.page.getByText('left for later').first().waitFor()
      await tab.page.getByRole('link', { name: 'Answer the question it waits for' }).click()
      await tab.page.waitForSelector('[data-act=allow][data-armed=true]')
      await tab.page.getByText('Left for later (1)').waitFor()
      await tab.check()
      await tab.page.click('[data-act=allow]')
      await tab.page.goBack()
      // The result is in the conversation before the model receives it.
      const call = tab.page.getByRole('log').locator('[data-state=done]')
      await call.locator('summary').click()
      await call.getByRole('group', { name: 'Result' }).getByText('{"text":"Oslo"}').waitFor()
      expect(given).toHaveLength(2)
      await say(tab, 'And?')
      await tab.page.getByText('Now I have it.').waitFor()
      expect(JSON.stringify(given.at(-1))).toContain('Oslo')
      expect(JSON.stringify(given.at(-1))).toContain('{\\"text\\":\\"Oslo\\"}')
    })

    test('a prompt is found, filled in with completions, edited and sent by keys alone', async () => {
      const { model, given } = recording([{ say: 'Planned.' }])
      const served = await serveHost({ servers: { trips: library('trips') }, rules: allow, model })
      const tab = await begin(served)
      const { page } = tab
      await page.getByRole('textbox', { name: 'Message' }).focus()
      await page.keyboard.type('/trips')
      await page.getByRole('option', { name: /trips\.plan/ }).waitFor()
      await tab.press('Enter')
      await page.getByRole('combobox', { name: /city/ }).waitFor()
      await page.keyboard.type('Be')
      await page.getByRole('option', { name: 'Bergen' }).waitFor()
      await tab.check()
      await tab.press('ArrowDown')
      await tab.press('Enter')
      await tab.press('Enter')
      await page.keyboard.type('3')
      await tab.press('Control+Enter')
      const message = page.getByRole('form', { name: 'Prompt' }).getByRole('textbox')
      await expect.poll(() => message.inputValue()).toBe('Plan 3 days in Bergen.')
      await tab.check()
      await tab.press('End')
      await page.keyboard.type(' By train.')
      await tab.press('Control+Enter')
      await page.getByText('Planned.').waitFor()
      expect(tab.acts).toBeLessThanOrEqual(12)
      expect(JSON.stringify(given[0])).toContain('Plan 3 days in Bergen. By train.')
      // The values are there again the next time.
      await page.keyboard.type('/trips')
      await page.getByRole('option', { name: /trips\.plan/ }).click()
      await expect.poll(() => page.getByRole('combobox', { name: /city/ }).inputValue()).toBe('Bergen')
    })

    test('12 resources of 3 servers are attached and automatic ones included in four actions: 8 reads at once, within the budget, with reasons', async () => {
      const folder = tempFolder()
      const { model, given } = recording([{ say: 'Read.' }])
      const names = ['one', 'two', 'three']
      const servers = Object.fromEntries(names.map((name) => [name, library(name, folder)]))
      const served = await serveHost({ servers, rules: allow, model })
      const { host } = served.service
      const id = served.service.conversations.open({ context: false })
      const tab = await openTab(served, `/chat/${id}`)
      const { page } = tab
      const reads = (): string[] => {
        const file = join(folder, 'reads')
        return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
      }
      await tab.click('[data-act=attach]')
      // What is typed goes to the search: no act leads there.
      await page.getByText('24 of 24').waitFor()
      await page.keyboard.type('chapter')
      await page.getByText('All 12 that are shown').waitFor()
      // Those for the person alone are listed, and cannot be chosen.
      const alone = page.getByRole('checkbox', { name: /page 7/ })
      await expect.poll(() => alone.count()).toBe(3)
      for (const box of await alone.all()) expect(await box.isDisabled()).toBe(true)
      await page.getByText('for you alone').first().waitFor()
      await tab.check()
      await tab.click('[data-act=all]')
      await tab.click('[data-act=attach-chosen]')
      await until(() => reads().length >= 8, 'eight reads')
      // A ninth one would have reached its server before these calls do.
      for (const name of names) await host.call(`${name}__none`, {}, { caller: 'person', typed: true })
      expect(reads()).toHaveLength(8)
      writeFileSync(join(folder, 'open'), '')
      await expect.poll(() => host.library.attached(id).length).toBe(12)
      expect(new Set(host.library.attached(id).map(({ server, uri }) => `${server} ${uri}`))).toEqual(
        new Set(names.flatMap((name) => [1, 2, 3, 4].map((n) => `${name} ${name}://page/${n}`))),
      )

      await expect.poll(() => page.getByLabel('Automatic, up to').inputValue()).toBe('8000')
      await tab.click('[data-act=include]')
      expect(tab.acts).toBe(4)
      await page.getByText(/\d resources? included/).waitFor()
      const automatic = host.library.attached(id).filter(({ because }) => because !== undefined)
      expect(automatic.map(({ uri }) => uri)).toEqual(
        expect.arrayContaining(names.map((name) => `${name}://page/5`)),
      )
      expect(automatic.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(8_000)
      const reasons = page
        .locator('[data-section=attach] li')
        .filter({ hasText: /automatic: .*marks it for a model, priority/ })
      await expect.poll(() => reasons.count()).toBe(automatic.length)
      // The budget excludes some, and the annotation others; each says so.
      await page.getByText(/left out/).click()
      const left = await page
        .getByRole('status')
        .filter({ hasText: 'left out' })
        .locator('li')
        .allInnerTexts()
      const reasonsOf = (n: number): string[] => left.filter((text) => text.includes(`://page/${n}:`))
      expect(reasonsOf(8).length).toBeGreaterThan(0)
      for (const reason of reasonsOf(8))
        expect(reason).toMatch(/it needs about \d+ tokens, and \d+ of 8000 are left/)
      expect(reasonsOf(7)).toHaveLength(3)
      for (const reason of reasonsOf(7)) expect(reason).toContain('for the user only')
      await tab.check()
      await say(tab, 'Read these')
      await page.getByText('Read.', { exact: true }).waitFor()
      const sent = JSON.stringify(given[0])
      for (const name of names)
        for (const n of [1, 2, 3, 4, 5]) expect(sent).toContain(`[resource ${name}://page/${n}]`)
      expect(sent).not.toMatch(/page\/7|(?:one|two|three) 7 /)
      expect(reads().filter((read) => read.endsWith(' 7'))).toEqual([])

      // In the conversation they are attachments, with who attached them and why, and open to their content.
      const log = page.getByRole('log')
      await expect.poll(() => log.locator('[data-attached][data-by=person]').count()).toBe(12)
      const included = log.locator('[data-attached][data-by=host]')
      await expect.poll(() => included.count()).toBe(automatic.length)
      const [first] = await included.all()
      const row = (await first?.innerText()) ?? ''
      expect(row).toMatch(/(?:one|two|three) page 5/)
      expect(row).toContain('included automatically: its server marks it for a model, priority 1')
      expect(row).toMatch(/about [\d.]+K? tokens/)
      const chosen = log.locator('[data-attached]', { hasText: 'one page 3' })
      await expect.poll(() => chosen.innerText()).toContain('attached by you')
      await chosen.locator('summary').click()
      await chosen.getByText('one 3 one 3').waitFor()
      await chosen.getByRole('link', { name: 'one://page/3' }).waitFor()
      await tab.check()
    })

    test('tools are switched off for one conversation, and are not sent to the model', async () => {
      const offered: string[][] = []
      const model = scriptedModel([{ say: 'Without.' }])
      const served = await serveHost({
        servers: { demo: asking, trips: library('trips') },
        rules: allow,
        model: {
          ...model,
          generate(request) {
            offered.push(request.tools?.map(({ name }) => name) ?? [])
            return model.generate(request)
          },
        },
      })
      const tab = await begin(served)
      await say(tab, '/tools')
      const part = tab.page.getByRole('region', { name: 'Tools' })
      await part.getByRole('checkbox', { name: 'Tools of demo' }).click()
      await expect.poll(() => part.getByRole('checkbox', { name: 'Tools of demo' }).isChecked()).toBe(false)
      await tab.check()
      await say(tab, 'Hello')
      await tab.page.getByText('Without.').waitFor()
      expect(offered[0]?.filter((name) => name.startsWith('demo__'))).toEqual([])
      expect(offered[0]).toContain('trips__none')
    })

    test('conversations are found, renamed, copied and deleted', async () => {
      const served = await serveHost({ servers: {}, model: scriptedModel([]) })
      for (let n = 0; n < 7; n++) {
        const id = served.service.conversations.open({})
        await served.service.conversations.get(id).say({ text: `Trip ${n}` }, 'test')
      }
      const tab = await openTab(served, '/chat')
      const { page } = tab
      const list = page.getByRole('region', { name: 'Conversations' })
      await list.getByText('Trip 6').click()
      await page.getByRole('log').waitFor()
      await say(tab, '/rename Winter in Oslo')
      await list.getByText('Winter in Oslo').waitFor()
      await page.getByLabel('Find a conversation').fill('oslo')
      await expect.poll(() => list.getByRole('link').count()).toBe(1)
      await tab.check()
      const original = page.url()
      await list.getByRole('button', { name: 'More for this conversation' }).click()
      await page.getByRole('menuitem', { name: 'Continue in a copy' }).press('Enter')
      await list.getByText('· copy').waitFor()
      await page.waitForURL((url) => url.href !== original)
      await list.getByRole('button', { name: 'More for this conversation' }).first().click()
      await page.getByRole('menuitem', { name: 'Delete the conversation' }).press('Enter')
      await page.getByText('Delete this conversation for good?').waitFor()
      await tab.check()
      await page.locator('[data-act=confirm]').click()
      await expect.poll(() => list.getByRole('link').count()).toBe(1)
      expect(served.service.host.conversations.list()).toHaveLength(7)
    })

    test.each([
      [1440, 'light', 'en'],
      [1024, 'dark', 'zh-CN'],
      [390, 'light', 'zh-CN'],
    ] as const)(
      'a conversation with all its parts is accessible at %i px, %s, %s',
      async (width, colorScheme, locale) => {
        const replies: Reply[] = [
          {
            say: '# Plan\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nlong '.concat('x'.repeat(300), '\n```'),
            call: [
              { name: 'demo__fail', arguments: {} },
              { name: 'demo__look', arguments: {} },
            ],
          },
          { say: 'Done.' },
        ]
        const served = await serveHost({
          servers: { demo: asking },
          rules: allow,
          model: scriptedModel(replies),
        })
        const id = served.service.conversations.open({})
        await served.service.conversations.get(id).say({ text: 'Plan it' }, 'test')
        const options = { viewport: { width, height: 844 }, colorScheme, locale }
        const tab = await openTab(served, `/chat/${id}`, options)
        await tab.page.getByText('Done.').waitFor()
        await tab.check()
        await tab.page.locator('summary', { hasText: 'look' }).click()
        await tab.check()
        await tab.page.click('[data-act=context]')
        await tab.page.locator('#dock [data-section=tools] li').first().waitFor()
        await tab.check()
        await tab.page.locator('#dock section[tabindex="0"]').press('Escape')
        await tab.page.locator('#dock').waitFor({ state: 'detached' })
        await tab.page.locator('[data-act=model]').click()
        await tab.check()
        await tab.page.keyboard.press('Escape')
        await tab.page.getByRole('textbox').first().fill('/')
        await tab.page.getByRole('option').first().waitFor()
        await tab.check()
        expect(idOf(tab)).toBe(id)
      },
    )
  },
)
