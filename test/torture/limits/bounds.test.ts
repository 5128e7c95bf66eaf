import { expect, onTestFinished } from 'vitest'
import { modern, nodeAdapter, session } from '../../../packages/sdk/test/serve/http-support.ts'
import { settle, testServer, until } from '../../../packages/sdk/test/serve/support.ts'
import { campaign } from '../campaign.ts'
import { asPrincipal, mounted, rows } from './bound-rows.ts'
import { watched } from './served.ts'

campaign(
  {
    id: 'at-the-limit',
    chapter: 'Bytes and limits',
    claim: 'Input at a limit is accepted, and one more is refused with the error of that limit',
    trial: 'attempt one below, at, or one above a limit',
    trials: { change: 3 * Object.keys(rows).length, long: 3 * Object.keys(rows).length },
  },
  async () => {
    for (const [name, { limit, attempt, refusal }] of Object.entries(rows)) {
      expect(await attempt(limit - 1), `${name}: one below`).toBeUndefined()
      expect(await attempt(limit), `${name}: at the limit`).toBeUndefined()
      expect(await attempt(limit + 1), `${name}: one above`).toMatch(refusal)
    }
  },
)

campaign(
  {
    id: 'places-left',
    chapter: 'Bytes and limits',
    claim: 'The place of an ended call, subscription or session of a principal is available again',
    trial: 'place taken and left',
    trials: { test: 9, change: 30, long: 3000 },
  },
  async ({ trials }) => {
    const only = { inFlightPerPrincipal: 1, listenStreamsPerPrincipal: 1, sessionsPerPrincipal: 1 }
    const one = await mounted({ ...asPrincipal('ada'), limits: only })
    for (let trial = 0; trial < trials / 3; trial++) {
      const echoed = await one.send(modern('tools/call', { name: 'echo' }))
      expect([echoed.status, await echoed.text()]).toEqual([200, expect.stringContaining('echo')])
      await watched('a subscription has its place', async () => {
        const listened = await one.send(modern('subscriptions/listen', { notifications: {} }))
        listened.drop()
        return listened.status === 200
      })
      const again = await session(one)
      expect(again.first.status).toBe(200)
      expect((await again.end()).status).toBe(204)
    }
  },
)

campaign(
  {
    id: 'nobody-listens',
    chapter: 'Bytes and limits',
    claim:
      'Progress for a disconnected client is stored up to the limit of its queue, and its response always',
    trial: 'call whose client is away for most of it',
    trials: { change: 2, long: 50 },
  },
  async ({ trials, measured }) => {
    const streamQueueBytes = 100_000
    let most = 0
    for (let trial = 0; trial < trials; trial++) {
      let goOn = (): void => {}
      const gone = new Promise<void>((resolve) => {
        goOn = resolve
      })
      let over = false
      const server = testServer({
        chatty: async (_args, { notify }) => {
          notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 0 } })
          await gone
          for (let progress = 1; progress <= 300; progress++) {
            const message = 'x'.repeat(5000)
            notify({ method: 'notifications/progress', params: { progressToken: 'p', progress, message } })
            await settle(0)
          }
          over = true
          return 'all is said'
        },
      })
      const one = await nodeAdapter(server, { limits: { streamQueueBytes } })
      onTestFinished(() => one.close())
      const client = await session(one)
      const first = await client.call(1, 'chatty', { _meta: { progressToken: 'p' } })
      await until(() => first.messages().length === 1)
      first.drop()
      await settle(50)
      goOn()
      await until(() => over)
      const rest = await client.get({ 'last-event-id': first.events.at(-1)?.id })
      await until(() => rest.over())
      const text = await rest.text()
      most = Math.max(most, text.length)
      expect(text).toContain('all is said')
      expect(text.length).toBeGreaterThan(streamQueueBytes / 2)
      expect(text.length).toBeLessThan(2 * streamQueueBytes)
      await one.close()
    }
    measured('kept for a client that was away, of 1.5 MB', Math.round(most / 1000), 'kB')
  },
)
