import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { Compiler } from './compile.ts'
import type { Patterns } from './pattern.ts'
import { Places } from './places.ts'
import { type Issue, type Node, Run, TooExpensive } from './run.ts'

/** Checks values against one schema. */
export interface Validator {
  /** What is wrong with a value, in words with JSON pointers (`/a/0/b must be string`); undefined when nothing is. */
  check(value: unknown): string | undefined
  /** What is wrong with a value, one by one, at most 20. */
  issues(value: unknown): readonly Issue[]
}

const maxChars = 256 * 1024

/** Compiles a schema with patterns of one kind. @throws McpError INVALID when it is not valid, or too large */
export function validatorOf(schema: unknown, patterns: Patterns, budget: number): Validator {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    throw new McpError('INVALID', 'The schema is not valid: it must be an object or a boolean')
  }
  if (textOf(schema).length > maxChars) {
    throw new McpError('INVALID', `The schema is not valid: it is larger than ${maxChars} characters`)
  }
  const root = new Compiler(new Places(isObject(schema) ? schema : {}), patterns).compile(schema)

  let run = new Run(budget, false)
  const issues = (value: unknown): readonly Issue[] => {
    try {
      if (run.again(budget).here(root, value)) return []
    } catch (error) {
      run = new Run(budget, false)
      if (error instanceof TooExpensive) return [{ path: '', message: error.message }]
      throw error
    }
    return explain(new Run(run.left, true), root, value)
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
    ? [{ path: '', message: 'does not match the schema, and is too expensive to say where' }]
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
