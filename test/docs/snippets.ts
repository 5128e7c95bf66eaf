import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A block of code in a page, and its position. */
export interface Block {
  /** The page, from the root of the repository. */
  readonly page: string
  readonly language: string
  /** The line its code begins on, counted from 1. */
  readonly line: number
  readonly code: string
  /** Whether it continues the module of the block before it: `<!-- continues -->` precedes it. */
  readonly continues: boolean
  /** Why it is not run, if `<!-- not run: why -->` precedes it. */
  readonly notRun: string | undefined
  /** Lines the reader is spared, from a comment `<!-- given` above it, and the line they begin on. They may open a function. */
  readonly given: { readonly code: string; readonly line: number } | undefined
}

/** Every page whose code is checked. What the reference generator wrote is none of them. */
export function pagesIn(root: string): string[] {
  const found = globSync(['README.md', 'packages/*/README.md', 'examples/README.md', 'docs/**/*.md'], {
    cwd: root,
  })
  return found.filter((page) => !page.startsWith(join('docs', 'reference'))).sort()
}

export function blocksIn(page: string, root: string): Block[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const language = /^```(\w*)$/.exec(lines[at] ?? '')?.[1]
    if (language === undefined) continue
    const end = lines.indexOf('```', at + 1)
    if (end < 0) throw new Error(`${page}:${at + 1}: a block that never ends`)
    const above = commentAbove(lines, at)
    blocks.push({
      page,
      language,
      line: at + 2,
      code: lines.slice(at + 1, end).join('\n'),
      continues: above?.text === 'continues',
      notRun: /^not run: (.+)$/.exec(above?.text ?? '')?.[1],
      given: above?.text.startsWith('given\n')
        ? { code: above.text.slice(6), line: above.line + 1 }
        : undefined,
    })
    at = end
  }
  return blocks
}

/** The HTML comment that ends right above a line, or one empty line further up. */
function commentAbove(lines: readonly string[], at: number): { text: string; line: number } | undefined {
  const last = lines[at - 1] === '' ? at - 2 : at - 1
  if (!lines[last]?.endsWith('-->')) return undefined
  let first = last
  while (first > 0 && !lines[first]?.startsWith('<!--')) first--
  const text = lines
    .slice(first, last + 1)
    .join('\n')
    .slice('<!--'.length, -'-->'.length)
  return { text: text.trim(), line: first + 1 }
}
