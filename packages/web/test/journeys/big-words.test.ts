import type { InboxItem } from '@jackfield/host'
import { defineServer, prompt, resource, ToolError, tool } from '@jackfield/sdk'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { asking, scriptedModel, serveHost } from '../fixtures/harness.ts'
import { tagged } from '../fixtures/hostile-texts.ts'
import { viewer } from '../fixtures/hostile-viewer.ts'
import { until } from '../server/rig.ts'
import { missing, openTab } from './journey.ts'

describe.skipIf(missing !== undefined)(
  `words of 1 MB in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 180_000 },
  () => {
    test('a word of 1 MB stays in its box, wherever a server, a model or a caller can put one', async () => {
      // The dock shows some of them beside other questions, too.
      expect([...(await showBigWords())]).toEqual(expect.arrayContaining([...bigPlaces]))
    })
  },
)

/** Where a text of 1 MB is shown. */
const bigPlaces = [
  '/activity big.argument',
  '/activity raw big.answer',
  '/activity raw big.log',
  '/activity raw big.progress',
  '/activity raw big.sampled',
  '/chat big.model',
  '/inbox approval big.argument',
  '/inbox elicitation big.form',
  '/inbox result big.result',
  '/inbox sampling-request big.sampled',
  '/inbox sampling-result big.answer',
  '/inbox sampling-result big.sampled',
  '/inspect messages big.progress',
  '/inspect prompt big.prompt',
  '/inspect resource big.resource',
  '/inspect result big.error',
  '/inspect result big.text',
  '/inspect running big.progress',
  '/library big.resource',
]

/** Shows words of 1 MB, and gives the places. */
async function showBigWords(): Promise<ReadonlySet<string>> {
  const word = (place: string): string => tagged(place, `<b>${'W'.repeat(1_000_000)}`)
  const gate = Promise.withResolvers<void>()
  const { url, close } = await serveHttp(
    defineServer({
      name: 'big',
      version: '1.0.0',
      tools: {
        text: tool({ input: z.object({}), run: () => word('big.text') }),
        fail: tool({
          input: z.object({}),
          run() {
            throw new ToolError(word('big.error'))
          },
        }),
        report: tool({
          input: z.object({}),
          async run(_args, ctx) {
            ctx.progress(1, 2, word('big.progress'))
            ctx.log('warning', word('big.log'))
            await gate.promise
            return 'reported'
          },
        }),
        result: tool({ input: z.object({}), run: () => word('big.result') }),
      },
      resources: { big: resource({ uri: 'big://one', read: () => word('big.resource') }) },
      prompts: { big: prompt({ run: () => word('big.prompt') }) },
    }),
  ).listen({ port: 0 })
  onTestFinished(() => close())
  const served = await serveHost({
    sampling: { limits: { tokensPerDay: 10_000_000 } },
    servers: { big: { url: `${url}` }, demo: asking },
    rules: [
      { id: 'echo', verdict: 'ask', tool: 'echo', scope: 'always' },
      { id: 'look', verdict: 'ask', tool: 'result', gate: 'result' },
      { id: 'rest', verdict: 'allow' },
    ],
    model: scriptedModel([{ say: word('big.answer') }, { say: word('big.model') }]),
  })
  const { host } = served.service
  const tab = await openTab(served, '/servers', { viewport: { width: 1440, height: 2_000 } })
  const { page } = tab
  const { places, show } = viewer(tab)
  for (const name of ['text', 'fail', 'report']) {
    await tab.go(`/inspect/big/tools/${name}?args=%7B%7D`)
    await page.getByRole('heading', { name, exact: true }).waitFor()
    if (name === 'report') {
      await page.getByText('Options').click()
      await page.getByLabel('Log level').selectOption('debug')
    }
    await page.click('[data-act=run]')
    if (name === 'report') {
      await page.getByText('⟦big.progress⟧').first().waitFor()
      await show('/inspect running')
      gate.resolve()
    }
    await page.getByText(/activity #\d+/).waitFor()
    if (name !== 'report') {
      await show('/inspect result')
      continue
    }
    await page.getByRole('button', { name: /^Messages/ }).click()
    // A payload has rows of its own that open, too.
    await page.locator('main ol > li > details > summary', { hasText: 'notifications/progress' }).click()
    await page.locator('main ol').getByText('⟦big.progress⟧').first().waitFor()
    await show('/inspect messages')
  }
  await tab.go('/inspect/big/prompts/big')
  await page.click('[data-act=run]')
  await page.getByText('⟦big.prompt⟧').first().waitFor()
  await show('/inspect prompt')
  await tab.go(`/inspect/big/resources/${encodeURIComponent('big://one')}`)
  await page.click('[data-act=run]')
  await page.getByText('⟦big.resource⟧').first().waitFor()
  await show('/inspect resource')
  await tab.go(`/library/big/${encodeURIComponent('big://one')}`)
  await page.getByText('⟦big.resource⟧').first().waitFor()
  await show('/library')

  const chat = { caller: 'chat', conversation: 'talk' } as const
  void host.call('demo__echo', { text: word('big.argument') }, chat).catch(() => undefined)
  void host.call('big__result', {}, chat).catch(() => undefined)
  const start = (name: string, params: unknown): void =>
    void served.service.startRun(
      { kind: 'call', tool: `demo__${name}`, arguments: { params } },
      { by: 'test', asks: true },
    )
  const requestedSchema = { type: 'object', properties: { a: { type: 'string' } } }
  start('ask', { message: word('big.form'), requestedSchema })
  await until(() => host.inbox.list().length === 3, 'the questions')
  for (const { id, question } of host.inbox.list()) {
    await tab.go(`/inbox/${id}`)
    await page.locator(`[data-card="${id}"]`).waitFor()
    await show(`/inbox ${question.kind}`)
    if (question.kind === 'elicitation') host.inbox.answer(id, { action: 'decline' }, 'test')
    else if (question.kind === 'approval') host.inbox.answer(id, { verdict: 'allow' }, 'test')
    else host.inbox.answer(id, { verdict: 'deny' }, 'test')
  }
  await until(
    () => host.activity({ kind: 'call' }).every(({ outcome }) => outcome !== 'running'),
    'the calls',
  )
  start('sample', {
    messages: [{ role: 'user', content: { type: 'text', text: word('big.sampled') } }],
    maxTokens: 9,
  })
  for (const kind of ['sampling-request', 'sampling-result']) {
    const item = (): InboxItem | undefined => host.inbox.list().find(({ question }) => question.kind === kind)
    await until(() => item() !== undefined, kind)
    const id = item()?.id ?? ''
    await tab.go(`/inbox/${id}`)
    await page.locator(`[data-card="${id}"] [role=group][aria-labelledby]`).nth(1).waitFor()
    await show(`/inbox ${kind}`)
    host.inbox.answer(id, { verdict: 'allow' }, 'test')
  }
  await tab.go('/activity?view=raw')
  for (const name of ['answer', 'log', 'progress', 'sampled'])
    await page
      .locator('[data-place]', { hasText: `⟦big.${name}⟧` })
      .first()
      .waitFor()
  await show('/activity raw')
  const call = host.activity({ kind: 'call' }).find(({ detail }) => detail['tool'] === 'echo')
  await tab.go(`/activity/${call?.id}`)
  await page.locator('main', { hasText: '⟦big.argument⟧' }).waitFor()
  await show('/activity')
  await tab.go('/chat')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByRole('textbox', { name: 'Message' }).fill('Say it')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('log').getByText('⟦big.model⟧').first().waitFor()
  await page.locator('[data-act=stop]').waitFor({ state: 'detached' })
  await show('/chat')
  await tab.check()
  await page.context().close()
  return places
}
