import { type LinearRegex, linearRegex } from './linear-regex.ts'
import { nativeRegex, Unsupported } from './regex-parts.ts'

const maxPatternChars = 4096
const maxInstructionsPerSchema = 50_000

/** A `pattern` or a key of `patternProperties`. */
export interface Pattern {
  readonly source: string
  /** Whether it is found in the text, or, as a string, why that cannot be found out. */
  test(text: string, spend: (steps: number) => void): boolean | string
}

/** Makes the patterns of one schema: native ones where the schema is trusted, else linear ones within a shared bound. */
export class Patterns {
  readonly #trusted: boolean
  readonly #known = new Map<string, Pattern>()
  #instructions = 0

  constructor(trusted: boolean) {
    this.#trusted = trusted
  }

  /** @throws SyntaxError when it is not a regular expression */
  get(source: string): Pattern {
    const known = this.#known.get(source)
    if (known !== undefined) return known
    const native = nativeRegex(source)
    const pattern: Pattern = this.#trusted
      ? {
          source,
          test: (text, spend) => {
            spend(text.length >> 4)
            return native.test(text)
          },
        }
      : this.#linear(source)
    this.#known.set(source, pattern)
    return pattern
  }

  #linear(source: string): Pattern {
    let made: LinearRegex | string | undefined
    return {
      source,
      test: (text, spend) => {
        made ??= this.#make(source)
        spend(1)
        return typeof made === 'string' ? made : made.test(text, spend)
      },
    }
  }

  #make(source: string): LinearRegex | string {
    if (source.length > maxPatternChars) return 'it is too long'
    if (this.#instructions > maxInstructionsPerSchema) return 'the schema has too many patterns'
    try {
      const regex = linearRegex(source)
      this.#instructions += regex.size
      return regex
    } catch (error) {
      if (error instanceof Unsupported) return error.message
      throw error
    }
  }
}
