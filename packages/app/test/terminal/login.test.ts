import { describe, expect, test } from 'vitest'
import { choose } from '../../../../scripts/terminal/choose.ts'
import { protectedServer } from '../../../sdk/test/client-auth/support/protected-server.ts'
import { missing, person } from './person.ts'

/** Goes to a page as a person does who agrees to everything. */
async function openPage(page: string): Promise<void> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  await fetch(new URL(headers.get('location') ?? '', page))
}

/** A person with a shop that wants them signed in, and a browser that notes the pages it is sent to. */
async function withShop() {
  const shop = await protectedServer()
  const ann = person()
  for (const name of ['xdg-open', 'open']) ann.program(name)
  const config = ann.write('shop.json', { mcpServers: { shop: { url: shop.url } } })
  return { shop, ann, use: ['--config', config] }
}

describe.skipIf(missing !== undefined || process.platform === 'win32')(
  'a login at a terminal',
  { timeout: 60_000 },
  () => {
    test('opens the page in the browser, prints it, and continues after the login', async () => {
      const { shop, ann, use } = await withShop()
      const terminal = ann.terminal(['login', 'shop', ...use])
      await terminal.until('Sign in at the page that opens, or here:')
      await expect.poll(ann.noted).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+$/)
      const page = new URL(ann.noted())
      expect(page.origin).toBe(shop.as.issuer)
      expect(page.searchParams.get('code_challenge_method')).toBe('S256')
      expect(terminal.history().replaceAll(/\s/g, '')).toContain(page.href)
      await openPage(page.href)
      await terminal.until('Signed in. shop is ready, with 1 tool.')
      expect(await terminal.exited).toBe(0)
      expect(terminal.history()).not.toMatch(/(access|refresh)-\d+-secret/)

      const called = ann.terminal(['call', 'shop', 'x', ...use])
      await called.until('done')
      expect(shop.as.at('/authorize')).toHaveLength(1)
    })

    test('is cancelled with Ctrl+C, without a login', async () => {
      const { shop, ann, use } = await withShop()
      const terminal = ann.terminal(['login', 'shop', ...use])
      await terminal.until('Sign in at the page that opens')
      terminal.press('ctrl+c')
      expect(await terminal.exited).not.toBe(0)
      expect(shop.as.at('/token')).toHaveLength(0)
      expect((await ann.quietly('call', 'shop', 'x', ...use)).code).toBe(3)
    })

    test('needs consent in a conversation before any page is opened', async () => {
      const { shop, ann, use } = await withShop()
      const terminal = ann.terminal(['chat', '--model', 'offline', ...use])
      await terminal.until('Open it?')
      expect(terminal.history()).toContain('shop requires you to sign in. Your browser would open:')
      expect(ann.noted()).toBe('')
      await choose(terminal, 'Open it and sign in')
      await expect.poll(ann.noted).toContain(`${shop.as.issuer}/authorize?`)
      await openPage(ann.noted())
      await terminal.until(/you › *$/m)
      await expect.poll(() => shop.as.at('/token').length).toBe(1)
      await terminal.until('Signed in to shop.')
    })

    test('is not needed any more after a login in another program', async () => {
      const { shop, ann, use } = await withShop()
      const terminal = ann.terminal(['chat', '--model', 'offline', ...use])
      await terminal.until('Open it?')
      const other = ann.terminal(['login', 'shop', ...use])
      await other.until('Sign in at the page that opens')
      await expect.poll(ann.noted, { timeout: 20_000 }).toContain('/authorize?')
      await openPage(ann.noted())
      await other.until('Signed in. shop is ready')
      await terminal.until(
        /Answered by a sign-in in another window\.[\s\S]*The address above is no longer needed\./,
      )
      await terminal.until('Tools: new: shop__x.')
      expect(terminal.history()).not.toContain('Open it and sign in')
      expect(shop.as.at('/authorize')).toHaveLength(1)
    })
  },
)
