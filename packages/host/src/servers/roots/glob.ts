import { dirname } from 'node:path'

/**
 * Whether a folder, or one that it lies in, is meant by a pattern. A pattern with a `/` is one of whole paths, any
 * other one of single names.
 */
export function isMeant(path: string, pattern: string): boolean {
  const test = expressionOf(pattern)
  for (let at = path; ; at = dirname(at)) {
    if (test.test(pattern.includes('/') ? at : nameOf(at))) return true
    if (at === dirname(at)) return false
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function expressionOf(pattern: string): RegExp {
  const text = pattern.length > 1 ? pattern.replace(/\/+$/, '') : pattern
  const parts = text.split(/(\*+|\?)/).map((part) => {
    if (part === '?') return '[^/]'
    if (part === '*') return '[^/]*'
    if (/^\*+$/.test(part)) return '.*'
    return part.replace(/[\\^$.+()[\]{}|]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`)
}
