import { compileSchema, type Validator } from '@jackfield/sdk/schema'
import type { CatalogTool } from '../../types/index.ts'

const maxWords = 1_000

/** What is wrong with arguments by the tool's own schema; undefined where nothing is, or where it cannot be checked. */
export function problemWithArguments({ tool }: CatalogTool, args: unknown): string | undefined {
  let validator: Validator
  try {
    validator = compileSchema(tool.inputSchema)
  } catch {
    // The server checks by its own means; a dialect that is not known here keeps nobody from calling.
    return undefined
  }
  return validator.check(args)?.slice(0, maxWords)
}
