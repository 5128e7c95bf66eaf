import { describe, expect, test } from 'vitest'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { serveHost, stored } from '../fixtures/harness.ts'
import { until } from '../server/rig.ts'
import { missing, openTab } from './journey.ts'

const allow = '[data-act=allow][data-armed=true]'

describe.skipIf(missing !== undefined)(
  `sign-in in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('a page is opened by a click, for more scopes by another one; the user logs out; no token is in the page, its frames or the log', async () => {
      const one = await protectedServer()
      one.challenge = 'Bearer scope="read"'
      one.allows = (token, { method }) => {
        const scopes = one.as.good.get(token)?.split(' ')
        if (scopes === undefined) return false
        if (method !== 'tools/call' || scopes.includes('write')) return true
        return 'Bearer error="insufficient_scope", scope="write"'
      }
      // A server that gives the token back, whose header is not the only place with it.
      one.says = (token) => `done with ${token}`
      const opened: URL[] = []
      const served = await serveHost({
        servers: { shop: { url: one.url } },
        rules: [{ id: 'all', verdict: 'allow' }],
        async openPage(url) {
          opened.push(url)
          const { headers } = await fetch(url, { redirect: 'manual' })
          await fetch(new URL(headers.get('location') ?? '', url))
        },
      })
      const tab = await openTab(served, '/servers/shop')
      const { page } = tab
      const frames: string[] = []
      page.on('websocket', (socket) => {
        socket.on('framereceived', ({ payload }) => frames.push(String(payload)))
        socket.on('framesent', ({ payload }) => frames.push(String(payload)))
      })
      await page.reload()
      const { host, surfaces } = served.service
      await until(() => surfaces.attached.length > 0, 'the tab')

      await page.getByRole('button', { name: 'Sign in' }).first().waitFor()
      expect(opened).toEqual([])
      await tab.check()
      await page.getByRole('button', { name: 'Sign in' }).first().click()
      await until(() => host.connections.get('shop')?.state === 'ready', 'the login')
      expect(opened).toHaveLength(1)

      const call = host.call('shop__x', {}, { caller: 'chat' })
      await until(() => host.inbox.list().length === 1, 'the question for more')
      await tab.go(`/inbox/${host.inbox.list()[0]?.id}`)
      await page.getByText(/read, write|write, read/).waitFor()
      await page.locator(allow).waitFor()
      expect(opened).toHaveLength(1)
      await page.click(allow)
      expect(JSON.stringify(await call)).toContain('done')
      expect(opened).toHaveLength(2)

      const tokens = [...one.as.good.keys(), ...one.as.refreshable]
      expect(tokens.length).toBeGreaterThan(1)
      // Everything that is shown of it: every row of the log with its message, and the server.
      const shown: string[] = []
      await tab.go('/activity?view=raw')
      await page.locator('[data-place]').first().waitFor()
      for (const row of await page.locator('[data-place]').all()) {
        await row.click()
        await page.getByRole('complementary').getByRole('heading', { level: 2 }).waitFor()
        shown.push(await page.content())
      }
      expect(shown.length).toBeGreaterThan(5)
      await tab.go('/servers/shop')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await until(() => host.connections.get('shop')?.state === 'needs-sign-in', 'the end of the login')
      await page.getByRole('button', { name: 'Sign in' }).first().waitFor()
      await tab.check()
      const texts = [...shown, frames.join('\n'), await page.content(), ...(await stored(served))]
      expect(frames.length).toBeGreaterThan(10)
      // The messages and headers that carried them are recorded.
      expect(texts.at(-1)).toMatch(/"method":"tools\/call"[\s\S]*"authorization"/i)
      for (const token of tokens)
        expect([token, texts.filter((text) => text.includes(token))]).toEqual([token, []])
    })
  },
)
