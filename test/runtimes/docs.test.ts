import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { here } from './place.ts'

it('docs/runtimes.md names the versions that are tested', () => {
  const page = readFileSync(here('../../docs/runtimes.md'), 'utf8')
  const { devDependencies }: { devDependencies: Record<string, string> } = JSON.parse(
    readFileSync(here('package.json'), 'utf8'),
  )
  for (const name of ['bun', 'deno', 'miniflare', 'next']) {
    expect(page.toLowerCase()).toContain(`${name} ${devDependencies[name]}`)
  }
})
