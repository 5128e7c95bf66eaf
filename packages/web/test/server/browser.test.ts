import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serveWeb } from '@jackfield/web'
import { build } from 'esbuild'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../../test/setup/ports.ts'
import { closeOf, keyOf, openSocket, type Rig, rig, send, tempFolder, until } from './rig.ts'

const program = '/usr/bin/chromium'
const isThere = existsSync(program)
const left = isThere ? '' : ` (${program} is not installed: apt-get install chromium)`
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const asking = { command: process.execPath, args: [at('../../../host/test/fixtures/asking-server.ts')] }
const rules = [{ id: 'all', verdict: 'allow' as const }]
const attempts = [
  'fetch',
  'fetch-with-cookie',
  'simple-post',
  'json-post',
  'put',
  'form-get',
  'form-post',
  'image',
  'script',
  'style',
  'socket',
  'frame',
]

let browser: Browser
let script = ''

describe.skipIf(!isThere)(`in Chromium${left}`, { timeout: 90_000 }, () => {
  beforeAll(async () => {
    const args = ['--no-sandbox', '--host-resolver-rules=MAP *.example 127.0.0.1']
    browser = await chromium.launch({ executablePath: program, args })
    const { outputFiles } = await build({
      entryPoints: [at('page.ts')],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      alias: { '@jackfield/host/client': at('../../../host/src/service/client-entry.ts') },
    })
    script = outputFiles.map(({ text }) => text).join('')
  })
  afterAll(() => browser.close())

  /** A built page whose script is that of these tests. */
  function page(): string {
    const folder = tempFolder()
    mkdirSync(join(folder, 'assets'))
    const index =
      '<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,"><style nonce="__NONCE__">p { color: green }</style><body><script type="module" src="/assets/page-12345678.js"></script></body></html>'
    writeFileSync(join(folder, 'index.html'), index)
    writeFileSync(join(folder, 'assets', 'page-12345678.js'), script)
    return folder
  }

  /** A browser of a person, and what went wrong in it. */
  async function person(): Promise<{ context: BrowserContext; faults: string[]; requests: string[] }> {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const faults: string[] = []
    const requests: string[] = []
    context.on('weberror', (error) => faults.push(error.error().message))
    context.on('console', (message) => {
      // A connection that is tried in vain, and a login that is refused, are written by the browser itself.
      const isNetwork = /WebSocket connection to|Failed to load resource/.test(message.text())
      if (['error', 'warning'].includes(message.type()) && !isNetwork) faults.push(message.text())
    })
    context.on('request', async (request) => {
      requests.push(`${request.method()} ${request.url()} ${JSON.stringify(await request.allHeaders())}`)
    })
    return { context, faults, requests }
  }

  async function state(tab: Page, wanted: string): Promise<void> {
    await tab.locator('#state', { hasText: wanted }).waitFor()
  }

  test('a login link is single-use, and its key is stored nowhere', async () => {
    const served = await rig({ page: page() })
    const { web } = served
    const link = web.link()
    const key = keyOf(link)
    const { context, faults, requests } = await person()
    const tab = await context.newPage()
    await tab.goto(link)
    await state(tab, 'connected')
    expect(served.service.clients()).toEqual([expect.stringMatching(/^web · Chrome on /)])
    const protocol = await context.newCDPSession(tab)
    const { entries } = await protocol.send('Page.getNavigationHistory')
    await tab.goto(`${web.url}/servers`)
    await state(tab, 'connected')
    const places = [
      ...entries.map(({ url }) => url),
      tab.url(),
      await tab.content(),
      await tab.evaluate(
        () => document.referrer + JSON.stringify(localStorage) + JSON.stringify(sessionStorage),
      ),
      ...requests,
      ...served.warnings,
      JSON.stringify(await context.cookies()),
    ]
    expect(requests.length).toBeGreaterThan(3)
    expect(places.filter((place) => place.includes(key))).toEqual([])
    const elsewhere = await person()
    const other = await elsewhere.context.newPage()
    await other.goto(link)
    await state(other, 'refused')
    expect(other.url()).toBe(`${web.url}/`)
    expect(served.web.sessions()).toHaveLength(1)
    expect([...faults, ...elsewhere.faults]).toEqual([])
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' })
  })

  test('localhost redirects to 127.0.0.1, with the key of a link', async () => {
    const { web, port } = await rig({ page: page() })
    const { context, faults } = await person()
    const tab = await context.newPage()
    await tab.goto(web.link().replace('127.0.0.1', 'localhost'))
    await state(tab, 'connected')
    expect(tab.url()).toBe(`http://127.0.0.1:${port}/`)
    expect(faults).toEqual([])
  })

  test('the Content Security Policy lets the page run, and prevents texts from becoming HTML or code', async () => {
    const { web } = await rig({ page: page() })
    const { context, faults } = await person()
    const tab = await context.newPage()
    await tab.goto(web.link())
    await state(tab, 'connected')
    expect(await tab.locator('#state').evaluate((one) => getComputedStyle(one).color)).toBe('rgb(0, 128, 0)')
    expect(faults).toEqual([])
    const blocked = await tab.evaluate(async () => {
      const tried: Record<string, () => unknown> = {
        html: () => {
          document.body.innerHTML = '<b>x</b>'
        },
        // Not at once: what the test itself evaluates may evaluate code.
        code: () =>
          new Promise((resolve, reject) => {
            setTimeout(() => {
              try {
                resolve(new Function('return 1')())
              } catch (error) {
                reject(error)
              }
            })
          }),
        policy: () => Reflect.get(globalThis, 'trustedTypes').createPolicy('x', {}),
        fetch: () => fetch('http://127.0.0.1:1/'),
        worker: () => navigator.serviceWorker.register('/assets/page-12345678.js'),
      }
      const found: string[] = []
      for (const [name, work] of Object.entries(tried)) {
        try {
          await work()
        } catch {
          found.push(name)
        }
      }
      return found
    })
    expect(blocked).toEqual(['html', 'code', 'policy', 'fetch', 'worker'])
    expect(await tab.evaluate(() => [crossOriginIsolated, window.originAgentCluster])).toEqual([false, true])
  })

  test('pages of another origin have no access, in 24 attempts', async () => {
    const served = await rig({ page: page() })
    const { web, port } = served
    const { context } = await person()
    const tab = await context.newPage()
    await tab.goto(web.link())
    await state(tab, 'connected')
    const key = keyOf(web.link())
    const { ticket } = web.blobs.expect()
    const download = web.blobs.offer({ bytes: Buffer.from('x') })
    const attacker = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><body></body>')
    })
    attacker.listen(0, '127.0.0.1')
    await once(attacker, 'listening')
    onTestFinished(() => void attacker.close())
    const address = attacker.address()
    const attackerPort = typeof address === 'object' && address !== null ? address.port : 0
    const reached: string[] = []
    const seen: string[] = []
    const note = (message: unknown): void => {
      const { request, response } = finished(message)
      if (request.headers.host !== `127.0.0.1:${port}`) return
      const line = `${request.method} ${request.url} ${response.statusCode}`
      seen.push(line)
      if (response.statusCode < 400) reached.push(line)
    }
    subscribe('http.server.response.finish', note)
    onTestFinished(() => void unsubscribe('http.server.response.finish', note))
    let made = 0
    for (const site of [`http://evil.example:${attackerPort}`, `http://127.0.0.1:${attackerPort}`])
      for (const attempt of attempts) {
        const evil = await context.newPage()
        await evil.goto(site)
        const outcome = await evil.evaluate(attack, { attempt, own: web.url, key, ticket, download })
        expect({ site, attempt, outcome }).toEqual({ site, attempt, outcome: 'failed' })
        made += 1
        await evil.close()
      }
    expect(made).toBe(24)
    expect(reached).toEqual([])
    expect(seen.length).toBeGreaterThanOrEqual(20)
    // The login key and both tickets are still good, and the one client is the page itself.
    expect(served.service.clients()).toHaveLength(1)
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    expect((await served.ask('GET', `/blob/${download}`, { headers: { Cookie: cookie } })).status).toBe(200)
    expect(
      (await served.ask('PUT', `/blob/${ticket}`, { headers: { Cookie: cookie }, body: 'x' })).status,
    ).toBe(204)
    const body = JSON.stringify({ key })
    const headers = { 'Content-Type': 'application/json' }
    expect((await served.ask('POST', '/login', { headers, body })).status).toBe(200)
  })

  test('a host name that resolves to this machine has no access', async () => {
    const { web, port } = await rig({ page: page() })
    const { context } = await person()
    const tab = await context.newPage()
    for (const path of ['/', '/inbox', '/assets/page-12345678.js', '/sessions']) {
      const response = await tab.goto(`http://rebound.example:${port}${path}`).catch(() => null)
      // An empty response that is no success is shown as an error of the browser.
      if (response !== null) expect([response.status(), await response.text()]).toEqual([421, ''])
      expect(await tab.locator('#state').count()).toBe(0)
    }
    expect(web.sessions()).toEqual([])
  })

  test('a server on another port gets the cookie, but no access with it', async () => {
    const served = await rig({ page: page() })
    const { web, port } = served
    const { context } = await person()
    const tab = await context.newPage()
    await tab.goto(web.link())
    await state(tab, 'connected')
    let cookie = ''
    const other = createServer((request, response) => {
      cookie = request.headers.cookie ?? cookie
      response.end('hello')
    })
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const address = other.address()
    await tab.goto(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`)
    expect(cookie).toMatch(new RegExp(`^jackfield-${port}=[\\w-]{43}$`))
    const socket = openSocket(port, { cookie })
    socket.on('open', () => socket.send('guessed'))
    expect(await closeOf(socket)).toMatchObject({ code: 4401 })
    for (const [method, path] of [
      ['GET', '/sessions'],
      ['POST', '/logout'],
      ['DELETE', `/sessions/${web.sessions()[0]?.id}`],
    ] as const)
      expect((await send(port, method, path, { headers: { Cookie: cookie } })).status).toBe(401)
    expect(await tab.evaluate(() => localStorage.length)).toBe(0)
    expect(web.sessions()).toHaveLength(1)
  })

  /** Calls a tool that asks something, and gives the id of the run. */
  async function ask({ service }: Rig): Promise<string> {
    await service.start()
    await until(() => service.surfaces.attached.length > 0, 'a surface')
    return service.runs.start({ kind: 'call', tool: 's__ask', arguments: {} }, { by: 'the test' })
  }

  function resultOf({ service }: Rig, run: string): string {
    return JSON.stringify(service.runs.get(run).result ?? null)
  }

  test('an answer that is given without a connection is not sent, then or later', async () => {
    const port = await freePort()
    const options = { file: join(tempFolder(), 'web.db'), page: page(), port }
    const served = await rig(options, { servers: { s: asking }, rules })
    const { context } = await person()
    const tab = await context.newPage()
    await tab.goto(served.web.link())
    await state(tab, 'connected')
    const run = await ask(served)
    const accept = tab.getByRole('button', { name: 'Accept' })
    await accept.waitFor()
    // The host lives on, and nothing connects the page with it.
    await served.web.close()
    await state(tab, 'connecting')
    await accept.click()
    await tab.locator('#unsent', { hasText: 'connecting: not sent' }).waitFor()
    const again = await serveWeb({ ...options, peers: served.peers, onWarning() {} })
    onTestFinished(() => again.close())
    await state(tab, 'connected')
    const { service } = served
    expect(service.host.inbox.list().map((item) => item.state)).toEqual(['open'])
    expect(resultOf(served, run)).toBe('null')
    await accept.click()
    await tab.locator('[data-state=answered]').waitFor()
    await until(() => service.runs.get(run).state === 'done', 'the end of the call')
    expect(resultOf(served, run)).toContain('12A')
    expect(service.host.inbox.list({ state: 'all' })).toMatchObject([
      { state: 'answered', answer: { by: expect.stringContaining('web · Chrome on ') } },
    ])
  })

  test('tabs reconnect when the host was ended and started again', async () => {
    const folder = tempFolder()
    const port = await freePort()
    const options = { file: join(folder, 'web.db'), page: page(), port }
    const host = { servers: { s: asking }, rules, store: join(folder, 'store.db') }
    const first = await rig(options, host)
    const { context, faults } = await person()
    const tabs = [await context.newPage(), await context.newPage()]
    await tabs[0]?.goto(first.web.link())
    await state(tabs[0] ?? fail(), 'connected')
    await tabs[1]?.goto(`${first.web.url}/inbox`)
    await state(tabs[1] ?? fail(), 'connected')
    await ask(first)
    await tabs[0]?.getByRole('button', { name: 'Accept' }).click()
    for (const tab of tabs) await tab.locator('[data-state=answered]').waitFor()
    await first.web.close()
    first.peers.close('the host ends')
    await first.service.close()
    for (const tab of tabs) await state(tab, 'connecting')
    const again = await rig(options, host)
    for (const tab of tabs) await state(tab, 'connected')
    expect(again.service.clients()).toHaveLength(2)
    const fresh = await context.newPage()
    await fresh.goto(`${again.web.url}/inbox`)
    await state(fresh, 'connected')
    const views = await Promise.all([...tabs, fresh].map((tab) => tab.locator('ul').innerHTML()))
    expect(new Set(views).size).toBe(1)
    expect(views[0]).toContain('elicitation answered')
    expect(again.web.sessions()).toHaveLength(1)
    expect(faults).toEqual([])
  })
})

/** Runs in a page of another origin: `failed` where nothing could be read or done. */
async function attack(given: {
  attempt: string
  own: string
  key: string
  ticket: string
  download: string
}): Promise<string> {
  const { attempt, own, key, ticket, download } = given
  const body = JSON.stringify({ key })
  const type = { 'Content-Type': 'application/json' }
  const requests: Record<string, () => Promise<unknown>> = {
    fetch: () => fetch(`${own}/inbox`, { mode: 'no-cors' }),
    'fetch-with-cookie': () => fetch(`${own}/sessions`, { credentials: 'include' }),
    'simple-post': () =>
      fetch(`${own}/login`, { method: 'POST', mode: 'no-cors', credentials: 'include', body }),
    'json-post': () => fetch(`${own}/login`, { method: 'POST', credentials: 'include', headers: type, body }),
    put: () => fetch(`${own}/blob/${ticket}`, { method: 'PUT', credentials: 'include', body }),
  }
  const request = requests[attempt]
  if (request !== undefined)
    return await request().then(
      () => 'succeeded',
      () => 'failed',
    )
  if (attempt === 'socket') {
    const socket = new WebSocket(`${own.replace('http', 'ws')}/socket`)
    return await new Promise((resolve) => {
      socket.onopen = () => resolve('succeeded')
      socket.onerror = () => resolve('failed')
    })
  }
  const elements: Record<string, [name: string, attribute: string, address: string]> = {
    image: ['img', 'src', `${own}/blob/${download}`],
    script: ['script', 'src', `${own}/assets/page-12345678.js`],
    style: ['link', 'href', `${own}/assets/page-12345678.js`],
  }
  const found = elements[attempt]
  if (found !== undefined) {
    const [name, attribute, address] = found
    const element = document.createElement(name)
    element.setAttribute('rel', 'stylesheet')
    element.setAttribute(attribute, address)
    return await new Promise((resolve) => {
      element.onload = () => resolve('succeeded')
      element.onerror = () => resolve('failed')
      document.body.append(element)
    })
  }
  const frame = document.createElement('iframe')
  frame.name = 'target'
  document.body.append(frame)
  await new Promise((resolve) => {
    frame.onload = resolve
    if (attempt === 'frame') {
      frame.src = `${own}/inbox`
      return
    }
    const form = document.createElement('form')
    form.target = 'target'
    form.method = attempt === 'form-post' ? 'post' : 'get'
    form.enctype = 'text/plain'
    form.action = attempt === 'form-post' ? `${own}/login` : `${own}/blob/${download}`
    const field = document.createElement('input')
    field.name = `{"key":"${key}","x":"`
    field.value = '"}'
    if (attempt === 'form-post') form.append(field)
    document.body.append(form)
    form.submit()
  })
  try {
    return frame.contentWindow?.document.body.innerHTML === '' ? 'failed' : 'succeeded'
  } catch {
    return 'failed'
  }
}

function finished(message: unknown): { request: IncomingMessage; response: ServerResponse } {
  if (typeof message !== 'object' || message === null || !('request' in message) || !('response' in message))
    throw new Error('The message has no request')
  const { request, response } = message
  if (!(request instanceof IncomingMessage) || !(response instanceof ServerResponse))
    throw new Error('The message has no request')
  return { request, response }
}

function fail(): never {
  throw new Error('There is no tab')
}
