import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { registry, weather } from '../../../host/test/registry/stand-in.ts'
import { serveConfigured } from '../fixtures/configured.ts'
import { asking, scriptedModel, stored, travel } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openTab } from './journey.ts'

const ownText = (servers: object, rules: string): string => `{
  // My own servers
  "mcpServers": ${JSON.stringify(servers)},
  "jackfield": {
    "rules": [
      // Everything of demo is fine
      ${rules}
    ]
  }
}
`

/** The text of every file in a folder, whatever its depth. */
function textsIn(folder: string): string {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n')
}

/** Colours do not fade, so that their contrast is what it stays. */
const still = { reducedMotion: 'reduce' } as const

describe.skipIf(missing !== undefined)(
  `configuration in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 90_000 },
  () => {
    test('a rule is tried, saved, matched, and edited by hand, with its comments kept', async () => {
      const served = await serveConfigured(
        ownText({ demo: asking }, '{ "verdict": "allow", "server": "demo" }'),
      )
      const { host } = served.service
      const call = (tool: string, text: string) => host.call(`demo__${tool}`, { text }, { caller: 'chat' })
      for (let n = 0; n < 5; n += 1) await call('echo', `hello ${n}`)
      await call('say', 'x')

      const tab = await openTab(served, '/permissions/try', still)
      const { page } = tab
      await page.getByLabel('Tool', { exact: true }).fill('echo')
      await page.getByRole('button', { name: 'deny' }).click()
      await page.getByText('5 of 6 calls of the last 30 days.').waitFor()
      await page.getByRole('button', { name: 'Add a condition' }).click()
      await page.getByLabel('Place in the arguments').fill('/text')
      await page.getByLabel('Value').fill('hello [34]')
      await page.getByText('0 of 6 calls').waitFor()
      await page.getByLabel('Value').fill('hello 4')
      await page.getByText('1 of 6 calls').waitFor()
      await expect.poll(() => page.getByRole('row').count()).toBe(2)
      await page.locator('[data-act=review]').click()
      const review = page.getByRole('region', { name: 'Review the change' })
      await review.getByText('"tool": "echo"').waitFor()
      expect(served.read()).not.toContain('hello 4')
      await tab.check()
      await review.locator('[data-act=save]').click()
      await page.waitForURL('**/permissions/rules')
      expect(served.read()).toContain('// Everything of demo is fine')
      expect(served.read()).toContain('// My own servers')

      expect((await call('echo', 'hello 4')).denied).toBe(true)
      expect((await call('echo', 'hello 3')).denied).toBe(false)
      const rules = page.getByRole('list', { name: 'Rules' }).getByRole('listitem')
      await rules.filter({ hasText: 'deny' }).getByText('config.json:').waitFor()
      await tab.go('/permissions/given')
      await tab.go('/permissions/rules')
      await page.reload()
      await rules.filter({ hasText: 'deny' }).getByText('1', { exact: true }).waitFor()

      // An editor changes the file: the page and the host follow, without a reload.
      served.write(served.read().replace('"hello 4"', '"hello 2"').replace('of demo is fine', 'is fine'))
      await rules.filter({ hasText: 'hello 2' }).waitFor()
      expect((await call('echo', 'hello 2')).denied).toBe(true)
      expect((await call('echo', 'hello 4')).denied).toBe(false)
      await tab.check()

      await rules.filter({ hasText: 'hello 2' }).getByRole('button', { name: 'Remove' }).click()
      await page.locator('[data-act=save]').click()
      await rules.filter({ hasText: 'hello 2' }).waitFor({ state: 'detached' })
      expect(served.read()).toContain('// Everything is fine')
      expect((await call('echo', 'hello 2')).denied).toBe(false)
    })

    test('a change is rejected if the file changed since it was shown', async () => {
      const served = await serveConfigured(ownText({}, '{ "verdict": "allow" }'))
      const tab = await openTab(served, '/permissions/rules', still)
      await tab.click('[data-act=add]')
      await tab.click('[data-act=review]')
      await tab.page.locator('[data-act=save]').waitFor()
      served.write(served.read().replace('My own', 'Our own'))
      await tab.click('[data-act=save]')
      await tab.page.getByRole('alert').getByText('changed since the change was shown').waitFor()
      expect(served.read()).toContain('Our own')
      await tab.check()
    })

    test('why a call is allowed is explained without calling', async () => {
      const served = await serveConfigured(
        ownText({ demo: asking }, '{ "id": "no-echo", "verdict": "deny", "tool": "echo" }'),
      )
      const tab = await openTab(served, '/permissions/explain', still)
      await tab.page.getByLabel('Tool', { exact: true }).fill('demo__echo')
      const answer = tab.page.getByRole('region', { name: 'Explain a call' })
      await answer.getByText('no-echo').first().waitFor()
      await answer.getByText('1 rule matches').waitFor()
      expect(served.service.host.activity({ kind: 'call' })).toEqual([])
      await tab.check()
    })

    test('a server of the registry is found, reviewed, and runs, and its secret appears nowhere', async () => {
      const { url } = await registry([weather])
      const bin = tempFolder()
      const noted = join(bin, 'noted')
      const words = [process.execPath, ...('args' in travel ? (travel.args ?? []) : []), '--db', ':memory:']
      writeFileSync(
        join(bin, 'npx'),
        `#!/bin/sh\necho "$@" "$REGION" "$WEATHER_TOKEN" > ${noted}\nexec ${words.map((word) => `'${word}'`).join(' ')}\n`,
      )
      chmodSync(join(bin, 'npx'), 0o700)
      const path = [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter)
      // Programs are looked for where this process would find them.
      vi.stubEnv('PATH', path)
      onTestFinished(() => void vi.unstubAllEnvs())
      const served = await serveConfigured('{ "mcpServers": {} }', { registry: url })
      const tab = await openTab(served, '/servers', still)
      const { page } = tab
      const frames: string[] = []
      page.on('websocket', (socket) => {
        socket.on('framereceived', ({ payload }) => frames.push(String(payload)))
      })
      await page.reload()
      const secret = 'hush-hush-weather-token'
      await tab.click('main >> text=Add a server')
      await page.getByLabel('Search the registry').fill('weather')
      await tab.press('Enter')
      await tab.click('main >> text=io.github.ann/weather')
      const argv = page.getByRole('list', { name: 'What runs' }).getByRole('listitem')
      await argv.first().waitFor()
      await expect
        .poll(() => argv.allInnerTexts())
        .toEqual(['npx', '-y', '@ann/weather@1.4.0', '--units', 'metric'])
      await page.getByLabel('REGION').selectOption('eu')
      await page.getByLabel('WEATHER_TOKEN').fill(secret)
      await page.getByText('+').first().waitFor()
      await page.locator('[data-act=install]:not([aria-disabled])').waitFor()
      expect(served.service.host.connections.size).toBe(0)
      await tab.check()
      await tab.click('[data-act=install]')
      await page.waitForURL('**/servers/weather')
      await page.getByRole('heading', { name: 'weather' }).waitFor()
      expect(tab.acts).toBe(4)
      expect(served.service.host.connections.get('weather')).toMatchObject({ state: 'ready' })
      expect(readFileSync(noted, 'utf8').trim()).toBe(`-y @ann/weather@1.4.0 --units metric eu ${secret}`)
      expect(JSON.parse(served.read()).mcpServers.weather.env).toEqual({
        WEATHER_TOKEN: `\${secret:weather.WEATHER_TOKEN}`,
        REGION: 'eu',
      })
      expect(textsIn(served.home)).not.toContain(secret)
      expect((await stored(served)).join('\n')).not.toContain(secret)
      expect(frames.join('\n')).not.toContain(secret)
      expect(await page.content()).not.toContain(secret)
      expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
        secret,
      )
      expect(served.service.host.activity({ kind: 'install' })).toMatchObject([{ outcome: 'allowed' }])
      await tab.check()
    })

    test('servers of other applications are imported where there are none', async () => {
      const git = { command: 'node', args: ['git.js'], env: { GIT_TOKEN: 'abcdef-secret' }, disabled: true }
      const served = await serveConfigured('{ "mcpServers": {} }', {
        files: { '.cursor/mcp.json': JSON.stringify({ mcpServers: { git } }) },
      })
      const tab = await openTab(served, '/servers', still)
      await tab.click('main >> text=Copy 1 server')
      await tab.click('[data-act=review]')
      const review = tab.page.getByRole('region', { name: 'Review the change' })
      await review.getByText('Moved to the secret store').waitFor()
      expect(await review.innerText()).not.toContain('abcdef-secret')
      await tab.check()
      await tab.click('[data-act=save]')
      await tab.page.waitForURL('**/servers')
      await tab.page.getByText('git', { exact: true }).first().waitFor()
      expect(served.read()).toContain('{secret:git.GIT_TOKEN}')
      await tab.check()
    })

    test('a server is switched off and on, and its entry is changed without its secret', async () => {
      const served = await serveConfigured(
        ownText({ demo: { ...asking, env: { DEMO_TOKEN: 'a-secret-of-demo' } } }, '{ "verdict": "allow" }'),
      )
      const tab = await openTab(served, '/settings/servers', still)
      const { page } = tab
      const states = served.service.host.connections
      await page.getByRole('switch', { name: 'demo is on' }).click()
      await page.getByText('Restarts demo').waitFor()
      await tab.click('[data-act=save]')
      await page.getByRole('switch', { name: 'demo is on', checked: false }).waitFor()
      expect(states.get('demo')?.state).toBe('disabled')
      await page.getByRole('switch', { name: 'demo is on' }).click()
      await tab.click('[data-act=save]')
      await page.getByRole('switch', { name: 'demo is on', checked: true }).waitFor()
      await page.getByRole('listitem').getByText('ready').waitFor()
      expect(states.get('demo')?.state).toBe('ready')

      await page.getByRole('button', { name: 'Details' }).click()
      const entry = page.getByLabel('Entry')
      await expect.poll(() => entry.inputValue()).toContain('"DEMO_TOKEN": "[DEMO_TOKEN]"')
      await entry.fill((await entry.inputValue()).replace('"env"', '"callTimeoutMs": 5000,\n  "env"'))
      await tab.click('[data-act=review]')
      await page.getByRole('region', { name: 'Review the change' }).getByText('5000').waitFor()
      await tab.click('[data-act=save]')
      await page.getByText('callTimeoutMs').first().waitFor()
      expect(served.read()).toContain('a-secret-of-demo')
      expect(await page.content()).not.toContain('a-secret-of-demo')
      await tab.check()
    })

    test('the requirements of a server are links, and the server starts once they are met', async () => {
      const env = { TOKEN: `\${secret:demo.token}` }
      const served = await serveConfigured(ownText({ demo: { ...asking, env } }, '{ "verdict": "allow" }'))
      const tab = await openTab(served, '/servers/demo', still)
      const { page } = tab
      await page.getByText('there is no secret "demo.token"').first().waitFor()
      expect(await page.locator('main').textContent()).not.toContain('jackfield secret')
      await tab.check()
      await tab.click('main >> text=Set the secret demo.token')
      const row = page.getByRole('listitem').filter({ hasText: 'demo.token' })
      await row.getByText('Missing.').waitFor()
      await tab.check()
      expect(await row.getByLabel('Value').evaluate((field) => field === document.activeElement)).toBe(true)
      await page.keyboard.type('a-value')
      await tab.press('Enter')
      // Nothing is left to do: the server starts with the value.
      await row.getByText('ready', { exact: true }).waitFor()
      expect(tab.acts).toBe(2)
      await tab.go('/servers/demo')
      await page.getByText('ready', { exact: true }).first().waitFor()
      expect(await page.getByRole('link', { name: 'Set the secret' }).count()).toBe(0)

      // One that runs keeps the value that it was started with until the person restarts it.
      const { host } = served.service
      const before = host.connections.get('demo')?.sinceMs ?? 0
      await tab.go('/settings/secrets')
      await row.getByRole('button', { name: 'Replace' }).click()
      await row.getByLabel('Value').fill('another-value')
      await page.keyboard.press('Enter')
      await row.getByText('Running with the earlier value').waitFor()
      expect(host.connections.get('demo')).toMatchObject({ state: 'ready', sinceMs: before })
      await tab.check()
      await row.getByRole('button', { name: 'Restart demo' }).click()
      await row.getByText('Running with the earlier value').waitFor({ state: 'detached' })
      await until(() => host.connections.get('demo')?.state === 'ready', 'the restart')
      expect(host.connections.get('demo')?.sinceMs).toBeGreaterThan(before)
    })

    test('secrets are replaced and removed by name, and no value is returned', async () => {
      const wiki = {
        url: 'https://wiki.example/mcp',
        headers: { Authorization: `Bearer \${secret:wiki.token}` },
      }
      const served = await serveConfigured(
        JSON.stringify({ mcpServers: { wiki: { ...wiki, disabled: true } } }),
      )
      const { secrets } = served.service.host
      await secrets.set('wiki.token', 'first-secret-value')
      const tab = await openTab(served, '/settings/secrets', still)
      const { page } = tab
      const row = page.getByRole('listitem').filter({ hasText: 'wiki.token' })
      await row.getByText('used by wiki').waitFor()
      await row.getByRole('button', { name: 'Replace' }).click()
      await row.getByLabel('Value').fill('second-secret-value')
      await page.keyboard.press('Enter')
      await row.getByLabel('Value').waitFor({ state: 'detached' })
      expect(await page.content()).not.toMatch(/(?:first|second)-secret-value/)
      expect(textsIn(served.home)).not.toMatch(/(?:first|second)-secret-value/)
      await tab.check()
      await row.getByRole('button', { name: 'Remove' }).click()
      expect(await secrets.names()).toEqual(['wiki.token'])
      await row.getByRole('button', { name: 'Remove for good' }).click()
      await row.waitFor({ state: 'detached' })
      expect(await secrets.names()).toEqual([])
    })

    test('a model is tested, and the settings fit every width', async () => {
      const served = await serveConfigured('{ "mcpServers": {} }', {
        model: scriptedModel([{ say: 'ready' }]),
        env: { ANTHROPIC_API_KEY: 'sk-a-key-of-this-test' },
      })
      const tab = await openTab(served, '/settings/models', { ...still, locale: 'zh-CN' })
      const { page } = tab
      await tab.click('[data-act=test]')
      await page.getByRole('status').getByText('ready').waitFor()
      await page.getByText('ANTHROPIC_API_KEY ✓').waitFor()
      expect(await page.content()).not.toContain('sk-a-key-of-this-test')
      const parts = ['models', 'servers', 'registry', 'secrets', 'config', 'folders', 'surfaces', 'look']
      for (const width of [1440, 1024, 390]) {
        await page.setViewportSize({ width, height: 844 })
        for (const part of parts) {
          await tab.go(`/settings/${part}`)
          await page.locator(`nav a[href="/settings/${part}"][aria-current=page]`).waitFor()
          await page.locator('#settings-title').waitFor()
          await tab.check()
        }
        for (const part of ['rules', 'given', 'explain', 'try']) {
          await tab.go(`/permissions/${part}`)
          await page.locator(`nav a[href="/permissions/${part}"][aria-current=page]`).waitFor()
          await tab.check()
        }
      }
    })
  },
)
