/** The native expression, with the `u` flag if possible. @throws SyntaxError */
export function nativeRegex(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

export interface Pattern {
  readonly source: string
  /** Whether it matches the text, or, as a string, why that is unknown. */
  test(text: string, spend: (steps: number) => void): boolean | string
}

/** The patterns of one schema, each compiled once. @throws SyntaxError for an invalid regular expression */
export type Patterns = (source: string) => Pattern

/** @param testOf makes the test of a pattern */
export function patternsWith(testOf: (source: string, native: RegExp) => Pattern['test']): Patterns {
  const known = new Map<string, Pattern>()
  return (source) => {
    const pattern = known.get(source) ?? { source, test: testOf(source, nativeRegex(source)) }
    known.set(source, pattern)
    return pattern
  }
}

/** The patterns of a trusted schema, run by the engine's regular expressions. */
export function nativePatterns(): Patterns {
  return patternsWith((_source, native) => (text, spend) => {
    spend(text.length >> 4)
    return native.test(text)
  })
}
