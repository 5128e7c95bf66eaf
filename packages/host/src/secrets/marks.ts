import { readJson } from '@jackfield/sdk/internal'
import { rewritten } from '../json.ts'
import type { Redactor } from './redactor.ts'

/** By what stands in place of each secret in the redacted copy of a value, the secret. */
export type Marks = ReadonlyMap<string, string>

/** The marks of a value's redacted copy. One that stands for two different texts is left out. */
export function marksIn(value: unknown, redactor: Redactor): Marks {
  const marks = new Map<string, string>()
  const ambiguous = new Set<string>()
  eachText(value, (text) => {
    for (const piece of redactor.pieces(text)) {
      if (typeof piece === 'string') continue
      const mark = `[${piece.name}]`
      const before = marks.get(mark)
      if (before !== undefined && before !== piece.text) ambiguous.add(mark)
      marks.set(mark, piece.text)
    }
  })
  for (const mark of ambiguous) marks.delete(mark)
  return marks
}

/** A JSON value with the secrets in place of their marks; the value itself where it holds none. */
export function putBack<T>(value: T, marks: Marks): T {
  if (marks.size === 0) return value
  const text = (given: string): string => {
    let whole = given
    for (const [mark, secret] of marks) whole = whole.replaceAll(mark, () => secret)
    return whole
  }
  return rewritten(readJson(JSON.stringify(value)), (item) => {
    if (typeof item === 'string') return text(item)
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [text(key), inner]))
  })
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value)
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      visit(key)
      eachText(item, visit)
    }
  }
}
