import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import {
  type Applicator,
  applicators,
  type Builder,
  draft07Applicators,
  draft2020Applicators,
  reference,
  unevaluated,
} from './applicators.ts'
import { assertions } from './assertions.ts'
import { nativePatterns, type Patterns } from './pattern.ts'
import { type Dialect, SchemaIndex, type SchemaLocation } from './schema-index.ts'
import {
  BudgetExceeded,
  type Check,
  type Issue,
  invalid,
  type Node,
  type Resource,
  Run,
} from './validation-run.ts'

const { dependentRequired: _, ...draft07Assertions } = assertions

const keywords: Readonly<Record<Dialect, readonly (readonly [string, Builder])[]>> = {
  '2020-12': Object.entries({ ...assertions, ...draft2020Applicators, ...applicators, ...unevaluated }),
  'draft-07': Object.entries({ ...draft07Assertions, ...applicators, ...draft07Applicators }),
}

/** Compiles the subschemas of a schema, each once. */
class Compiler {
  readonly #index: SchemaIndex
  readonly #patterns: Patterns
  readonly #nodes = new Map<object, Node>()
  readonly #pending: (() => void)[] = []
  /** The target of each dynamic anchor, per resource. */
  readonly #anchored = new Map<string, ReadonlyMap<Resource, Node>>()

  constructor(index: SchemaIndex, patterns: Patterns) {
    this.#index = index
    this.#patterns = patterns
  }

  /** Compiles a schema and all subschemas it references. @throws McpError 'INVALID' */
  compile(schema: unknown): Node {
    const node = this.#node(schema, this.#index.root, '')
    for (let build = this.#pending.pop(); build !== undefined; build = this.#pending.pop()) build()
    return node
  }

  #node(schema: unknown, parent: SchemaLocation, keyword: string): Node {
    if (typeof schema === 'boolean') return this.#constant(schema, parent.resource)
    if (!isObject(schema)) throw invalid(parent.pointer, keyword, 'must be a schema: an object or a boolean')
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    const location = this.#index.get(schema, parent)
    const node: Node = { checks: [], deferred: [], resource: location.resource, plain: true }
    this.#nodes.set(schema, node)
    this.#pending.push(() => this.#build(schema, node, location))
    return node
  }

  #constant(allows: boolean, resource: Resource): Node {
    const checks: Check[] = allows ? [] : [(_, run) => run.fail('must be absent')]
    return { checks, deferred: [], resource, plain: true }
  }

  #build(schema: Record<string, unknown>, node: Node, location: SchemaLocation): void {
    if (location.dialect === 'draft-07' && schema['$ref'] !== undefined) {
      const check = reference?.(this.#applicator(schema, '$ref', location))
      if (check !== undefined) node.checks.push(check)
      return
    }
    for (const [name, builder] of keywords[location.dialect]) {
      if (!Object.hasOwn(schema, name) || schema[name] === undefined) continue
      const check = builder(this.#applicator(schema, name, location))
      const checks = Object.hasOwn(unevaluated, name) ? node.deferred : node.checks
      if (check !== undefined) checks.push(check)
    }
    node.plain = node.deferred.length === 0 && !this.#index.hasDynamicAnchors
  }

  #applicator(schema: Record<string, unknown>, name: string, location: SchemaLocation): Applicator {
    return {
      value: schema[name],
      schema,
      patterns: this.#patterns,
      reject: (what) => {
        throw invalid(location.pointer, name, what)
      },
      node: (child) => this.#node(child, location, name),
      reference: (to) => {
        const target = this.#index.resolve(to, location, name)
        const node = this.#node(target.schema, target.location, name)
        return () => node
      },
      dynamicReference: (to) => this.#dynamic(to, location, name),
    }
  }

  #dynamic(to: string, location: SchemaLocation, keyword: string): (run: Run) => Node {
    const target = this.#index.resolve(to, location, keyword)
    const initial = this.#node(target.schema, target.location, keyword)
    const anchor = to.slice(to.indexOf('#') + 1)
    if (
      !target.location.resource.dynamicAnchors.has(anchor) ||
      target.schema !== target.location.resource.dynamicAnchors.get(anchor)
    ) {
      return () => initial
    }
    const targets = this.#anchored.get(anchor) ?? this.#targetsOf(anchor, location, keyword)
    return (run) => {
      run.spend(run.scope.length >> 2)
      for (const resource of run.scope) {
        const target = targets.get(resource)
        if (target !== undefined) return target
      }
      return initial
    }
  }

  #targetsOf(anchor: string, location: SchemaLocation, keyword: string): ReadonlyMap<Resource, Node> {
    const targets = new Map<Resource, Node>()
    this.#anchored.set(anchor, targets)
    for (const resource of this.#index.resources()) {
      const target = resource.dynamicAnchors.get(anchor)
      if (target !== undefined) targets.set(resource, this.#node(target, location, keyword))
    }
    return targets
  }
}

/** Checks values against one schema. */
export interface Validator {
  /** The issues of a value as text with JSON pointers (`/a/0/b must be string`); undefined if it is valid. */
  check(value: unknown): string | undefined
  /** The issues of a value, at most 20; empty if it is valid. */
  issues(value: unknown): readonly Issue[]
}

const maxChars = 256 * 1024

/** Compiles a schema with patterns of one kind. @throws McpError 'INVALID' when it is not valid, or too large */
export function validatorOf(schema: unknown, patterns: Patterns, budget: number): Validator {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    throw new McpError('INVALID', 'The schema is not valid: it must be an object or a boolean')
  }
  if (textOf(schema).length > maxChars) {
    throw new McpError('INVALID', `The schema is not valid: it is larger than ${maxChars} characters`)
  }
  const root = new Compiler(new SchemaIndex(isObject(schema) ? schema : {}), patterns).compile(schema)

  let run = new Run(budget, false)
  const issues = (value: unknown): readonly Issue[] => {
    try {
      if (run.reset(budget).check(root, value)) return []
    } catch (error) {
      run = new Run(budget, false)
      if (error instanceof BudgetExceeded) return [{ path: '', message: error.message }]
      throw error
    }
    return explain(new Run(run.stepsLeft, true), root, value)
  }
  return {
    issues,
    check: (value) => {
      const problems = issues(value)
      return problems.length === 0 ? undefined : problems.map(issueText).join('; ')
    },
  }
}

function explain(run: Run, root: Node, value: unknown): readonly Issue[] {
  try {
    run.check(root, value)
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  return run.issues === undefined || run.issues.length === 0
    ? [{ path: '', message: 'does not match the schema, and is too expensive to say where' }]
    : run.issues
}

function issueText({ path, message }: Issue): string {
  return path === '' ? message : `${path} ${message}`
}

function textOf(schema: unknown): string {
  try {
    return JSON.stringify(schema)
  } catch {
    throw new McpError('INVALID', 'The schema is not valid: it cannot be written as JSON')
  }
}

/** Steps a check against a trusted schema may take. */
const trustedSteps = 20_000_000

/** Compiles a trusted schema, one of this program. @throws McpError 'INVALID' when it is not valid, or too large */
export function compileTrusted(schema: unknown, steps: number = trustedSteps): Validator {
  return validatorOf(schema, nativePatterns(), steps)
}
