import { appendFileSync } from 'node:fs'
import { test } from 'vitest'
import { questionPaths, serveEveryScreen } from '../fixtures/every-screen.ts'
import { openTab } from './journey.ts'

test('walk', { timeout: 200_000 }, async () => {
  const { served, paths } = await serveEveryScreen()
  const tab = await openTab(served, '/inbox', { locale: 'zh-CN', viewport: { width: 1440, height: 2000 } })
  const questions = await questionPaths(served)
  const { page } = tab
  for (const path of [...questions, ...paths]) {
    await tab.go(path)
    await page.waitForSelector('main :is(h2, li, input, button)', { state: 'attached' })
    await page.waitForFunction(() => document.querySelector('main [aria-busy=true]') === null)
    if (path === '/servers/broken') {
      await page
        .locator('main button', { hasText: /诊断/ })
        .first()
        .click()
        .catch(() => {})
      await page.waitForTimeout(3000)
    }
    await page.waitForTimeout(200)
    const found = await page.evaluate(() => {
      const out = new Set<string>()
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const text = node.nodeValue?.trim() ?? ''
        if (/[A-Za-z]{2,} [A-Za-z]{2,}/.test(text))
          out.add(
            `${node.parentElement?.closest('[lang=en]') && document.body !== node.parentElement?.closest('[lang=en]') ? 'HOST' : node.parentElement?.closest('bdi') ? 'bdi' : node.parentElement?.closest('pre,code') ? 'pre' : 'OWN'} ${text.slice(0, 160)}`,
          )
      }
      for (const element of document.querySelectorAll('*'))
        for (const name of ['title', 'aria-label', 'placeholder', 'alt']) {
          const v = element.getAttribute(name)
          if (v && /[A-Za-z]{2,} [A-Za-z]{2,}/.test(v)) out.add(`ATTR ${name} ${v.slice(0, 120)}`)
        }
      return [...out]
    })
    appendFileSync('/tmp/web-walk.txt', `## ${path}\n${found.join('\n')}\n`)
  }
})
