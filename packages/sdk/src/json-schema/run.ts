import { McpError } from '../jsonrpc/error.ts'

/** One thing wrong with a value: where, as a JSON pointer, and what. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** One subschema, ready to run. */
export interface Node {
  readonly checks: Check[]
  /** `unevaluatedProperties` and `unevaluatedItems`: run when all others hold, and told what those looked at. */
  readonly late: Check[]
  /** The schema resource it stands in. */
  readonly resource: Resource
  /** Whether neither of these matters to a run. */
  plain: boolean
}

/** A schema with a base URI of its own: the root, and every subschema with `$id`. */
export interface Resource {
  readonly uri: string
  readonly schema: object
  readonly anchors: Map<string, object>
  readonly dynamicAnchors: Map<string, object>
}

/** One keyword at work. Tells the run what is wrong, if the run wants to know. */
export type Check = (value: unknown, run: Run) => boolean

/** Members and items that some keyword already looked at. */
export class Evaluated {
  readonly names: Set<string> = new Set()
  allNames = false
  readonly items: Set<number> = new Set()
  /** Items before this index. */
  itemsTo = 0

  /** Takes over what another saw. Gives the steps that took. */
  merge(other: Evaluated): number {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
    this.allNames ||= other.allNames
    this.itemsTo = Math.max(this.itemsTo, other.itemsTo)
    return 2 * (other.names.size + other.items.size)
  }
}

/** The value costs more to check than allowed. */
export class TooExpensive extends Error {
  override readonly name: string = 'TooExpensive'
}

function tooMuch(): TooExpensive {
  return new TooExpensive('is too expensive to check')
}

const maxDepth = 500
const maxIssues = 20
/** Members from which on their names are found out once only. */
const longObject = 64

/** Checks one value after another, bounded in steps and depth. */
export class Run {
  /** What is wrong so far; undefined where only yes or no matters. */
  issues: Issue[] | undefined
  /** Whether an issue about alternatives tells what is wrong with the closest one. */
  explains = true
  /** What was looked at in the present value; undefined where nobody needs to know. */
  seen: Evaluated | undefined
  /** Schema resources entered, outermost first. */
  readonly scope: Resource[] = []
  readonly #path: (string | number)[] = []
  #names: WeakMap<object, readonly string[]> | undefined
  #steps: number
  #depth = 0

  constructor(steps: number, collect: boolean) {
    this.#steps = steps
    this.issues = collect ? [] : undefined
  }

  /** Whether what else is wrong would be told. */
  get wantsMore(): boolean {
    return this.issues !== undefined && this.issues.length < maxIssues
  }

  /** Steps that may still be taken. */
  get left(): number {
    return this.#steps
  }

  /** Makes a run that came to its end ready for another value. */
  again(steps: number): this {
    this.#steps = steps
    this.#names = undefined
    return this
  }

  readonly spend = (steps: number): void => {
    this.#steps -= steps
    if (this.#steps < 0) throw tooMuch()
  }

  /** Notes a member or an item that was looked at, where somebody needs to know. */
  saw(key: string | number): void {
    if (this.seen === undefined) return
    this.spend(2)
    if (typeof key === 'string') this.seen.names.add(key)
    else this.seen.items.add(key)
  }

  /** Pays for a look at so many members, items or words of a schema: several cost what one subschema does. */
  readonly look = (many: number): void => {
    this.spend(many >> 2)
  }

  /** The names of the members that JSON would write. */
  namesOf(object: Record<string, unknown>): readonly string[] {
    const known = this.#names?.get(object)
    if (known !== undefined) {
      this.look(known.length)
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

  /** Adds an issue about the present value, or about one of its members; always false. */
  fail(message: string): false {
    if (this.issues !== undefined && this.issues.length < maxIssues) {
      this.issues.push({ path: this.#path.map((key) => `/${escaped(key)}`).join(''), message })
    }
    return false
  }

  /** Runs a subschema on the present value. */
  here(node: Node, value: unknown): boolean {
    if (--this.#steps < 0) throw tooMuch()
    if (++this.#depth > maxDepth) throw new TooExpensive('nests too deep to check')
    const ok = node.plain ? this.#all(node.checks, value) : this.#watched(node, value)
    this.#depth--
    return ok
  }

  #all(checks: readonly Check[], value: unknown): boolean {
    let ok = true
    for (const check of checks) {
      if (check(value, this)) continue
      ok = false
      if (!this.wantsMore) break
    }
    return ok
  }

  #watched({ checks, late, resource }: Node, value: unknown): boolean {
    const outer = this.seen
    if (late.length > 0) this.seen = new Evaluated()
    this.scope.push(resource)
    const ok = this.#all(checks, value) && this.#all(late, value)
    this.scope.pop()
    if (late.length > 0) {
      if (ok && outer !== undefined && this.seen !== undefined) this.spend(outer.merge(this.seen))
      this.seen = outer
    }
    return ok
  }

  /** Runs a subschema on a member or item of the present value. */
  inside(node: Node, value: unknown, key: string | number): boolean {
    const { seen, issues } = this
    this.seen = undefined
    if (issues !== undefined) this.#path.push(key)
    const ok = this.here(node, value)
    if (issues !== undefined) this.#path.pop()
    this.seen = seen
    return ok
  }

  /** Whether a subschema holds for the present value, without telling what is wrong; what it looked at counts only if it does. */
  holds(node: Node, value: unknown): boolean {
    const { issues, seen } = this
    this.issues = undefined
    if (seen !== undefined) this.seen = new Evaluated()
    const ok = this.here(node, value)
    if (ok && seen !== undefined && this.seen !== undefined) this.spend(seen.merge(this.seen))
    this.issues = issues
    this.seen = seen
    return ok
  }

  /** What is wrong according to a subschema, apart from what the run collects. */
  complaints(node: Node, value: unknown): Issue[] {
    const { issues, seen, explains } = this
    const found: Issue[] = []
    this.issues = found
    this.explains = false
    if (seen !== undefined) this.seen = new Evaluated()
    this.here(node, value)
    this.issues = issues
    this.explains = explains
    this.seen = seen
    return found
  }
}

function escaped(key: string | number): string {
  return String(key).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Whether an object has a member that JSON would write. */
export function has(object: Record<string, unknown>, name: string): boolean {
  return Object.hasOwn(object, name) && object[name] !== undefined
}

/** Says which keyword of a schema breaks which rule. */
export function invalid(pointer: string, keyword: string, what: string): McpError {
  const where = keyword === '' ? pointer : `${pointer}/${keyword}`
  return new McpError('INVALID', `The schema is not valid: ${where === '' ? 'it' : `"${where}"`} ${what}`, {
    details: { pointer: where },
  })
}
