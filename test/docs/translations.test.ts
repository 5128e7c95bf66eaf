import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { blocksIn, pagesIn } from './snippets.ts'

const translations = pagesIn(root).filter((page) => page.startsWith(join('docs', 'zh')))

/** The page that another one translates. */
function originalOf(page: string): string {
  const own = page.slice(join('docs', 'zh').length + 1)
  return own === 'README.md' ? own : join('docs', own)
}

/** What has to be the same in every language: the levels of headings, the code, the rows of tables, the pictures. */
function structureOf(page: string): unknown {
  const text = readFileSync(join(root, page), 'utf8')
  const prose = text.replaceAll(/<!--[\s\S]*?-->/g, '').replaceAll(/^```[\s\S]*?^```$/gm, '')
  return {
    headings: [...prose.matchAll(/^(#+) /gm)].map(([, level]) => level),
    // Comments are translated.
    code: blocksIn(page, root).map(({ language, code }) => ({
      language,
      code: code.replaceAll(/ *(?:#|\/\/) .*$/gm, ''),
    })),
    rows: [...prose.matchAll(/^\|/gm)].length,
    pictures: [...prose.matchAll(/^!\[[^\]]*\]\((?:.*\/)?([^/)]+)\)/gm)].map(([, name]) => name),
  }
}

it('README, quick start, servers, clients and host are translated', () => {
  const names = ['README', 'guide/quick-start', 'guide/servers', 'guide/clients', 'host']
  expect(translations).toEqual(names.map((name) => join('docs/zh', `${name}.md`)).sort())
})

it.each(translations)('%s has the headings, code, tables and pictures of its original', (page) => {
  const original = originalOf(page)
  expect(existsSync(join(root, original))).toBe(true)
  expect(structureOf(page)).toEqual(structureOf(original))
})
