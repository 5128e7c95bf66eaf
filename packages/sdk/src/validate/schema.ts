import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { Compiler } from './compile.ts'
import { Places } from './places.ts'
import { type Issue, type Node, Run, TooExpensive } from './run.ts'

/** How much a schema and its author are believed. */
export interface SchemaOptions {
  /**
   * Whether the schema is this program's own. A schema from a peer (the default) has its patterns run in time
   * linear to the text, and a smaller budget of steps.
   */
  trusted?: boolean
  /** Steps one check may take. Default 1 000 000, for a trusted schema 20 000 000. */
  steps?: number
}

/** Checks values against one schema. */
export interface Validator {
  /** What is wrong with a value, in words with JSON pointers (`/a/0/b must be string`); undefined when nothing is. */
  check(value: unknown): string | undefined
  /** What is wrong with a value, one by one, at most 20. */
  issues(value: unknown): readonly Issue[]
}

const maxChars = 256 * 1024
const steps = 1_000_000
const trustedSteps = 20_000_000

/**
 * Compiles a JSON Schema (2020-12, or draft-07 where `$schema` says so) without generating code and without ever
 * fetching anything. `format` and the content keywords are annotations.
 * @throws McpError INVALID when the schema is not valid, refers outside itself, is in another dialect, or is larger
 * than 256 Ki characters, 2,000 subschemas or 32 levels
 */
export function compileSchema(schema: unknown, options?: SchemaOptions): Validator {
  const trusted = options?.trusted ?? false
  const budget = options?.steps ?? (trusted ? trustedSteps : steps)
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    throw new McpError('INVALID', 'The schema is not valid: it must be an object or a boolean')
  }
  if (textOf(schema).length > maxChars) {
    throw new McpError('INVALID', `The schema is not valid: it is larger than ${maxChars} characters`)
  }
  const root = new Compiler(new Places(isObject(schema) ? schema : {}), trusted).compile(schema)

  let run = new Run(budget, false)
  const issues = (value: unknown): readonly Issue[] => {
    try {
      if (run.again(budget).here(root, value)) return []
    } catch (error) {
      run = new Run(budget, false)
      if (error instanceof TooExpensive) return [{ path: '', message: error.message }]
      throw error
    }
    return explain(new Run(budget, true), root, value)
  }
  return {
    issues,
    check: (value) => {
      const found = issues(value)
      return found.length === 0 ? undefined : found.map(inWords).join('; ')
    },
  }
}

function explain(run: Run, root: Node, value: unknown): readonly Issue[] {
  try {
    run.here(root, value)
  } catch (error) {
    if (!(error instanceof TooExpensive)) throw error
  }
  return run.issues === undefined || run.issues.length === 0
    ? [{ path: '', message: 'does not match the schema' }]
    : run.issues
}

function inWords({ path, message }: Issue): string {
  return path === '' ? message : `${path} ${message}`
}

function textOf(schema: unknown): string {
  try {
    return JSON.stringify(schema)
  } catch {
    throw new McpError('INVALID', 'The schema is not valid: it cannot be written as JSON')
  }
}
