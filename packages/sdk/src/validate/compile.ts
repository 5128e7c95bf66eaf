import { isObject } from '../jsonrpc/parse.ts'
import {
  type Applicator,
  applicators,
  draft07Applicators,
  modernApplicators,
  reference,
  unevaluated,
} from './applicators.ts'
import { assertions } from './assertions.ts'
import type { Dialect } from './dialects.ts'
import { invalid } from './invalid.ts'
import type { Patterns } from './pattern.ts'
import type { Place, Places } from './places.ts'
import type { Check, Node, Resource, Run } from './run.ts'

type Builder = (keyword: Applicator) => Check | undefined

const { dependentRequired: _, ...draft07Assertions } = assertions

const keywords: Readonly<Record<Dialect, readonly (readonly [string, Builder])[]>> = {
  '2020-12': Object.entries({ ...assertions, ...modernApplicators, ...applicators, ...unevaluated }),
  'draft-07': Object.entries({ ...draft07Assertions, ...applicators, ...draft07Applicators }),
}

/** Makes runnable nodes of the subschemas of one schema, each once, however they refer to each other. */
export class Compiler {
  readonly #places: Places
  readonly #patterns: Patterns
  readonly #nodes = new Map<object, Node>()
  readonly #unbuilt: (() => void)[] = []
  /** Per dynamic anchor, what it stands for in each resource that has it. */
  readonly #anchored = new Map<string, ReadonlyMap<Resource, Node>>()

  constructor(places: Places, patterns: Patterns) {
    this.#places = places
    this.#patterns = patterns
  }

  /** Compiles a schema with everything it reaches. @throws McpError INVALID */
  compile(schema: unknown): Node {
    const node = this.#node(schema, this.#places.root, '')
    for (let build = this.#unbuilt.pop(); build !== undefined; build = this.#unbuilt.pop()) build()
    return node
  }

  #node(schema: unknown, parent: Place, keyword: string): Node {
    if (typeof schema === 'boolean') return this.#constant(schema, parent.resource)
    if (!isObject(schema)) throw invalid(parent.pointer, keyword, 'must be a schema: an object or a boolean')
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    const place = this.#places.get(schema, parent)
    const node: Node = { checks: [], late: [], resource: place.resource, plain: true }
    this.#nodes.set(schema, node)
    this.#unbuilt.push(() => this.#build(schema, node, place))
    return node
  }

  #constant(allows: boolean, resource: Resource): Node {
    const checks: Check[] = allows ? [] : [(_, run) => run.fail('must not be there')]
    return { checks, late: [], resource, plain: true }
  }

  #build(schema: Record<string, unknown>, node: Node, place: Place): void {
    if (place.dialect === 'draft-07' && schema['$ref'] !== undefined) {
      const check = reference?.(this.#applicator(schema, '$ref', place))
      if (check !== undefined) node.checks.push(check)
      return
    }
    for (const [name, builder] of keywords[place.dialect]) {
      if (!Object.hasOwn(schema, name) || schema[name] === undefined) continue
      const check = builder(this.#applicator(schema, name, place))
      const checks = Object.hasOwn(unevaluated, name) ? node.late : node.checks
      if (check !== undefined) checks.push(check)
    }
    node.plain = node.late.length === 0 && !this.#places.dynamic
  }

  #applicator(schema: Record<string, unknown>, name: string, place: Place): Applicator {
    return {
      value: schema[name],
      schema,
      patterns: this.#patterns,
      wrong: (what) => {
        throw invalid(place.pointer, name, what)
      },
      node: (child) => this.#node(child, place, name),
      reference: (to) => {
        const found = this.#places.resolve(to, place, name)
        const node = this.#node(found.schema, found.place, name)
        return () => node
      },
      dynamicReference: (to) => this.#dynamic(to, place, name),
    }
  }

  #dynamic(to: string, place: Place, keyword: string): (run: Run) => Node {
    const found = this.#places.resolve(to, place, keyword)
    const initial = this.#node(found.schema, found.place, keyword)
    const anchor = to.slice(to.indexOf('#') + 1)
    if (
      !found.place.resource.dynamicAnchors.has(anchor) ||
      found.schema !== found.place.resource.dynamicAnchors.get(anchor)
    ) {
      return () => initial
    }
    const targets = this.#anchored.get(anchor) ?? this.#targetsOf(anchor, place, keyword)
    return (run) => {
      run.look(run.scope.length)
      for (const resource of run.scope) {
        const target = targets.get(resource)
        if (target !== undefined) return target
      }
      return initial
    }
  }

  #targetsOf(anchor: string, place: Place, keyword: string): ReadonlyMap<Resource, Node> {
    const targets = new Map<Resource, Node>()
    this.#anchored.set(anchor, targets)
    for (const resource of this.#places.resources()) {
      const target = resource.dynamicAnchors.get(anchor)
      if (target !== undefined) targets.set(resource, this.#node(target, place, keyword))
    }
    return targets
  }
}
