import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { root, run } from '../../scripts/run.ts'
import {
  chinese,
  llmsFull,
  llmsIndex,
  readPages,
  sections,
  sourceFiles,
  writePages,
} from '../../site/pages.ts'
import { pagesIn } from './snippets.ts'

const address = 'https://docs.example.com/jackfield/'

describe('the pages of the site', () => {
  it('are all documents, each once, with every link to something that exists', () => {
    const { pages } = readPages()
    const sources = pages.map(({ source }) => source)
    expect(pagesIn(root).filter((page) => !sources.includes(page))).toEqual([])
    expect(new Set(pages.map(({ file }) => file)).size).toBe(pages.length)
    const own = pages.filter(({ source }) => !source.startsWith('docs/reference'))
    expect(own.filter(({ title }) => title === '').map(({ source }) => source)).toEqual([])
    const relative = own.flatMap(({ source, text }) =>
      [...text.replaceAll(/```[\s\S]*?```|`[^`\n]+`/g, '').matchAll(/\]\(([^)\s]+)/g)]
        .map(([, to = '']) => to)
        .filter((to) => !/^(?:https?:|data:|#|\/)/.test(to))
        .map((to) => `${source}: ${to}`),
    )
    expect(relative).toEqual([])
  })

  it('are in the sidebar', () => {
    const listed = [...sections, chinese].flatMap(({ sources }) => sources)
    const left = sourceFiles().filter(
      (source) => !listed.includes(source) && !/^(?:docs\/zh\/)?README\.md$|^docs\/reference\//.test(source),
    )
    expect(left).toEqual([])
  })

  it('are in llms.txt with full addresses and a summary each, and in llms-full.txt with their text', () => {
    const { pages } = readPages()
    const index = llmsIndex(pages, address)
    expect(index).toMatch(/^# Jackfield\n\n> Jackfield is an implementation of the Model Context Protocol/)
    const links = [...index.matchAll(/^- \[[^\]]+\]\(([^)]+)\)(.*)$/gm)]
    expect(links.length).toBe(sections.flatMap(({ sources }) => sources).length)
    for (const [, link = ''] of links) {
      expect(
        pages.some(({ file }) => `${address}${file}` === link),
        link,
      ).toBe(true)
    }
    const full = llmsFull(pages, address)
    expect(full).toContain('# Quick start')
    expect(full).toContain(`](${address}guide/authorization`)
    expect(full).not.toContain('](/')
    expect(full).not.toContain('<!-- given')
  })

  it('are written as Markdown too, with their pictures', () => {
    const folder = mkdtempSync(join(tmpdir(), 'jackfield-site-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writePages(folder, address)
    for (const file of ['index.md', 'zh/index.md', 'guide/index.md', 'packages/sdk.md', 'security.md']) {
      expect(existsSync(join(folder, file)), file).toBe(true)
      expect(existsSync(join(folder, 'public', file)), file).toBe(true)
    }
    expect(existsSync(join(folder, 'public/pictures/servers.svg'))).toBe(true)
  })
})

const isInstalled = existsSync(join(root, 'site/node_modules/vitepress'))
const why = isInstalled ? '' : ' (vitepress is not installed: npm ci --prefix site --ignore-scripts)'

describe.skipIf(!isInstalled)(`the built site${why}`, () => {
  it('has every page in both languages, search, and no dead link', { timeout: 240_000 }, async () => {
    const { code, output } = await run(['node', 'site/build.ts', '--skip-reference'], {
      limitMs: 230_000,
      env: { SITE_URL: address },
    })
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
    const read = (file: string): string => readFileSync(join(root, 'site/dist', file), 'utf8')
    expect(read('guide/servers.html')).toContain('lang="en"')
    expect(read('zh/guide/servers.html')).toContain('lang="zh-CN"')
    expect(read('zh/guide/servers.html')).toContain('运行期间修改定义')
    expect(read('llms.txt')).toContain(address)
    expect(statSync(join(root, 'site/dist/llms-full.txt')).size).toBeGreaterThan(100_000)
    const { output: indexes } = await run(['ls', 'site/dist/assets/chunks'], { limitMs: 5_000 })
    expect(indexes).toMatch(/@localSearchIndexroot/)
    expect(indexes).toMatch(/@localSearchIndexzh/)
  })
})
