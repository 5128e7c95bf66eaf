import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
const root = fileURLToPath(new URL('..', import.meta.url))
/** Maximum characters of a summary in `llms.txt`. */
const maxSummaryChars = 240
const repository = 'https://github.com/jackfield/jackfield'

/** A page of the site. */
export interface Page {
  /** Its file, from the root of the repository. */
  readonly source: string
  /** Its file on the site, such as `guide/servers.md`. */
  readonly file: string
  readonly title: string
  /** Its first paragraph, as one line without markup. */
  readonly summary: string
  /** Its Markdown, with links to other pages of the site, or to the repository. */
  readonly text: string
}

/** A section of the sidebar and of `llms.txt`, with the source files of its pages. */
export interface Section {
  readonly title: string
  readonly sources: readonly string[]
}

const guide = (name: string): string => `docs/guide/${name}.md`

/** All English pages except the API reference, by section. */
export const sections: readonly Section[] = [
  {
    title: 'Guides',
    sources: [
      'quick-start',
      'README',
      'servers',
      'clients',
      'asking',
      'testing',
      'http',
      'authorization',
      'scale-out',
      'tasks',
      'extensions',
      'composition',
      'from-official-sdk',
      'upgrading',
    ]
      .map(guide)
      .concat('packages/ai-sdk/README.md', 'docs/adapters.md', 'docs/runtimes.md', 'examples/README.md'),
  },
  { title: 'Host', sources: ['docs/host.md', ...filesIn('docs/host/*.md'), 'docs/container.md'] },
  {
    title: 'Packages',
    sources: [
      ...filesIn('packages/*/README.md').filter((file) => !file.includes('ai-sdk')),
      ...filesIn('servers/*/README.md'),
    ],
  },
  {
    title: 'Project',
    sources: [
      ...[
        'features',
        'interop',
        'names',
        'design',
        'rough-edges',
        'reliability',
        'scorecard',
        'advisories',
      ].map((name) => `docs/${name}.md`),
      'SECURITY.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
    ],
  },
]

/** The pages in Simplified Chinese. */
export const chinese: Section = {
  title: '指南',
  sources: ['quick-start', 'servers', 'clients']
    .map((name) => `docs/zh/guide/${name}.md`)
    .concat('docs/zh/host.md'),
}

/** Where a page of the repository is on the site. */
export function siteFile(source: string): string {
  const path = source.replace(/^docs\//, '')
  if (/^[A-Z]+\.md$/.test(path) && path !== 'README.md') return path.toLowerCase()
  const [, folder, name] = /^(packages|servers|examples)\/?(.*)\/?README\.md$/.exec(path) ?? []
  if (folder === undefined) return path.replace(/README\.md$/, 'index.md')
  return name === '' || name === undefined ? `${folder}.md` : `${folder}/${name.replace(/\/$/, '')}.md`
}

/** The address of a page below that of the site, such as `/guide/servers`. */
export function addressOf(file: string): string {
  return `/${file.replace(/\.md$/, '').replace(/(^|\/)index$/, '$1')}`
}

/** The anchor of a heading, as GitHub creates it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

/** The source files of all pages, including the API reference after `npm run reference`. */
export function sourceFiles(): string[] {
  const english = sections.flatMap(({ sources }) => sources)
  return [
    'README.md',
    'docs/zh/README.md',
    ...english,
    ...chinese.sources,
    ...filesIn('docs/reference/**/*.md'),
  ]
}

/**
 * Reads the pages. Links to repository files become links to pages of the site, or to the repository.
 * @throws Error for a link to a file that does not exist
 */
export function readPages(): { pages: Page[]; images: string[] } {
  const sources = sourceFiles()
  const onSite = new Set(sources)
  const images = new Set<string>()
  const pages = sources.map((source): Page => {
    const text = outsideCode(readFileSync(join(root, source), 'utf8'), (prose) =>
      prose
        .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
        // VitePress reads double braces as expressions.
        .replaceAll('{{', '&#123;&#123;')
        .replaceAll(/(!?\]\()([^)\s]+)/g, (_, open: string, to: string) => {
          return open + siteLink(source, to, onSite, images)
        }),
    )
    return { source, file: siteFile(source), text, title: titleOf(text), summary: summaryOf(text) }
  })
  return { pages, images: [...images] }
}

/** A link of a page, as it is on the site. */
function siteLink(source: string, link: string, onSite: ReadonlySet<string>, images: Set<string>): string {
  const own = link.replace(new RegExp(`^${repository}/(?:blob|tree)/main/`), '/')
  if (/^(?:[a-z]+:|#)/.test(own)) return link
  const [path = '', anchor] = own.split('#')
  const target = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(source), path)
  const file = join(root, target)
  if (!existsSync(file)) throw new Error(`${source}: ${link} does not exist`)
  const isFolder = statSync(file).isDirectory()
  const page = isFolder ? posix.join(target, 'README.md') : target
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (onSite.has(page)) return addressOf(siteFile(page)) + hash
  if (/^docs\/.*\.(?:svg|png)$/.test(target)) {
    images.add(target)
    return `/${target.replace(/^docs\//, '')}`
  }
  return `${repository}/${isFolder ? 'tree' : 'blob'}/main/${target.replace(/\/$/, '')}${hash}`
}

/** Applies a change to a Markdown text except its code. */
function outsideCode(text: string, change: (prose: string) => string): string {
  // Comments contain code as well, such as lines that a block is compiled with.
  const pieces = text.replaceAll(/<!--[\s\S]*?-->\n?/g, '').split(/(^```[\s\S]*?^```$|`[^`\n]+`)/m)
  return pieces.map((piece, at) => (at % 2 === 1 ? piece : change(piece))).join('')
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll(/[`*]/g, '') ?? ''
}

function summaryOf(text: string): string {
  const paragraph = text.split(/\n{2,}/).find((block) => /^[^#`|<!\s-]/.test(block)) ?? ''
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (plain.length <= maxSummaryChars) return plain
  const cut = plain.slice(0, maxSummaryChars)
  const end = cut.lastIndexOf('. ')
  return end > 0 ? cut.slice(0, end + 1) : `${cut.slice(0, cut.lastIndexOf(' '))} …`
}

/** The index of the documentation for language models (llmstxt.org). */
export function llmsIndex(pages: readonly Page[], site: string): string {
  const bySource = new Map(pages.map((page) => [page.source, page]))
  const lists = sections.map(({ title, sources }) => {
    const links = sources.map((source) => {
      const page = bySource.get(source)
      if (page === undefined) throw new Error(`${source} is not a page`)
      const summary = page.summary === '' ? '' : `: ${page.summary}`
      return `- [${page.title}](${site}${page.file})${summary}`
    })
    return `## ${title}\n\n${links.join('\n')}`
  })
  return `# Jackfield\n\n> ${bySource.get('README.md')?.summary ?? ''}\n\n${lists.join('\n\n')}\n`
}

/** The guides, the host and the packages as one text for language models, with full addresses. */
export function llmsFull(pages: readonly Page[], site: string): string {
  const wanted = [
    'README.md',
    ...sections.filter(({ title }) => title !== 'Project').flatMap(({ sources }) => sources),
  ]
  const texts = wanted.map((source) => {
    const page = pages.find((one) => one.source === source)
    if (page === undefined) throw new Error(`${source} is not a page`)
    const text = withFullAddresses(page.text, site)
    return `<!-- ${site}${page.file} -->\n\n${text.trim()}\n`
  })
  return texts.join('\n')
}

/** A text with absolute links, which work outside of the site. */
function withFullAddresses(text: string, site: string): string {
  return outsideCode(text, (prose) => prose.replaceAll('](/', `](${site}`))
}

/**
 * Writes what VitePress builds: the pages, their images, and the files for language models.
 * @param to the folder; its contents are removed
 * @param site the address of the site, with a slash at its end
 */
export function writePages(to: string, site: string): Page[] {
  const { pages, images } = readPages()
  rmSync(to, { recursive: true, force: true })
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    writeFileSync(join(to, file), text)
  }
  for (const { file, text } of pages) {
    write(file, text)
    // Language models read the Markdown.
    write(join('public', file), withFullAddresses(text, site))
  }
  for (const image of images) {
    const target = join(to, 'public', relative('docs', image))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(root, image), target)
  }
  write('public/llms.txt', llmsIndex(pages, site))
  write('public/llms-full.txt', llmsFull(pages, site))
  return pages
}

function filesIn(pattern: string): string[] {
  return globSync(pattern, { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
}
