import { NativePatterns } from './pattern.ts'
import { type Validator, validatorOf } from './validator.ts'

/** Steps a check against a trusted schema may take. */
export const trustedSteps = 20_000_000

/** Compiles a schema of this program's own. @throws McpError INVALID when it is not valid, or too large */
export function compileTrusted(schema: unknown, steps: number = trustedSteps): Validator {
  return validatorOf(schema, new NativePatterns(), steps)
}
