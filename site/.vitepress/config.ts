import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { addressOf, anchorOf, chinese, type Section, sections, siteFile } from '../pages.ts'

const pages = fileURLToPath(new URL('../pages', import.meta.url))
const repository = 'https://github.com/jackfield/jackfield'
const site = new URL(process.env['SITE_URL'] ?? 'https://jackfield.github.io/jackfield/')
const hasReference = existsSync(join(pages, 'reference/index.md'))

function titleOf(file: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(pages, file), 'utf8'))?.[1]?.replaceAll(/[`*]/g, '') ?? file
}

function group({ title, sources }: Section, collapsed: boolean) {
  const items = sources
    .map(siteFile)
    .map((file) => ({ text: titleOf(file).replace(/^@jackfield\//, ''), link: addressOf(file) }))
  return { text: title, collapsed, items }
}

/** The pages of the API reference, by package and entry. */
function reference() {
  const files = globSync('reference/**/*.md', { cwd: pages }).sort()
  const items = files
    .filter((file) => !file.endsWith('index.md'))
    .map((file) => ({ text: file.replace(/^reference\//, '').replace(/\.md$/, ''), link: addressOf(file) }))
  return { text: 'API reference', collapsed: true, items: [{ text: 'Index', link: '/reference/' }, ...items] }
}

export default defineConfig({
  title: 'Jackfield',
  description: 'The Model Context Protocol in TypeScript: SDK, host and command line.',
  lang: 'en',
  base: site.pathname,
  srcDir: 'pages',
  srcExclude: ['public/**'],
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  cleanUrls: true,
  sitemap: { hostname: site.href },
  // pages.ts checks links to files, VitePress those between pages.
  ignoreDeadLinks: false,
  markdown: { anchor: { slugify: anchorOf } },
  vite: {
    build: { chunkSizeWarningLimit: 4_000 },
  },
  locales: {
    root: { label: 'English', lang: 'en' },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      description: 'TypeScript 实现的 Model Context Protocol：SDK、host 与命令行。',
      themeConfig: {
        nav: [
          { text: '快速开始', link: '/zh/guide/quick-start' },
          { text: '指南', link: '/zh/guide/servers' },
          { text: 'Host', link: '/zh/host' },
          ...(hasReference ? [{ text: 'API（英文）', link: '/reference/' }] : []),
        ],
        sidebar: [group(chinese, false), ...sections.map((section) => group(section, true))],
        outline: { label: '本页目录', level: [2, 3] },
        docFooter: { prev: '上一页', next: '下一页' },
        editLink: { pattern: `${repository}/tree/main/docs/:path`, text: '在 GitHub 上编辑此页' },
        darkModeSwitchLabel: '外观',
        lightModeSwitchTitle: '切换到浅色模式',
        darkModeSwitchTitle: '切换到深色模式',
        sidebarMenuLabel: '菜单',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '切换语言',
        notFound: { title: '页面不存在', quote: '地址有误，或页面已移走。', linkText: '回到首页' },
      },
    },
  },
  themeConfig: {
    nav: [
      { text: 'Quick start', link: '/guide/quick-start' },
      { text: 'Guides', link: '/guide/' },
      { text: 'Host', link: '/host' },
      ...(hasReference ? [{ text: 'API', link: '/reference/' }] : []),
    ],
    sidebar: [
      ...sections.map((section, at) => group(section, at > 1)),
      ...(hasReference ? [reference()] : []),
    ],
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: repository }],
    search: {
      provider: 'local',
      options: {
        // Long generated tables would be most of the index.
        _render(src, env, md) {
          const html = md.render(src, env)
          const path: string = env.relativePath
          return /^(?:advisories|scorecard|features)\.md$/.test(path) ? '' : html
        },
        miniSearch: {
          options: {
            // Chinese has no spaces between words.
            tokenize: (text) =>
              Array.from(new Intl.Segmenter('zh', { granularity: 'word' }).segment(text))
                .filter(({ isWordLike }) => isWordLike)
                .map(({ segment }) => segment),
          },
        },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                displayDetails: '显示详细列表',
                resetButtonTitle: '清除搜索',
                backButtonTitle: '返回',
                noResultsText: '没有找到',
                footer: {
                  selectText: '选择',
                  navigateText: '切换',
                  closeText: '关闭',
                },
              },
            },
          },
        },
      },
    },
  },
})
