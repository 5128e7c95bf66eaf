import { describe, expect, test } from 'vitest'
import { progressText } from '../../src/cli/progress.ts'
import { revisionsFor } from '../../src/cli/revisions.ts'
import { storeFile } from '../../src/cli/store.ts'
import { tempFolder } from './jackfield.ts'

describe('--era and --revision', () => {
  test('select the allowed revisions', () => {
    expect(revisionsFor({})).toBeUndefined()
    expect(revisionsFor({ era: 'auto' })).toBeUndefined()
    expect(revisionsFor({ era: 'modern' })).toEqual(['2026-07-28'])
    expect(revisionsFor({ era: 'legacy' })).toEqual(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    expect(revisionsFor({ revision: '2025-06-18' })).toEqual(['2025-06-18'])
    expect(revisionsFor({ era: 'legacy', revision: '2025-06-18' })).toEqual(['2025-06-18'])
  })

  test('are rejected in invalid combinations', () => {
    expect(() => revisionsFor({ era: 'old' })).toThrow('--era is auto, modern or legacy')
    expect(() => revisionsFor({ revision: '2025-01-01' })).toThrow('--revision is one of 2024-11-05')
    expect(() => revisionsFor({ era: 'modern', revision: '2025-11-25' })).toThrow(
      'does not belong to --era modern',
    )
  })
})

test("the store is the given file, or in the user's data folder", () => {
  const home = tempFolder()
  const at = (option: string | undefined, env: Record<string, string> = {}): string =>
    storeFile(option, { env: { HOME: home, ...env }, cwd: '/work' })
  expect(at(undefined)).toBe(`${home}/.local/share/jackfield/activity.db`)
  expect(at(undefined, { XDG_DATA_HOME: '/data' })).toBe('/data/jackfield/activity.db')
  expect(at(undefined, { XDG_DATA_HOME: 'data' })).toBe(`${home}/.local/share/jackfield/activity.db`)
  expect(at('mine.db')).toBe('/work/mine.db')
  expect(at(':memory:')).toBe(':memory:')
})

test('progress shows a bar with a total, and a count without', () => {
  expect(progressText({ progress: 1, total: 4, message: 'copying\u001b[31m' })).toBe(
    '██████░░░░░░░░░░░░░░░░░░ 25% copying',
  )
  expect(progressText({ progress: 9, total: 4 })).toBe(`${'█'.repeat(24)} 100%`)
  expect(progressText({ progress: 3 })).toBe('3')
  expect(progressText({ progress: 3, total: 0 })).toBe('3')
})
