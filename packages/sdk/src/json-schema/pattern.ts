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

/** The patterns of one schema, each compiled once. */
export abstract class Patterns {
  readonly #known = new Map<string, Pattern>()

  /** @throws SyntaxError for an invalid regular expression */
  get(source: string): Pattern {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const pattern = this.make(source, nativeRegex(source))
    this.#known.set(source, pattern)
    return pattern
  }

  protected abstract make(source: string, native: RegExp): Pattern
}

/** The patterns of a trusted schema, run by the engine's regular expressions. */
export class NativePatterns extends Patterns {
  protected make(source: string, native: RegExp): Pattern {
    return {
      source,
      test: (text, spend) => {
        spend(text.length >> 4)
        return native.test(text)
      },
    }
  }
}
