import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readCatalog } from '../../locales/catalog.ts'
import { questionPaths, serveEveryScreen } from '../fixtures/every-screen.ts'
import { missing, openTab, type Tab } from './journey.ts'

const read = (language: string): Record<string, string> =>
  readCatalog(readFileSync(new URL(`../../locales/${language}.po`, import.meta.url), 'utf8'))
const english = read('en')
const chinese = read('zh-CN')
/** English texts of the page that are others in Chinese. */
const untranslated = Object.entries(english).flatMap(([id, text]) =>
  text !== chinese[id] && text !== 'ok' && !Object.values(chinese).includes(text) ? [text] : [],
)

/** Runs in the page: what does not fit, moves, or is in another language. */
function faultsOf({ english, isStill }: { english: readonly string[]; isStill: boolean }): string[] {
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
    // A text that is cut off says so by an ellipsis, or scrolls.
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
    let around: Element | null = element
    while (around !== null && getComputedStyle(around).overflowX === 'visible') around = around.parentElement
    if (width > 0 && right > innerWidth + 1 && (around === null || around === document.documentElement))
      faults.add(`beyond the window: ${text.slice(0, 60)}`)
  }
  if (isStill)
    for (const animation of document.getAnimations()) {
      const { duration } = animation.effect?.getTiming() ?? {}
      if (typeof duration === 'number' && duration > 1) faults.add(`moves for ${duration} ms`)
    }
  return [...faults]
}

/** Whether the element with the focus shows it. */
function isFocusSeen(): boolean {
  const element = document.activeElement
  if (element === null || element === document.body) return false
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  return outlineStyle !== 'none' && outlineWidth !== '0px'
}

const small = { width: 390, height: 844 }

describe.skipIf(missing !== undefined)(
  `the layout in the browser${missing === undefined ? '' : ` (${missing})`}`,
  { timeout: 180_000 },
  () => {
    test('every screen fits 390 px, 200 % zoom and forced colours without motion, in both languages', async () => {
      const { served, paths } = await serveEveryScreen()
      const settings = [
        {
          viewport: small,
          locale: 'zh-CN',
          colorScheme: 'dark',
          reducedMotion: 'reduce',
          forcedColors: 'active',
        },
        { viewport: small, locale: 'en', hasTouch: true },
        // A window of 1440 px at 200 %.
        { viewport: { width: 720, height: 450 }, deviceScaleFactor: 2, locale: 'zh-CN' },
        { viewport: { width: 1440, height: 900 }, locale: 'zh-CN' },
        { viewport: { width: 1440, height: 900 }, locale: 'en', isBesidePanel: true },
      ] as const
      let questions: readonly string[] | undefined
      for (const options of settings) {
        const tab: Tab = await openTab(served, '/inbox', options)
        const { page } = tab
        if ('isBesidePanel' in options) await page.keyboard.press('.')
        const isStill = 'reducedMotion' in options
        const given = { english: options.locale === 'en' ? [] : untranslated, isStill }
        questions ??= await questionPaths(served)
        for (const path of [...questions, ...paths]) {
          await tab.go(path)
          await page.waitForSelector('main :is(h2, li, input, button)', { state: 'attached' })
          await page.waitForFunction(() => document.querySelector('main [aria-busy=true]') === null)
          expect([path, options, await page.evaluate(faultsOf, given)]).toEqual([path, options, []])
        }
        if ('isBesidePanel' in options) await page.keyboard.press('.')
        await page.keyboard.press('Tab')
        expect(await page.evaluate(isFocusSeen)).toBe(true)
        await tab.check()
      }
    })
  },
)
