import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { storedFigures, tables } from './page.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/reliability.md', import.meta.url)), 'utf8')

test('docs/reliability.md shows exactly the recorded figures', () => {
  expect(page.split('<!-- figures -->')[1]?.trim()).toBe(tables(storedFigures()).trim())
})
