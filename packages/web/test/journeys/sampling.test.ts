import type { BrokeredCall } from '@jackfield/host'
import type { CreateMessageParams } from '@jackfield/sdk'
import { describe, expect, test } from 'vitest'
import { statelessServer } from '../../../host/test/fixtures/stateless-server.ts'
import { asking, type Served, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab, type Tab } from './journey.ts'

const request = {
  systemPrompt: 'You plan trips.',
  messages: [
    { role: 'user', content: { type: 'text', text: 'Hi' } },
    { role: 'assistant', content: { type: 'text', text: 'Hello.' } },
    { role: 'user', content: [{ type: 'text', text: 'Where to?' }] },
  ],
  modelPreferences: { hints: [{ name: 'clever' }], costPriority: 0.2, intelligencePriority: 0.9 },
  maxTokens: 400,
  temperature: 0.5,
  stopSequences: ['END'],
}

/** Runs a tool that samples. */
function sample(served: Served, server: string): string {
  return served.service.startRun(
    { kind: 'call', tool: `${server}__sample`, arguments: { params: request } },
    { by: 'test', asks: true },
  )
}

async function look(served: Served, tab: Tab, kind: string): Promise<void> {
  const open = (): { id: string } | undefined =>
    served.service.host.inbox.list().find(({ question }) => question.kind === kind)
  await until(() => open() !== undefined, `a ${kind}`)
  await tab.go(`/inbox/${open()?.id}`)
  await tab.page.locator(`[data-card="${open()?.id}"]`).waitFor()
}

async function press(tab: Tab, act: string): Promise<void> {
  await tab.page.waitForSelector(`[data-act="${act}"][data-armed=true]`)
  await tab.click(`[data-act="${act}"]`)
}

async function resultOf(served: Served, run: string): Promise<string> {
  return JSON.stringify((await served.service.runs.wait(run, new AbortController().signal)).result)
}

describe.skipIf(missing !== undefined)(
  `sampling in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('a request and its answer are reviewed and edited, and denied at either review, on both revisions', async () => {
      const { url, stop } = await statelessServer()
      const asked: Pick<CreateMessageParams, 'messages' | 'maxTokens'>[] = []
      const replies: { say: string }[] = []
      const scripted = scriptedModel(replies)
      const model = {
        ...scripted,
        generate(given: Parameters<typeof scripted.generate>[0]) {
          asked.push({ messages: given.messages, maxTokens: given.maxTokens })
          return scripted.generate(given)
        },
      }
      const served = await serveHost({
        servers: { session: asking, modern: { url } },
        rules: [{ id: 'all', verdict: 'allow' }],
        model,
      })
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      for (const server of ['session', 'modern']) {
        replies.push({ say: 'Go to Oslo.' }, { say: 'Go to Rome.' }, { say: 'Go to Bonn.' })
        const run = sample(served, server)
        await look(served, tab, 'sampling-request')
        const left = page.getByRole('group', { name: `What ${server} asks for` })
        for (const text of ['You plan trips.', 'Where to?', 'clever', '400', '0.5', '"END"'])
          await left.getByText(text, { exact: true }).waitFor()
        const right = page.getByRole('group', { name: 'What your model gets' })
        await right.getByLabel('user 3').fill('Where to in May?\u200b')
        await right.getByLabel('Maximum tokens of the answer').fill('200')
        await right.getByText('U+200B').waitFor()
        await tab.check()
        await press(tab, 'allow')

        await look(served, tab, 'sampling-result')
        expect(asked.at(-1)).toEqual({
          messages: [
            ...request.messages.slice(0, 2),
            { role: 'user', content: [{ type: 'text', text: 'Where to in May?\u200b' }] },
          ],
          maxTokens: 200,
        })
        await page
          .getByRole('group', { name: 'What your model was asked' })
          .getByText('Where to in May?')
          .first()
          .waitFor()
        await page.getByLabel('assistant').last().waitFor()
        await press(tab, 'again')
        const answer = page.getByRole('group', { name: /^Answer 2 ·/ }).getByRole('textbox')
        await expect.poll(() => answer.inputValue()).toBe('Go to Rome.')
        await page
          .getByRole('group', { name: /^Answer 1 · scripted$/ })
          .getByText('Go to Oslo.')
          .waitFor()
        await answer.fill('Go to Rome by train.')
        await tab.check()
        await press(tab, 'allow')
        expect(await resultOf(served, run)).toContain('Go to Rome by train.')

        const before = asked.length
        const second = sample(served, server)
        await look(served, tab, 'sampling-request')
        await press(tab, 'deny-once')
        const refused = await resultOf(served, second)
        expect(refused).not.toContain('Go to')
        expect(asked).toHaveLength(before)

        const third = sample(served, server)
        await look(served, tab, 'sampling-request')
        await press(tab, 'allow')
        await look(served, tab, 'sampling-result')
        await press(tab, 'deny-once')
        const withheld = await resultOf(served, third)
        expect(withheld).not.toContain('Go to Bonn')
        expect(asked).toHaveLength(before + 1)
        // On a session, the tool gets an error as the response to its request; on 2026-07-28, the call ends with it.
        for (const text of [refused, withheld]) {
          const { call }: { call: BrokeredCall } = JSON.parse(text)
          const [block] = call.result.content
          expect([server, call.error, block?.type === 'text' && block.text]).toEqual(
            server === 'session'
              ? [
                  server,
                  undefined,
                  '{"error":{"code":-1,"message":"MCP error -1: User rejected sampling request"}}',
                ]
              : [
                  server,
                  { code: -1, message: 'User rejected sampling request' },
                  expect.stringContaining('(error -1)'),
                ],
          )
        }
      }
      await stop()
    })

    test('answers of two models are compared side by side, and the server gets the chosen one', async () => {
      const other = scriptedModel([{ say: 'Go to Rome.' }])
      const served = await serveHost({
        servers: { session: asking },
        rules: [{ id: 'all', verdict: 'allow' }],
        models: [scriptedModel([{ say: 'Go to Oslo.' }]), { ...other, id: 'other' }],
      })
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      const run = sample(served, 'session')
      await look(served, tab, 'sampling-request')
      await press(tab, 'allow')
      await look(served, tab, 'sampling-result')
      await page.click('[data-act=again]')
      await press(tab, 'again-other')
      const first = page.getByRole('group', { name: /^Answer 1 · scripted$/ })
      const second = page.getByRole('group', { name: /^Answer 2 · other$/ })
      await expect.poll(() => second.getByRole('textbox').inputValue()).toBe('Go to Rome.')
      const sides = await Promise.all([first, second].map((side) => side.boundingBox()))
      expect(sides[0]?.y).toBe(sides[1]?.y)
      await second.getByRole('textbox').fill('Go to Rome by train.')

      // Choosing the first one by key keeps what was typed for the second, and arms the card anew.
      await second.getByRole('radio').focus()
      await page.keyboard.press('ArrowLeft')
      await expect.poll(() => first.getByRole('textbox').inputValue()).toBe('Go to Oslo.')
      expect(await second.getByRole('textbox').count()).toBe(0)
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => second.getByRole('textbox').inputValue()).toBe('Go to Rome by train.')
      await page.keyboard.press('ArrowLeft')
      await tab.check()

      // A third one comes beside them, below each other where there is no room.
      await page.click('[data-act=again]')
      await press(tab, 'again-other')
      await page.getByRole('group', { name: /^Answer 3 ·/ }).waitFor()
      await page.setViewportSize({ width: 390, height: 844 })
      await first.getByRole('radio').check()
      await tab.check()
      await press(tab, 'allow')
      expect(await resultOf(served, run)).toContain('Go to Oslo.')
      const review = served.service.host.activity({ kind: 'sampling' }).at(-1)
      expect(review?.detail).toMatchObject({ chosen: 0, edited: false })
    })

    test('texts of the conversation are added one by one, none of them by default', async () => {
      const asked: string[] = []
      const scripted = scriptedModel([{ say: 'One.' }, { say: 'Two.' }])
      const served = await serveHost({
        servers: { session: asking },
        rules: [{ id: 'all', verdict: 'allow' }],
        model: {
          ...scripted,
          generate(given) {
            asked.push(JSON.stringify(given.messages))
            return scripted.generate(given)
          },
        },
      })
      const { host } = served.service
      const chat = { caller: 'chat', conversation: 'talk' } as const
      for (const text of ['about tea', 'about rum']) await host.call('session__echo', { text }, chat)
      const tab = await openTab(served, '/inbox')
      const { page } = tab
      for (const [n, ticked] of [[], ['about rum']].entries()) {
        const params = { ...request, includeContext: 'thisServer' }
        const call = host.call('session__sample', { params }, chat)
        await look(served, tab, 'sampling-request')
        const boxes = page.getByRole('group', { name: 'Also send texts of the conversation' })
        await expect.poll(() => boxes.getByRole('checkbox').count()).toBe(2 + n)
        await expect.poll(() => boxes.getByRole('checkbox', { checked: true }).count()).toBe(0)
        const before = await page.getByText(/^about [\d,]+ tokens out/).textContent()
        for (const text of ticked) {
          await boxes.getByRole('checkbox', { name: text }).check()
          await boxes
            .locator('div', { has: page.getByRole('checkbox', { name: text }) })
            .locator('summary')
            .click()
          await boxes
            .getByText(/of session gave/)
            .filter({ visible: true })
            .waitFor()
          await boxes.getByText('1 of 3 added, about').waitFor()
          expect(await page.getByText(/^about [\d,]+ tokens out/).textContent()).not.toBe(before)
        }
        await tab.check()
        await press(tab, 'allow')
        await look(served, tab, 'sampling-result')
        await press(tab, 'allow')
        await call
        expect(tab.acts).toBe(2 * (n + 1))
        const sent = asked.at(-1) ?? ''
        expect(['about tea', 'about rum'].filter((text) => sent.includes(text))).toEqual(ticked)
      }
    })

    test('further requests are allowed once the card has listed what will not be shown', async () => {
      const served = await serveHost({
        servers: { session: asking },
        rules: [{ id: 'all', verdict: 'allow' }],
        model: scriptedModel([{ say: 'One.' }, { say: 'Two.' }]),
      })
      const tab = await openTab(served, '/inbox', { viewport: { width: 390, height: 844 } })
      const run = sample(served, 'session')
      for (const kind of ['sampling-request', 'sampling-result']) {
        await look(served, tab, kind)
        const [left, right] = await tab.page
          .locator('[data-card] [role=group] [role=group][aria-labelledby]')
          .evaluateAll((sides) => sides.map((side) => side.getBoundingClientRect().x))
        expect(left).toBe(right)
        await tab.page.click('[data-act=remember]')
        await tab.page.getByText('tokens in 24 hours pass without review').waitFor()
        await tab.check()
        await press(tab, 'pass-always')
      }
      expect(await resultOf(served, run)).toContain('One.')
      const second = sample(served, 'session')
      expect(await resultOf(served, second)).toContain('Two.')
      expect(served.service.host.sampling.grants().map(({ stage, scope }) => [stage, scope])).toEqual([
        ['request', 'always'],
        ['result', 'always'],
      ])
    })
  },
)
