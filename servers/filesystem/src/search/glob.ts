import { FileError } from '../access/file-error.ts'

/**
 * A glob pattern over paths with `/`: `*` and `?` within a name, `**` over any number of names, `[a-z]` and `[!a-z]`, `{a,b}`, and
 * `\` before a literal character. Names that begin with a dot are matched like others. The time of a match grows with
 * the product of the lengths at most.
 */
export interface Glob {
  matches(path: string): boolean
}

const maxPatternChars = 1000
const maxAlternatives = 200

/** @throws FileError 'limit' for a pattern that is too long, or has too many alternatives */
export function parseGlob(pattern: string): Glob {
  if (pattern.length > maxPatternChars)
    throw new FileError('limit', `The pattern has more than ${maxPatternChars} characters.`)
  const alternatives = expandBraces(pattern).map((one) => segmentsOf(one))
  return {
    matches(path) {
      const names = path.split('/')
      return alternatives.some((segments) => matchAll(segments, names, isAnyPath, matchName))
    },
  }
}

/** A name pattern: the tests of its characters, '*' for any number of them; '**' for any number of names. */
type NamePattern = readonly ('*' | ((char: string) => boolean))[] | '**'

/** Expands a pattern with `{a,b}`. */
function expandBraces(pattern: string): string[] {
  const expand = (text: string): string[] => {
    const open = findGroup(text)
    if (open === undefined) return [text]
    const { start, end, options } = open
    const rests = expand(text.slice(end + 1))
    const results = options
      .flatMap(expand)
      .flatMap((option) => rests.map((rest) => `${text.slice(0, start)}${option}${rest}`))
    if (results.length > maxAlternatives) {
      throw new FileError(
        'limit',
        `The braces of the pattern stand for more than ${maxAlternatives} patterns.`,
      )
    }
    return results
  }
  return expand(pattern)
}

/** The first `{…}` with a comma. Braces without a comma are literal. */
function findGroup(text: string): { start: number; end: number; options: string[] } | undefined {
  for (let start = 0; start < text.length; start++) {
    if (text[start] === '\\') start++
    else if (text[start] === '{') {
      const group = groupAt(text, start)
      if (group !== undefined) return group
    }
  }
  return undefined
}

function groupAt(text: string, start: number): { start: number; end: number; options: string[] } | undefined {
  const options: string[] = []
  let depth = 0
  let from = start + 1
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '{') depth++
    else if (char === ',' && depth === 1) {
      options.push(text.slice(from, at))
      from = at + 1
    } else if (char === '}' && --depth === 0) {
      if (options.length === 0) return undefined
      return { start, end: at, options: [...options, text.slice(from, at)] }
    }
  }
  return undefined
}

function segmentsOf(pattern: string): NamePattern[] {
  const segments = pattern.split('/').map(parseName)
  // At the end `**` is everything below, and not the directory itself.
  return segments.at(-1) === '**' ? [...segments, parseName('*')] : segments
}

function parseName(name: string): NamePattern {
  if (name === '**') return '**'
  const tests: ('*' | ((char: string) => boolean))[] = []
  const chars = [...name]
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? ''
    if (char === '*') {
      if (tests.at(-1) !== '*') tests.push('*')
    } else if (char === '?') tests.push(() => true)
    else if (char === '[') {
      const set = setAt(chars, at)
      tests.push(set?.test ?? ((other) => other === '['))
      at = set?.end ?? at
    } else {
      const literal = char === '\\' && at + 1 < chars.length ? (chars[++at] ?? '') : char
      tests.push((other) => other === literal)
    }
  }
  return tests
}

/** The characters of `[…]`; undefined if it is not closed. */
function setAt(
  chars: readonly string[],
  open: number,
): { test: (char: string) => boolean; end: number } | undefined {
  let at = open + 1
  const negated = chars[at] === '!' || chars[at] === '^'
  if (negated) at++
  const ranges: (readonly [string, string])[] = []
  for (let isFirst = true; at < chars.length; at++, isFirst = false) {
    let char = chars[at] ?? ''
    if (char === ']' && !isFirst) {
      return {
        test: (other) => ranges.some(([low, high]) => other >= low && other <= high) !== negated,
        end: at,
      }
    }
    if (char === '\\' && at + 1 < chars.length) char = chars[++at] ?? ''
    const end = chars[at + 2]
    if (chars[at + 1] === '-' && end !== undefined && end !== ']') {
      ranges.push([char, end])
      at += 2
    } else ranges.push([char, char])
  }
  return undefined
}

function isAnyPath(pattern: NamePattern): boolean {
  return pattern === '**'
}

function matchName(pattern: NamePattern, name: string): boolean {
  return (
    pattern !== '**' &&
    matchAll(
      pattern,
      [...name],
      (part) => part === '*',
      (part, char) => part !== '*' && part(char),
    )
  )
}

/**
 * Whether parts match items. A part for which `isAny` is true matches any number of items. Backtracks to the last such part only,
 * which is sufficient for globs and avoids exponential time.
 */
function matchAll<P, I extends string>(
  parts: readonly P[],
  items: readonly I[],
  isAny: (part: P) => boolean,
  matchOne: (part: P, item: I) => boolean,
): boolean {
  let part = 0
  let item = 0
  let anyPart = -1
  let anyItem = 0
  for (let next = items[0]; next !== undefined; next = items[item]) {
    const current = parts[part]
    if (current !== undefined && isAny(current)) {
      anyPart = part++
      anyItem = item
    } else if (current !== undefined && matchOne(current, next)) {
      part++
      item++
    } else if (anyPart !== -1) {
      part = anyPart + 1
      item = ++anyItem
    } else return false
  }
  return parts.slice(part).every(isAny)
}

/**
 * Whether a path is excluded by patterns, as in `excludePatterns`: a pattern with `*` is compared with the whole path, any other
 * also with each name in it.
 */
export function parseExcludes(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.flatMap((pattern) =>
    pattern.includes('*')
      ? [parseGlob(pattern)]
      : [parseGlob(pattern), parseGlob(`**/${pattern}`), parseGlob(`**/${pattern}/**`)],
  )
  return (path) => globs.some((glob) => glob.matches(path))
}
