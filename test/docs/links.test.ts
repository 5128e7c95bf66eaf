import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { anchorOf } from '../../site/pages.ts'
import { pagesIn } from './snippets.ts'

it.each(pagesIn(root))('%s links to places that are there', (page) => {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  const targets = [...text.matchAll(/\]\((?!https?:)([^)\s]+)/g)].map(([, target = '']) => target)
  const broken = [...new Set(targets)].filter((target) => {
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? join(root, page) : join(root, dirname(page), path)
    if (!existsSync(file)) return true
    if (anchor === undefined) return false
    const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(
      ([, heading = '']) => heading,
    )
    return !headings.some((heading) => anchorOf(heading) === anchor)
  })
  expect(broken).toEqual([])
})
