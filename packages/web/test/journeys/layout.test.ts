import { describe, expect, test } from 'vitest'
import { questionPaths, serveEveryScreen } from '../fixtures/every-screen.ts'
import { layoutFaults, missing, openTab, type Tab, untranslated } from './journey.ts'

/** Whether the element with the focus shows it. */
function isFocusSeen(): boolean {
  const element = document.activeElement
  if (element === null || element === document.body) return false
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  return outlineStyle !== 'none' && outlineWidth !== '0px'
}

/** Whether the current links of all rows of links are in the window. */
function areCurrentLinksShown(): boolean {
  return [...document.querySelectorAll('main nav [aria-current=page]')].every((link) => {
    const { left, right } = link.getBoundingClientRect()
    return left >= 0 && right <= innerWidth + 1
  })
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
          expect([path, options, await page.evaluate(layoutFaults, given)]).toEqual([path, options, []])
          expect([path, options, await page.evaluate(areCurrentLinksShown)]).toEqual([path, options, true])
        }
        if ('isBesidePanel' in options) {
          expect(await page.locator('#dock [data-card]').count()).toBeGreaterThan(5)
          await tab.check()
          await page.keyboard.press('.')
        }
        await page.keyboard.press('Tab')
        expect(await page.evaluate(isFocusSeen)).toBe(true)
        await tab.check()
      }
    })
  },
)
