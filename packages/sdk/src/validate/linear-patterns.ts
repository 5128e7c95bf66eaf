import { type LinearRegex, linearRegex } from './linear-regex.ts'
import { type Pattern, Patterns } from './pattern.ts'
import { Unsupported } from './regex-parts.ts'

const maxPatternChars = 4096
const maxInstructionsPerSchema = 50_000

/** The patterns of a schema from a peer, run in time linear to the text and within a shared bound. */
export class LinearPatterns extends Patterns {
  #instructions = 0

  protected make(source: string): Pattern {
    let made: LinearRegex | string | undefined
    return {
      source,
      test: (text, spend) => {
        made ??= this.#linear(source)
        spend(1)
        return typeof made === 'string' ? made : made.test(text, spend)
      },
    }
  }

  #linear(source: string): LinearRegex | string {
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
