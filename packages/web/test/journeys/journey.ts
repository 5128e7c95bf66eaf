import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { isBuilt, type Served } from '../fixtures/harness.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

/** What is missing to run a journey; undefined where nothing is. */
export const missing: string | undefined =
  executablePath === undefined
    ? 'Chromium is not installed (apt install chromium)'
    : isBuilt()
      ? undefined
      : 'the page is not built (npm run build)'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser: Promise<Browser> | undefined

/** The browser of all journeys of one process, with which it ends. Each tab has a context of its own. */
export function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer'],
  })
  return browser
}

export interface Tab {
  readonly page: Page
  /** What `check` fails on; a test takes out what it provoked. */
  readonly faults: string[]
  /** Clicks and key chords so far. */
  acts: number
  click(selector: string): Promise<void>
  press(keys: string): Promise<void>
  /** Goes to an address of the page without loading it anew. */
  go(path: string): Promise<void>
  /** Fails on any violation of the policy, error, request to another place, or finding of axe. */
  check(): Promise<void>
}

/** Resolves once a tab can show questions; one that is asked before fails at once. */
function attached({ service: { surfaces } }: Served): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = (): void => {
    if (surfaces.attached.length > 0) resolve()
  }
  const off = surfaces.onChange(look)
  look()
  return promise.finally(off)
}

/** A browser that logs in by a link of the host and opens a page. */
export async function openTab(
  served: Served,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await (await openBrowser()).newContext({
    viewport: { width: 1440, height: 900 },
    ...options,
  })
  const page = await context.newPage()
  const faults: string[] = []
  // Every test ends with a check, unless it failed before or closed the page.
  onTestFinished(async ({ task }) => {
    try {
      if (task.result?.state !== 'fail' && !page.isClosed()) await tab.check()
    } finally {
      await context.close()
    }
  })
  page.on('pageerror', (error) => faults.push(`page error: ${error.message}`))
  page.on('console', (message) => {
    // What an app does in its frame and what stops it there is no fault of the page.
    const isApp = URL.parse(message.location().url)?.hostname.endsWith('.localhost') === true
    if (message.type() === 'error' && !isApp && !/WebSocket connection/.test(message.text()))
      faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (
      hostname !== '127.0.0.1' &&
      !/^[ap]-\w+\.localhost$/.test(hostname) &&
      protocol !== 'data:' &&
      protocol !== 'blob:'
    )
      faults.push(`request: ${request.url()}`)
  })
  await page.addInitScript(() => {
    if (window.top !== window) return
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  await page.goto(served.link())
  await page.waitForSelector('main h1, header h1')
  await attached(served)
  const tab: Tab = {
    page,
    faults,
    acts: 0,
    async click(selector) {
      await page.locator(selector).click()
      tab.acts += 1
    },
    async press(keys) {
      await page.keyboard.press(keys)
      tab.acts += 1
    },
    async go(to) {
      await page.evaluate((address) => history.pushState(null, '', address), to)
    },
    async check() {
      // Colours and places are those at the end of a transition.
      await page.evaluate(async () => {
        const ends = document
          .getAnimations()
          .filter(({ effect }) => effect?.getTiming().iterations !== Number.POSITIVE_INFINITY)
          .map(({ finished }) => finished.catch(() => undefined))
        await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, 1_000))])
      })
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
      const { violations }: AxeResults = await page.evaluate('axe.run({ resultTypes: ["violations"] })')
      expect(
        violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
        ),
      ).toEqual([])
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
    },
  }
  if (path !== '/inbox') await tab.go(path)
  return tab
}
