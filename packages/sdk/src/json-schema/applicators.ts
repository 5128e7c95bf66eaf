import { isObject } from '../jsonrpc/parse.ts'
import { count, dependentOn, formatValue, type Keyword, patternOf, plural, strings } from './assertions.ts'
import { type Check, has, type Issue, type Node, type Run } from './validation-run.ts'

/** The input of the builder of a keyword with subschemas. */
export interface Applicator extends Keyword {
  /** The schema with the keyword, for keywords that depend on each other. */
  readonly schema: Readonly<Record<string, unknown>>
  node(schema: unknown): Node
  reference(to: string): () => Node
  dynamicReference(to: string): (run: Run) => Node
}

interface Child {
  readonly name: string
  readonly child: Node
}

export type Builder = (keyword: Applicator) => Check | undefined

/** Keywords with subschemas of all supported dialects, in the order they run. */
export const applicators: Readonly<Record<string, Builder>> = {
  properties: (keyword) => {
    const children = nodes(keyword)
    return (value, run) => {
      if (!isObject(value)) return true
      run.spend(children.length >> 2)
      let ok = true
      for (const { name, child } of children) {
        if (!has(value, name)) continue
        run.markEvaluated(name)
        if (run.checkChild(child, value[name], name)) continue
        ok = false
        if (!run.wantsMore) break
      }
      return ok
    }
  },
  patternProperties: (keyword) => {
    const children = nodes(keyword).map(({ name, child }) => ({ pattern: patternOf(keyword, name), child }))
    return (value, run) => {
      if (!isObject(value)) return true
      return run.every(run.namesOf(value), (name) =>
        run.every(children, ({ pattern, child }) => {
          const result = pattern.test(name, run.spend)
          if (result === false) return true
          run.markEvaluated(name)
          if (result === true) return run.checkChild(child, value[name], name)
          return run.fail(`has names that cannot be checked against the pattern ${pattern.source}: ${result}`)
        }),
      )
    }
  },
  additionalProperties: (keyword) => {
    const child = keyword.node(keyword.value)
    const { properties, patternProperties } = keyword.schema
    const known = new Set(isObject(properties) ? Object.keys(properties) : [])
    const patterns = isObject(patternProperties)
      ? Object.keys(patternProperties).map((source) => patternOf(keyword, source))
      : []
    return (value, run) => {
      if (!isObject(value)) return true
      return run.every(run.namesOf(value), (name) => {
        if (known.has(name) || patterns.some((pattern) => pattern.test(name, run.spend) === true)) return true
        run.markEvaluated(name)
        if (keyword.value === false) return run.fail(`must not have the property ${formatValue(name)}`)
        return run.checkChild(child, value[name], name)
      })
    }
  },
  propertyNames: (keyword) => {
    const child = keyword.node(keyword.value)
    return (value, run) => {
      if (!isObject(value)) return true
      return run.every(
        run.namesOf(value),
        (name) =>
          acceptsElement(child, name, run) || run.fail(`must not have a property named ${formatValue(name)}`),
      )
    }
  },
  contains: (keyword) => {
    const { minContains, maxContains } = keyword.schema
    const min = minContains === undefined ? 1 : count({ ...keyword, value: minContains })
    const max =
      maxContains === undefined ? Number.POSITIVE_INFINITY : count({ ...keyword, value: maxContains })
    return contains(keyword, min, max)
  },
  allOf: (keyword) => {
    const children = list(keyword)
    return (value, run) => run.every(children, (child) => run.check(child, value))
  },
  anyOf: (keyword) => {
    const children = list(keyword)
    return (value, run) => {
      let ok = false
      for (const child of children) {
        if (run.accepts(child, value)) ok = true
        if (ok && run.evaluated === undefined) return true
      }
      return (
        ok || run.fail(`must match one of ${children.length} alternatives${closest(children, value, run)}`)
      )
    }
  },
  oneOf: (keyword) => {
    const children = list(keyword)
    return (value, run) => {
      let matches = 0
      for (const child of children) if (run.accepts(child, value)) matches++
      if (matches === 1) return true
      return run.fail(
        matches > 1
          ? `must match exactly one of ${children.length} alternatives but matches ${matches}`
          : `must match one of ${children.length} alternatives${closest(children, value, run)}`,
      )
    }
  },
  dependencies: (keyword) => {
    if (!isObject(keyword.value)) return keyword.reject('must be an object')
    const checks = Object.entries(keyword.value).map(([name, needs]) =>
      Array.isArray(needs)
        ? dependentOn(name, strings(keyword, needs))
        : dependents([{ name, child: keyword.node(needs) }]),
    )
    return (value, run) => {
      run.spend(checks.length >> 2)
      return checks.reduce((ok, check) => check(value, run) && ok, true)
    }
  },
  not: (keyword) => {
    const child = keyword.node(keyword.value)
    return (value, run) => {
      const { evaluated: seen } = run
      run.evaluated = undefined
      const ok = !run.accepts(child, value)
      run.evaluated = seen
      return ok || run.fail('must not match the schema in "not"')
    }
  },
  if: (keyword) => {
    const condition = keyword.node(keyword.value)
    const yes = keyword.schema['then'] === undefined ? undefined : keyword.node(keyword.schema['then'])
    const no = keyword.schema['else'] === undefined ? undefined : keyword.node(keyword.schema['else'])
    return (value, run) => {
      const next = run.accepts(condition, value) ? yes : no
      return next === undefined || run.check(next, value)
    }
  },
}

/** Keywords of 2020-12 only. */
export const draft2020Applicators: Readonly<Record<string, Builder>> = {
  $ref: (keyword) => {
    if (typeof keyword.value !== 'string') return keyword.reject('must be a string')
    const target = keyword.reference(keyword.value)
    return (value, run) => run.check(target(), value)
  },
  $dynamicRef: (keyword) => {
    if (typeof keyword.value !== 'string') return keyword.reject('must be a string')
    const target = keyword.dynamicReference(keyword.value)
    return (value, run) => run.check(target(run), value)
  },
  prefixItems: (keyword) => positional(list(keyword)),
  items: (keyword) => {
    const { prefixItems } = keyword.schema
    if (Array.isArray(keyword.value)) {
      return keyword.reject(
        'must be one schema; an array of schemas is written "prefixItems" in this dialect',
      )
    }
    return rest(keyword.node(keyword.value), Array.isArray(prefixItems) ? prefixItems.length : 0)
  },
  dependentSchemas: (keyword) => dependents(nodes(keyword)),
}

/** Keywords that run after all others. */
export const unevaluated: Readonly<Record<string, Builder>> = {
  unevaluatedItems: (keyword) => {
    const child = keyword.node(keyword.value)
    return (value, run) => {
      const { evaluated: seen } = run
      if (!Array.isArray(value) || seen === undefined) return true
      let ok = true
      for (let index = seen.itemsBefore; index < value.length; index++) {
        if (!seen.items.has(index) && !run.checkChild(child, value[index], index)) ok = false
        if (!ok && !run.wantsMore) return false
      }
      seen.itemsBefore = value.length
      return ok
    }
  },
  unevaluatedProperties: (keyword) => {
    const child = keyword.node(keyword.value)
    return (value, run) => {
      const { evaluated: seen } = run
      if (!isObject(value) || seen === undefined || seen.allNames) return true
      const ok = run.every(run.namesOf(value), (name) => {
        if (seen.names.has(name)) return true
        if (keyword.value === false) return run.fail(`must not have the property ${formatValue(name)}`)
        return run.checkChild(child, value[name], name)
      })
      if (ok || run.wantsMore) seen.allNames = true
      return ok
    }
  },
}

/** Keywords of draft-07 only. */
export const draft07Applicators: Readonly<Record<string, Builder>> = {
  contains: (keyword) => contains(keyword, 1, Number.POSITIVE_INFINITY),
  items: (keyword) => {
    if (!Array.isArray(keyword.value)) return rest(keyword.node(keyword.value), 0)
    return positional(keyword.value.map((schema) => keyword.node(schema)))
  },
  additionalItems: (keyword) => {
    const { items } = keyword.schema
    return Array.isArray(items) ? rest(keyword.node(keyword.value), items.length) : undefined
  },
}

/** `$ref` of draft-07, which overrides its siblings. */
export const reference: Builder | undefined = draft2020Applicators['$ref']

function nodes(keyword: Applicator): Child[] {
  if (!isObject(keyword.value)) return keyword.reject('must be an object')
  return Object.entries(keyword.value).map(([name, schema]) => ({ name, child: keyword.node(schema) }))
}

function list(keyword: Applicator): Node[] {
  if (!Array.isArray(keyword.value) || keyword.value.length === 0) {
    return keyword.reject('must be a non-empty array')
  }
  return keyword.value.map((schema) => keyword.node(schema))
}

function contains(keyword: Applicator, min: number, max: number): Check {
  const child = keyword.node(keyword.value)
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let count = 0
    for (const [index, item] of value.entries()) {
      if (!acceptsElement(child, item, run)) continue
      count++
      run.markEvaluated(index)
    }
    if (count < min) return run.fail(`must have at least ${plural(min, 'item')} that ${matches(min)}`)
    return count <= max || run.fail(`must have at most ${plural(max, 'item')} that ${matches(max)}`)
  }
}

function matches(number: number): string {
  return `${number === 1 ? 'matches' : 'match'} the schema in "contains"`
}

/** Checks items by their position: the first against the first child, and so on. */
function positional(children: Node[]): Check {
  return (value, run) => {
    if (!Array.isArray(value)) return true
    const reached = Math.min(children.length, value.length)
    let ok = true
    for (let index = 0; index < reached; index++) {
      const child = children[index]
      if (child !== undefined && !run.checkChild(child, value[index], index)) ok = false
      if (!ok && !run.wantsMore) return false
    }
    if (run.evaluated !== undefined) run.evaluated.itemsBefore = Math.max(run.evaluated.itemsBefore, reached)
    return ok
  }
}

/** Checks all items from an index on. */
function rest(child: Node, from: number): Check {
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let ok = true
    for (let index = from; index < value.length; index++) {
      if (!run.checkChild(child, value[index], index)) ok = false
      if (!ok && !run.wantsMore) return false
    }
    if (run.evaluated !== undefined) run.evaluated.itemsBefore = value.length
    return ok
  }
}

function dependents(children: Child[]): Check {
  return (value, run) => {
    if (!isObject(value)) return true
    run.spend(children.length >> 2)
    let ok = true
    for (const { name, child } of children) {
      if (has(value, name) && !run.check(child, value)) ok = false
    }
    return ok
  }
}

/** Whether a subschema accepts a member, an item or a name, without marking anything as evaluated. */
function acceptsElement(child: Node, value: unknown, run: Run): boolean {
  const { evaluated: seen } = run
  run.evaluated = undefined
  const ok = run.accepts(child, value)
  run.evaluated = seen
  return ok
}

/** The issue of the closest alternative: the one with the deepest, then the fewest issues. */
function closest(children: Node[], value: unknown, run: Run): string {
  if (run.issues === undefined || !run.explains) return ''
  let best: Issue[] | undefined
  let bestRank = Number.NEGATIVE_INFINITY
  for (const child of children) {
    const childIssues = run.issuesOf(child, value)
    const rank =
      Math.max(0, ...childIssues.map((issue) => issue.path.split('/').length)) * 100 - childIssues.length
    if (childIssues.length > 0 && rank > bestRank) {
      best = childIssues
      bestRank = rank
    }
  }
  const [first] = best ?? []
  return first === undefined
    ? ''
    : `; in the closest one: ${first.path}${first.path === '' ? '' : ' '}${first.message}`
}
