import { defineServer, tool } from '@jackfield/sdk'
import { tasks } from '@jackfield/sdk/extensions/tasks'
import { serveHttp } from '@jackfield/sdk/http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { serveHost } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab } from './journey.ts'

const pollIntervalMs = 200

/** A server over HTTP that outlives hosts, and how often each of its tasks was asked for. */
async function taskServer(): Promise<{
  url: string
  finish: () => void
  polls: Map<string, number>
  pausesMs: number[]
}> {
  const gate = Promise.withResolvers<void>()
  const polls = new Map<string, number>()
  const answered = new Map<string, number>()
  const pausesMs: number[] = []
  const server = defineServer({
    name: 'works',
    version: '1.0.0',
    extensions: [tasks({ pollIntervalMs })],
    use: [
      async (exchange, next) => {
        const { taskId } = exchange.params
        if (exchange.method !== 'tasks/get' || typeof taskId !== 'string') return next(exchange)
        polls.set(taskId, (polls.get(taskId) ?? 0) + 1)
        const last = answered.get(taskId)
        if (last !== undefined) pausesMs.push(performance.now() - last)
        const outcome = await next(exchange)
        answered.set(taskId, performance.now())
        return outcome
      },
    ],
    tools: {
      work: tool({
        task: 'required',
        input: z.object({ number: z.number() }),
        async run({ number }, ctx) {
          ctx.progress(1, 2, `half of ${number}`)
          await gate.promise
          return `${number} is done`
        },
      }),
      ask: tool({
        task: 'required',
        async run(_args, ctx) {
          const answer = await ctx.elicit({
            message: 'Which colour?',
            schema: z.object({ colour: z.string() }),
          })
          return answer.action === 'accept' ? `It is ${answer.content.colour}` : answer.action
        },
      }),
    },
    onError: () => {},
  })
  const listener = await serveHttp(server, { keys: ['k'.repeat(32)] }).listen({ port: 0 })
  onTestFinished(() => listener.close())
  return { url: listener.url, finish: () => gate.resolve(), polls, pausesMs }
}

describe.skipIf(missing !== undefined)(
  `tasks in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('50 tasks outlive the host, one of them with a question, and are polled at the interval of their server', async () => {
      const { url, finish, polls, pausesMs } = await taskServer()
      const served = await serveHost({
        servers: { works: { url } },
        rules: [{ id: 'all', verdict: 'allow' }],
      })
      const first = await openTab(served, '/tasks')
      const start = (name: string, args: Record<string, unknown>): void =>
        void served.service.host
          .call(`works__${name}`, args, { caller: 'person', typed: true })
          .catch(() => {})
      start('ask', {})
      for (let number = 1; number < 50; number++) start('work', { number })
      await first.page.getByText('50 running, 0 ended').waitFor()
      await first.page.getByText('half of 49').waitFor()
      await first.page.getByRole('link', { name: 'Answer' }).waitFor()
      await first.check()
      await first.page.close()

      const again = await served.restart()
      // It is asked again, and waits until a client can show it.
      await until(() => again.service.host.inbox.list().length === 1, 'the question')
      const tab = await openTab(again, '/tasks')
      const { page } = tab
      const asking = page.locator('[data-task=input_required]')
      await page.getByText('50 running, 0 ended').waitFor()
      await asking.getByRole('link', { name: 'Answer' }).click()
      await page.getByRole('textbox', { name: 'colour' }).fill('blue')
      await page.getByRole('button', { name: 'Review' }).click()
      await tab.click('[data-act=accept][data-armed=true]')
      await tab.go('/tasks')
      await page.getByText('49 running, 1 ended').waitFor()
      await page.locator('[data-task=working]').first().getByRole('button', { name: 'Cancel' }).click()
      await page.locator('[data-task=cancelled]').waitFor()
      finish()
      await page.getByText('0 running, 50 ended').waitFor()
      await page.locator('[data-task=completed]', { hasText: 'ask' }).getByRole('link').click()
      await page.getByText('It is blue').waitFor()
      await tab.check()
      // The same task among what its server offers.
      const id = new URL(page.url()).pathname.split('/').at(-1)
      await tab.go(`/inspect/works/tasks/${id}`)
      await page.getByText('It is blue').waitFor()
      await tab.check()

      const ended = new Map(polls)
      await again.service.host.call('works__work', { number: 50 }, { caller: 'person', typed: true })
      expect(polls.size).toBe(51)
      for (const [id, count] of ended) expect([id, polls.get(id)]).toEqual([id, count])
      // Requests that were delayed on their way arrive closer together, so the mean is what counts.
      const mean = pausesMs.reduce((sum, pause) => sum + pause, 0) / pausesMs.length
      expect(mean).toBeGreaterThan(pollIntervalMs * 0.95)
      await until(() => again.service.host.tasks.list().every(({ followed }) => !followed), 'the end of all')
    })
  },
)
