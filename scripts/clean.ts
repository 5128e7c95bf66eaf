import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'

const written = [
  'packages/*/dist',
  'servers/*/dist',
  'results',
  'coverage',
  'docs/reference',
  'site/dist',
  'site/pages',
  '*.tsbuildinfo',
]

for (const path of written.flatMap((pattern) => globSync(pattern, { cwd: root }))) {
  rmSync(join(root, path), { recursive: true, force: true })
  console.log(`removed ${path}`)
}
