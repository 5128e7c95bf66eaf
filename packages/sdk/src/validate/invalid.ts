import { McpError } from '../jsonrpc/error.ts'

/** Says which keyword of a schema breaks which rule. */
export function invalid(pointer: string, keyword: string, what: string): McpError {
  const where = keyword === '' ? pointer : `${pointer}/${keyword}`
  return new McpError('INVALID', `The schema is not valid: ${where === '' ? 'it' : `"${where}"`} ${what}`, {
    details: { pointer: where },
  })
}
