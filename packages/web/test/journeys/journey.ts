import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { readCatalog } from '../../locales/catalog.ts'
import { isBuilt, type Served } from '../fixtures/harness.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

/** What is missing to run a journey; undefined if nothing is. */
export const missing: string | undefined =
  executablePath === undefined
    ? 'Chromium is not installed (apt install chromium)'
    : isBuilt()
      ? undefined
      : 'the page is not built (npm run build)'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const read = (language: string): Record<string, string> =>
  readCatalog(readFileSync(new URL(`../../locales/${language}.po`, import.meta.url), 'utf8'))
const chinese = read('zh-CN')
/** English texts of the page that differ in Chinese. */
export const untranslated: readonly string[] = Object.entries(read('en')).flatMap(([id, text]) =>
  text !== chinese[id] && text !== 'ok' && !Object.values(chinese).includes(text) ? [text] : [],
)

let browser: Promise<Browser> | undefined

/** The browser of all journeys of one process, with which it ends. Each tab has a context of its own. */
export function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    args: ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer'],
  })
  return browser
}

/** Runs in the page. Returns texts that do not fit, move, or are in another language. */
export function layoutFaults({
  english,
  isStill,
}: {
  english: readonly string[]
  isStill: boolean
}): string[] {
  const faults = new Set<string>()
  const { scrollWidth } = document.documentElement
  if (scrollWidth > innerWidth) faults.add(`the page is ${scrollWidth - innerWidth} px too wide`)
  const words = new Set(english)
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    const text = node.nodeValue?.trim() ?? ''
    if (
      element === null ||
      text === '' ||
      element.closest(':not([lang=en]) > bdi, pre, code, script, style, select, .hidden-text') !== null
    )
      continue
    if (words.has(text) || (english.length > 0 && element.closest('[lang=en]') !== null))
      faults.add(`not translated: ${text}`)
    // A truncated text ends with an ellipsis, or scrolls.
    const { overflowX, textOverflow } = getComputedStyle(element)
    // Texts for assistive technology alone are a box of one pixel.
    const isHidden = element.clientWidth <= 1
    if (
      (overflowX === 'hidden' || overflowX === 'clip') &&
      textOverflow !== 'ellipsis' &&
      !isHidden &&
      element.scrollWidth > element.clientWidth + 2
    )
      faults.add(`cut off: ${text.slice(0, 60)}`)
    // Nothing is drawn beyond the window where no box around it scrolls.
    const range = document.createRange()
    range.selectNodeContents(node)
    const { right, width, height } = range.getBoundingClientRect()
    if (!isHidden && text.length > 5 && width < 24 && height > 60)
      faults.add(`one letter in a line: ${text.slice(0, 60)}`)
    let ancestor: Element | null = element
    while (ancestor !== null && getComputedStyle(ancestor).overflowX === 'visible')
      ancestor = ancestor.parentElement
    if (width > 0 && right > innerWidth + 1 && (ancestor === null || ancestor === document.documentElement))
      faults.add(`beyond the window: ${text.slice(0, 60)}`)
  }
  if (isStill)
    for (const animation of document.getAnimations()) {
      const { duration } = animation.effect?.getTiming() ?? {}
      if (typeof duration === 'number' && duration > 1) faults.add(`moves for ${duration} ms`)
    }
  return [...faults]
}

export interface Tab {
  readonly page: Page
  /** What `check` fails on, in all pages of the browser; a test takes out what it provoked. */
  readonly faults: string[]
  /** Clicks and key chords so far. */
  acts: number
  click(selector: string): Promise<void>
  press(keys: string): Promise<void>
  /** Goes to an address of the page without loading it anew. */
  go(path: string): Promise<void>
  /** Fails on any violation of the policy, error, request to another place, or finding of axe. Default: of its own page. */
  check(page?: Page): Promise<void>
  /** Checks what the test ended with: at every size, in forced colours without motion, and in Chinese. Once, by itself at the end. */
  finish(): Promise<void>
}

/** Resolves once a tab can show questions; a question that is asked before fails immediately. */
function surfaceAttached({ service: { surfaces } }: Pick<Served, 'service'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const resolveIfAttached = (): void => {
    if (surfaces.attached.length > 0) resolve()
  }
  const unsubscribe = surfaces.onChange(resolveIfAttached)
  resolveIfAttached()
  return promise.finally(unsubscribe)
}

/** Resolves once the screen of a page is drawn. */
async function waitUntilDrawn(page: Page): Promise<void> {
  await page.locator('main').first().waitFor()
  // A conversation is busy as long as its model writes.
  await page.waitForFunction(() => document.querySelector('main [aria-busy=true]:not([role=log])') === null)
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))))
}

/**
 * Shows what a test ended with in a narrow window and at 200 % zoom, in forced colours without motion, and after a reload in
 * Chinese.
 */
async function checkEveryLook({ page, check }: Tab): Promise<void> {
  const isChinese = await page.evaluate(() => document.documentElement.lang === 'zh-CN')
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
  for (const language of isChinese ? ['zh-CN'] : ['en', 'zh-CN']) {
    if (language === 'zh-CN' && !isChinese) {
      await page.evaluate(() => localStorage.setItem('jackfield.language', 'zh-CN'))
      await page.reload()
      await page.waitForSelector('html[lang=zh-CN] body')
    }
    // A window of 1440 px at 200 %, and a telephone.
    for (const [width, height] of [
      [720, 450],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height })
      await waitUntilDrawn(page)
      const english = language === 'en' ? [] : untranslated
      expect([language, width, await page.evaluate(layoutFaults, { english, isStill: true })]).toEqual([
        language,
        width,
        [],
      ])
    }
  }
  // axe reads the colours of texts as they are without forced ones.
  await page.emulateMedia({ forcedColors: 'none' })
  await check()
}

/**
 * A browser with an empty page, which is watched until the test is over: it then has to be without faults, at every size, in
 * forced colours and in Chinese.
 */
export async function openPage(options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await (await openBrowser()).newContext({
    viewport: { width: 1440, height: 900 },
    ...options,
  })
  const page = await context.newPage()
  const faults: string[] = []
  // Every test ends with a check, unless it failed before or closed the page.
  onTestFinished(async ({ task }) => {
    try {
      if (task.result?.state !== 'fail') await tab.finish()
    } finally {
      await context.close()
    }
  }, 60_000)
  context.on('weberror', (error) => faults.push(`page error: ${error.error().message}`))
  context.on('console', (message) => {
    // Errors of an app in its frame are not errors of the page.
    const isApp = URL.parse(message.location().url)?.hostname.endsWith('.localhost') === true
    if (message.type() === 'error' && !isApp && !/WebSocket connection/.test(message.text()))
      faults.push(`console: ${message.text()}`)
  })
  context.on('request', (request) => {
    if (!isOwn(request.url())) faults.push(`request: ${request.url()}`)
  })
  await context.addInitScript(() => {
    if (window.top !== window) return
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI}`)
    })
  })
  let isFinished = false
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
    async check(checked = page) {
      // Colours and places are those at the end of a transition.
      await checked.evaluate(async () => {
        const ends = document
          .getAnimations()
          .filter(({ effect }) => effect?.getTiming().iterations !== Number.POSITIVE_INFINITY)
          .map(({ finished }) => finished.catch(() => undefined))
        await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, 1_000))])
      })
      if (!(await checked.evaluate('"axe" in window'))) await checked.evaluate(axe)
      const { violations }: AxeResults = await checked.evaluate('axe.run({ resultTypes: ["violations"] })')
      expect(
        violations.map(
          ({ id, nodes }) =>
            `${id}: ${nodes.map(({ html, any: [why] }) => `${html.slice(0, 160)} ${why?.message ?? ''}`).join(' | ')}`,
        ),
      ).toEqual([])
      expect(
        await checked.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
    },
    async finish() {
      if (isFinished) return
      isFinished = true
      for (const other of context.pages()) if (other !== page && isOwn(other.url())) await tab.check(other)
      if (page.isClosed() || !isOwn(page.url())) return
      await tab.check()
      await checkEveryLook(tab)
    },
  }
  return tab
}

/** Whether an address is one of this machine: of the page, or of an app. */
function isOwn(address: string): boolean {
  const { hostname, protocol } = new URL(address)
  return (
    hostname === '127.0.0.1' ||
    /^[ap]-\w+\.localhost$/.test(hostname) ||
    protocol === 'data:' ||
    protocol === 'blob:'
  )
}

/** The answers to questions that a page sends over sockets which it opens from now on. */
export function sentAnswers(page: Page): unknown[] {
  const answers: unknown[] = []
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const text = String(payload)
      if (text.includes('"inbox.answer"')) answers.push(JSON.parse(text).params)
    }),
  )
  return answers
}

/** A browser that logs in by a link of the host and opens a page. */
export async function openTab(
  served: Served,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const tab = await openPage(options)
  await tab.page.goto(served.link())
  await tab.page.waitForSelector('main h1, header h1')
  await surfaceAttached(served)
  if (path !== '/inbox') await tab.go(path)
  return tab
}
