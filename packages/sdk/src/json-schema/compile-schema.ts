import { compileTrusted, type Validator, validatorOf } from './compile.ts'
import { type LinearRegex, linearRegex, UnsupportedPattern } from './linear-regex.ts'
import { type Patterns, patternsWith } from './pattern.ts'

const maxPatternChars = 4096
const maxInstructionsPerSchema = 50_000

/** The patterns of a schema from a peer, run in time linear to the text and within a shared bound. */
function linearPatterns(): Patterns {
  let instructions = 0
  const compiled = (source: string): LinearRegex | string => {
    if (source.length > maxPatternChars) return 'it is too long'
    if (instructions > maxInstructionsPerSchema) return 'the schema has too many patterns'
    try {
      const regex = linearRegex(source)
      instructions += regex.size
      return regex
    } catch (error) {
      if (error instanceof UnsupportedPattern) return error.message
      throw error
    }
  }
  return patternsWith((source) => {
    let regex: LinearRegex | string | undefined
    return (text, spend) => {
      regex ??= compiled(source)
      spend(1)
      return typeof regex === 'string' ? regex : regex.test(text, spend)
    }
  })
}

/** Options of `compileSchema`. */
export interface SchemaOptions {
  /**
   * Whether the schema is the program's own. The patterns of an untrusted schema (default) run in linear time, with a smaller
   * budget of steps.
   */
  trusted?: boolean
  /** Steps one check may take. Default 1 000 000, for a trusted schema 20 000 000. */
  steps?: number
}

const defaultSteps = 1_000_000

/**
 * Compiles a JSON Schema (2020-12, or draft-07 with its `$schema`) without code generation or network access. `format` and the
 * content keywords are annotations.
 * @throws McpError 'INVALID' for a schema that is invalid, has external references, another dialect, or more than 256 Ki
 * characters, 2,000 subschemas or 32 levels
 */
export function compileSchema(schema: unknown, options?: SchemaOptions): Validator {
  const { trusted = false, steps } = options ?? {}
  return trusted
    ? compileTrusted(schema, steps)
    : validatorOf(schema, linearPatterns(), steps ?? defaultSteps)
}
