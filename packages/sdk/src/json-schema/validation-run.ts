import { McpError } from '../jsonrpc/error.ts'

/** A violation: the JSON pointer of the value, and a message. */
export interface Issue {
  /** JSON pointer of the value; empty for the whole value. */
  readonly path: string
  /** What is wrong, in one sentence. */
  readonly message: string
}

export interface Node {
  readonly checks: Check[]
  /** `unevaluatedProperties` and `unevaluatedItems`, which run last with the members and items evaluated before. */
  readonly deferred: Check[]
  /** The schema resource that contains it. */
  readonly resource: Resource
  /** Whether it needs neither evaluation tracking nor a dynamic scope. */
  plain: boolean
}

/** A schema resource: the root, and every subschema with `$id`. */
export interface Resource {
  readonly uri: string
  readonly schema: object
  readonly anchors: Map<string, object>
  readonly dynamicAnchors: Map<string, object>
}

/** A compiled keyword. Adds issues to the run if it collects them. */
export type Check = (value: unknown, run: Run) => boolean

class Evaluated {
  readonly names: Set<string> = new Set()
  allNames = false
  readonly items: Set<number> = new Set()
  /** Items before this index. */
  itemsBefore = 0

  /** Adds those of another. Returns the steps spent. */
  merge(other: Evaluated): number {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
    this.allNames ||= other.allNames
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore)
    return 2 * (other.names.size + other.items.size)
  }
}

export class BudgetExceeded extends Error {
  override readonly name: string = 'TooExpensive'
}

function tooExpensive(): BudgetExceeded {
  return new BudgetExceeded('is too expensive to check')
}

const maxDepth = 500
const maxIssues = 20
/** From this many members on, their names are cached. */
const longObject = 64

/** Validates values, bounded in steps and depth. */
export class Run {
  /** Issues so far; undefined to check validity only. */
  issues: Issue[] | undefined
  /** Whether an issue about alternatives explains the closest one. */
  explains = true
  /** What was evaluated in the current value; undefined if not needed. */
  evaluated: Evaluated | undefined
  /** The dynamic scope: schema resources entered, outermost first. */
  readonly scope: Resource[] = []
  readonly #path: (string | number)[] = []
  #names: WeakMap<object, readonly string[]> | undefined
  #steps: number
  #depth = 0

  constructor(steps: number, collect: boolean) {
    this.#steps = steps
    this.issues = collect ? [] : undefined
  }

  /** Whether more issues are collected. */
  get wantsMore(): boolean {
    return this.issues !== undefined && this.issues.length < maxIssues
  }

  /** Steps left. */
  get stepsLeft(): number {
    return this.#steps
  }

  /** Resets a finished run for another value. */
  reset(steps: number): this {
    this.#steps = steps
    this.#names = undefined
    return this
  }

  /** Spends steps: a subschema takes one, inspecting a member, an item or a keyword a fraction. */
  readonly spend = (steps: number): void => {
    this.#steps -= steps
    if (this.#steps < 0) throw tooExpensive()
  }

  /** Marks a member or item as evaluated, if needed. */
  markEvaluated(key: string | number): void {
    if (this.evaluated === undefined) return
    this.spend(2)
    if (typeof key === 'string') this.evaluated.names.add(key)
    else this.evaluated.items.add(key)
  }

  /** The names of the members that JSON would contain. */
  namesOf(object: Record<string, unknown>): readonly string[] {
    const known = this.#names?.get(object)
    if (known !== undefined) {
      this.spend(known.length >> 2)
      return known
    }
    const all = Object.keys(object)
    const names = all.filter((name) => object[name] !== undefined)
    if (all.length >= longObject) {
      this.spend(all.length >> 1)
      this.#names ??= new WeakMap()
      this.#names.set(object, names)
    }
    return names
  }

  /** Adds an issue about the current value; always false. */
  fail(message: string): false {
    if (this.issues !== undefined && this.issues.length < maxIssues) {
      this.issues.push({ path: this.#path.map((key) => `/${escaped(key)}`).join(''), message })
    }
    return false
  }

  /** Runs a subschema on the current value. */
  check(node: Node, value: unknown): boolean {
    if (--this.#steps < 0) throw tooExpensive()
    if (++this.#depth > maxDepth) throw new BudgetExceeded('nests too deep to check')
    const ok = node.plain ? this.#checkAll(node.checks, value) : this.#checkTracked(node, value)
    this.#depth--
    return ok
  }

  #checkAll(checks: readonly Check[], value: unknown): boolean {
    let ok = true
    for (const check of checks) {
      if (check(value, this)) continue
      ok = false
      if (!this.wantsMore) break
    }
    return ok
  }

  /** Whether all items pass. Stops at the first that does not, unless more issues are collected. */
  every<T>(items: Iterable<T>, passes: (item: T) => boolean): boolean {
    let ok = true
    for (const item of items) {
      if (passes(item)) continue
      ok = false
      if (!this.wantsMore) break
    }
    return ok
  }

  #checkTracked({ checks, deferred: late, resource }: Node, value: unknown): boolean {
    const outer = this.evaluated
    if (late.length > 0) this.evaluated = new Evaluated()
    this.scope.push(resource)
    const ok = this.#checkAll(checks, value) && this.#checkAll(late, value)
    this.scope.pop()
    if (late.length > 0) {
      if (ok && outer !== undefined && this.evaluated !== undefined) this.spend(outer.merge(this.evaluated))
      this.evaluated = outer
    }
    return ok
  }

  /** Runs a subschema on a member or item of the current value. */
  checkChild(node: Node, value: unknown, key: string | number): boolean {
    const { evaluated: seen, issues } = this
    this.evaluated = undefined
    if (issues !== undefined) this.#path.push(key)
    const ok = this.check(node, value)
    if (issues !== undefined) this.#path.pop()
    this.evaluated = seen
    return ok
  }

  /** Whether a subschema accepts the current value, without issues. Evaluated members count only if it does. */
  accepts(node: Node, value: unknown): boolean {
    const { issues, evaluated: seen } = this
    this.issues = undefined
    if (seen !== undefined) this.evaluated = new Evaluated()
    const ok = this.check(node, value)
    if (ok && seen !== undefined && this.evaluated !== undefined) this.spend(seen.merge(this.evaluated))
    this.issues = issues
    this.evaluated = seen
    return ok
  }

  /** The issues of a subschema, separate from those of the run. */
  issuesOf(node: Node, value: unknown): Issue[] {
    const { issues, evaluated: seen, explains } = this
    const subschemaIssues: Issue[] = []
    this.issues = subschemaIssues
    this.explains = false
    if (seen !== undefined) this.evaluated = new Evaluated()
    this.check(node, value)
    this.issues = issues
    this.explains = explains
    this.evaluated = seen
    return subschemaIssues
  }
}

function escaped(key: string | number): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Whether an object has a member that JSON would contain. */
export function has(object: Record<string, unknown>, name: string): boolean {
  return Object.hasOwn(object, name) && object[name] !== undefined
}

export function invalid(pointer: string, keyword: string, what: string): McpError {
  const where = keyword === '' ? pointer : `${pointer}/${keyword}`
  return new McpError('INVALID', `The schema is not valid: ${where === '' ? 'it' : `"${where}"`} ${what}`, {
    details: { pointer: where },
  })
}
