/** The native expression, in the syntax of the `u` flag where that can be had. @throws SyntaxError */
export function nativeRegex(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

/** A `pattern` or a key of `patternProperties`. */
export interface Pattern {
  readonly source: string
  /** Whether it is found in the text, or, as a string, why that cannot be found out. */
  test(text: string, spend: (steps: number) => void): boolean | string
}

/** The patterns of one schema, each made once. */
export abstract class Patterns {
  readonly #known = new Map<string, Pattern>()

  /** @throws SyntaxError when it is not a regular expression */
  get(source: string): Pattern {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const pattern = this.make(source, nativeRegex(source))
    this.#known.set(source, pattern)
    return pattern
  }

  protected abstract make(source: string, native: RegExp): Pattern
}

/** The patterns of a schema that is trusted, run by the engine's own regular expressions. */
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
