import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Frame, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Served, serveHost } from '../fixtures/harness.ts'
import { tempFolder, until } from '../server/rig.ts'
import { missing, openBrowser, openTab, type Tab } from './journey.ts'

const armed = '[data-act=allow][data-armed=true]'

/** A server that records whatever gets out, over HTTP, WebSockets and UDP. */
async function outside(): Promise<{ origin: string; received: string[] }> {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(request.url ?? '')
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*', 'Content-Type': 'text/javascript' }).end()
  })
  server.on('upgrade', ({ url = '' }, stream) => {
    received.push(url)
    stream.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const datagrams = createSocket('udp4', () => received.push('/rtc'))
  datagrams.bind(port, '127.0.0.1')
  await once(datagrams, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
    datagrams.close()
  })
  return { origin: `http://127.0.0.1:${port}`, received }
}

/** A host with the server whose app tries to get out. */
async function trapped(): Promise<{
  served: Served
  /** The origin that the app wants to reach. */
  origin: string
  received: string[]
  write: (part: string) => void
}> {
  const { origin, received } = await outside()
  const part = join(tempFolder(), 'part.txt')
  const write = (text: string): void => writeFileSync(part, text)
  write('first')
  const served = await serveHost({
    servers: {
      trap: {
        command: process.execPath,
        args: [fileURLToPath(new URL('../fixtures/escaping-app.ts', import.meta.url)), origin, part],
      },
    },
    rules: [
      { id: 'never', verdict: 'deny', tool: 'denied' },
      { id: 'all', verdict: 'allow' },
    ],
  })
  return { served, origin, received, write }
}

/**
 * Serves the page of the app as a site of its own, in a frame without sandbox and policy, whose parent answers every request of
 * it. Gives the address of the parent.
 */
async function withoutSandbox(html: string): Promise<string> {
  const parent = `<!doctype html><title>Parent</title><iframe src="/page"></iframe><script>
document.cookie = 'cookie=1'
localStorage.setItem('item', '1')
addEventListener('message', ({ data, source }) => source.postMessage({ jsonrpc: '2.0', id: data.id, result: 'answered' }, '*'))
</script>`
  const server = createServer((request, response) => {
    const isWorker = request.headers['service-worker'] === 'script'
    response.writeHead(200, { 'Content-Type': isWorker ? 'text/javascript' : 'text/html' })
    response.end(isWorker ? '' : request.url === '/page' ? html : parent)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`
}

/** Runs a tool in the inspector and opens its app. */
async function openApp(tab: Tab, tool: string): Promise<void> {
  await tab.go(`/inspect/trap/tools/${tool}`)
  await tab.page.locator('[data-act=run]').click()
  await tab.page.getByRole('button', { name: 'App', exact: true }).click()
}

async function frameOf(tab: Tab): Promise<Frame> {
  await tab.page.waitForSelector('iframe[data-ready=true]')
  const app = tab.page.frames().find((frame) => frame.url().startsWith('http://a-'))
  if (app === undefined) throw new Error('There is no frame of an app')
  return app
}

/** Tries a way in an app after a click, without which browsers allow less. */
async function attempt(app: Frame, way: string): Promise<string> {
  await app.locator('button').click()
  return await app.evaluate(`attempt(${JSON.stringify(way)})`)
}

/** The ways, and what stops each. */
const stopped: Readonly<Record<string, string | RegExp>> = {
  fetch: 'threw TypeError',
  // The browser says that it took it, and sends nothing.
  beacon: 'sent',
  image: 'error',
  script: 'error',
  prefetch: 'error',
  events: 'nothing',
  socket: 'error',
  rtc: 'nothing',
  worker: 'nothing',
  frame: 'nothing',
  inherited: 'nothing',
  parent: 'threw SecurityError',
  frameAbove: 'threw SecurityError',
  top: 'threw SecurityError',
  popup: 'null',
  link: 'nothing',
  download: 'nothing',
  dialog: 'no',
  // Its own storage, or none: in any case nothing of the page's.
  storage: /^(?:threw SecurityError|\["",\[\]\])$/,
  serviceWorker: /^threw (?:SecurityError|TypeError)$/,
  clipboard: 'threw NotAllowedError',
  readClipboard: 'threw NotAllowedError',
  forged: 'nothing',
  denied: /forbids it.*"isError":true/,
  hidden: /-32602.*no tool hidden/,
  other: /"error"/,
  address: /-32602.*not a web page/,
  form: 'nothing',
  refresh: 'nothing',
  self: 'nothing',
}

/** What each comes to without sandbox and policy: the requests that arrive outside, or what it gives. */
const possible: Readonly<Record<string, readonly string[] | RegExp>> = {
  fetch: ['/fetch'],
  beacon: ['/beacon'],
  image: ['/image'],
  script: ['/script'],
  prefetch: ['/prefetch'],
  events: ['/events'],
  socket: ['/socket'],
  rtc: ['/rtc'],
  worker: ['/worker'],
  frame: ['/frame'],
  inherited: ['/inherited'],
  parent: /^Parent$/,
  frameAbove: /^Parent$/,
  top: ['/top'],
  popup: ['/popup'],
  link: ['/link', '/link-top'],
  download: /^saved stolen\.txt$/,
  dialog: /^out$/,
  storage: /^\["cookie=1",\["item"\]\]$/,
  serviceWorker: /^out$/,
  clipboard: /^out$/,
  readClipboard: /^out$/,
  forged: /^out$/,
  denied: /"answered"/,
  hidden: /"answered"/,
  other: /"answered"/,
  address: /"answered"/,
  form: ['/form'],
  refresh: ['/refresh'],
  self: ['/self'],
}

/** What the browser stops by emptying the frame. */
const leavesEmptyFrame = ['form', 'refresh', 'self']

describe.skipIf(missing !== undefined)(
  `ways out of an app${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 120_000 },
  () => {
    test('none is possible without consent', async () => {
      const { served, received } = await trapped()
      const tab = await openTab(served, '/inbox')
      await openApp(tab, 'show')
      await tab.click(armed)
      let app = await frameOf(tab)
      const seen: string[] = []
      tab.page.context().on('page', (page) => seen.push(page.url()))
      tab.page.on('download', (download) => seen.push(download.suggestedFilename()))
      tab.page.on('dialog', (dialog) => {
        seen.push(dialog.message())
        void dialog.dismiss()
      })
      const address = tab.page.url()
      const found: Record<string, string> = {}
      for (const way of Object.keys(stopped)) {
        found[way] = await attempt(app, way)
        if (!leavesEmptyFrame.includes(way)) continue
        const left = app
        await expect
          .poll(() => left.evaluate('typeof attempt').catch(() => 'undefined'), { timeout: 20_000 })
          .toBe('undefined')
        await tab.page.locator('[data-act=app-close]').click()
        await tab.page.getByRole('button', { name: 'Open again' }).click()
        app = await frameOf(tab)
      }
      expect(found).toEqual(
        Object.fromEntries(
          Object.entries(stopped).map(([way, by]) => [
            way,
            typeof by === 'string' ? by : expect.stringMatching(by),
          ]),
        ),
      )
      expect({ received, seen, address: tab.page.url() }).toEqual({ received: [], seen: [], address })
      const calls = served.service.host.activity({ kind: 'call' })
      expect(calls.map(({ detail, outcome }) => [detail['tool'], outcome])).toEqual([
        ['show', 'ok'],
        ['denied', 'denied'],
      ])
      // Each request that reached the host has a row, whose cause is that of the page.
      const rows = served.service.host.activity()
      const page = rows.find(({ kind, outcome }) => kind === 'app' && outcome === 'shown')
      const requests = ['denied of trap', 'tools/call hidden', 'secret://elsewhere', 'ui/open-link']
      for (const request of requests)
        expect(rows.find(({ summary }) => summary.startsWith(request))).toMatchObject({ cause: page?.id })
      // An empty frame of the app has no address: what the policy stopped there is reported without one.
      expect(tab.faults.splice(0).filter((fault) => !/inherited|Failed to fetch/.test(fault))).toEqual([])
    })

    test('each is possible in a page without sandbox and policy', async () => {
      expect(Object.keys(stopped).length).toBeGreaterThanOrEqual(16)
      expect(Object.keys(possible).sort()).toEqual(Object.keys(stopped).sort())
      const { served, received } = await trapped()
      const { contents } = await served.service.host.read('trap', 'ui://trap/page')
      const [content] = contents
      const url = await withoutSandbox(content !== undefined && 'text' in content ? content.text : '')
      const context = await (await openBrowser()).newContext()
      onTestFinished(() => context.close())
      await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin })
      const open = async (): Promise<{ page: Page; app: Frame }> => {
        const page = await context.newPage()
        page.on('dialog', (dialog) => void dialog.accept())
        await page.goto(url)
        await page.frameLocator('iframe').locator('button').waitFor()
        const app = page.frames().find((frame) => frame.url().endsWith('/page'))
        if (app === undefined) throw new Error('There is no frame')
        return { page, app }
      }
      let { page, app } = await open()
      const unproved: unknown[] = []
      for (const [way, expected] of Object.entries(possible)) {
        const saved = way === 'download' ? page.waitForEvent('download') : undefined
        // What leaves the page cannot give a value.
        const attempted = attempt(app, way).catch(() => 'left')
        if (expected instanceof RegExp) {
          const file = await saved
          const got = file === undefined ? await attempted : `saved ${file.suggestedFilename()}`
          if (!expected.test(got)) unproved.push([way, got])
        } else {
          await until(() => expected.every((path) => received.includes(path)), `${way} outside`)
          if ([...leavesEmptyFrame, 'top', 'link'].includes(way)) ({ page, app } = await open())
        }
      }
      expect(unproved).toEqual([])
    })

    test('the same ways work after the user consented', async () => {
      const { served, received } = await trapped()
      const tab = await openTab(served, '/inbox')
      await openApp(tab, 'showOpen')
      await tab.page.getByText('programs on this machine').waitFor()
      await tab.page.getByLabel('Write to the clipboard').check()
      await tab.click(armed)
      const app = await frameOf(tab)
      const ways = ['fetch', 'script', 'socket', 'frame', 'clipboard', 'readClipboard', 'rtc']
      const found = await Promise.all(ways.slice(0, 1).map((way) => attempt(app, way)))
      for (const way of ways.slice(1)) found.push(await attempt(app, way))
      expect(found).toEqual(['out', 'out', 'error', 'nothing', 'out', 'threw NotAllowedError', 'nothing'])
      expect([...new Set(received)].sort()).toEqual(['/fetch', '/frame', '/script', '/socket'])
    })

    test('too many requests are refused', async () => {
      const { served } = await trapped()
      const tab = await openTab(served, '/inbox')
      await openApp(tab, 'show')
      await tab.click(armed)
      const app = await frameOf(tab)
      expect(Number(await app.evaluate('flood()'))).toBeGreaterThan(100)
      expect(served.service.host.activity({ kind: 'app' }).length).toBeLessThan(200)
    })

    test('a changed page needs consent again, and a blocked one is not shown', async () => {
      const { served, write } = await trapped()
      const tab = await openTab(served, '/inbox')
      await openApp(tab, 'show')
      await tab.click(armed)
      await frameOf(tab)
      await tab.page.locator('[data-act=app-close]').click()
      await tab.page.getByRole('button', { name: 'Open again' }).click()
      await frameOf(tab)
      write('second')
      await tab.page.locator('[data-act=app-close]').click()
      await tab.page.getByRole('button', { name: 'Open again' }).click()
      await tab.page.getByText('not the one that you agreed to').waitFor()
      expect(await tab.page.locator('iframe').count()).toBe(0)
      await tab.click('[data-act=deny-once][data-armed=true]')
      await tab.page.getByText('You block this app until it changes').waitFor()
      await tab.page.getByRole('button', { name: 'Ask me again' }).click()
      await tab.click(armed)
      const app = await frameOf(tab)
      await expect.poll(() => app.locator('p').innerText()).toBe('second')
      expect(served.service.host.apps.consents()).toMatchObject([
        { server: 'trap', uri: 'ui://trap/page', verdict: 'allow', anyContents: false },
      ])
      await tab.check()

      await tab.go('/permissions/given')
      await tab.page.getByText('ui://trap/page').waitFor()
      await tab.check()
      await tab.click('[data-act=forget-app]')
      await tab.page.getByText('ui://trap/page').waitFor({ state: 'detached' })
      expect(served.service.host.apps.consents()).toEqual([])
      await openApp(tab, 'show')
      await tab.page.locator(armed).waitFor()
    })
  },
)
