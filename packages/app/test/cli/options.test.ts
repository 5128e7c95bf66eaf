import { describe, expect, test } from 'vitest'
import { progressText } from '../../src/cli/progress.ts'
import { revisionsFor } from '../../src/cli/revisions.ts'
import { forbidding } from '../../src/cli/rules.ts'

describe('--era and --revision', () => {
  test('leave the revisions they name', () => {
    expect(revisionsFor({})).toBeUndefined()
    expect(revisionsFor({ era: 'auto' })).toBeUndefined()
    expect(revisionsFor({ era: 'modern' })).toEqual(['2026-07-28'])
    expect(revisionsFor({ era: 'legacy' })).toEqual(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    expect(revisionsFor({ revision: '2025-06-18' })).toEqual(['2025-06-18'])
    expect(revisionsFor({ era: 'legacy', revision: '2025-06-18' })).toEqual(['2025-06-18'])
  })

  test('are refused where they make no sense', () => {
    expect(() => revisionsFor({ era: 'old' })).toThrow('--era is auto, modern or legacy')
    expect(() => revisionsFor({ revision: '2025-01-01' })).toThrow('--revision is one of 2024-11-05')
    expect(() => revisionsFor({ era: 'modern', revision: '2025-11-25' })).toThrow(
      'does not belong to --era modern',
    )
  })
})

describe('a rule that forbids', () => {
  const tool = {
    name: 'delete_file',
    inputSchema: { type: 'object' as const },
    annotations: { destructiveHint: true },
  }

  test.each([
    [{ tool: 'delete*' }, true],
    [{ tool: 'delete?file' }, true],
    [{ tool: 'delete' }, false],
    [{ tool: 'delete.file' }, false],
    [{ server: 'files' }, true],
    [{ server: 'fil??' }, true],
    [{ server: 'other' }, false],
    [{ server: 'files', tool: 'read*' }, false],
    [{ hint: 'destructive' as const }, true],
    [{ hint: 'readOnly' as const }, false],
    [{}, true],
  ])('%j matches: %s', (rule, matches) => {
    const found = forbidding([{ id: 'r', verdict: 'deny', ...rule }], 'files', tool)
    expect(found?.id).toBe(matches ? 'r' : undefined)
  })

  test('only deny counts: who types a call agrees to it', () => {
    expect(
      forbidding(
        [
          { id: 'a', verdict: 'ask' },
          { id: 'b', verdict: 'allow' },
        ],
        'files',
        tool,
      ),
    ).toBeUndefined()
  })
})

test('progress shows a bar where the end is known, and a count where not', () => {
  expect(progressText({ progress: 1, total: 4, message: 'copying\u001b[31m' })).toBe(
    '██████░░░░░░░░░░░░░░░░░░ 25% copying',
  )
  expect(progressText({ progress: 9, total: 4 })).toBe(`${'█'.repeat(24)} 100%`)
  expect(progressText({ progress: 3 })).toBe('3')
  expect(progressText({ progress: 3, total: 0 })).toBe('3')
})
