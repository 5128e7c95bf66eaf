import { isRecord, type JsonRecord } from '../shared/json.ts'
import { type Path, pathText } from './reader.ts'

/** A problem that a format reader found. */
interface FieldMessage {
  path: Path
  message: string
}

/** A server entry converted to this project's form, with the source position of each value. */
export class Draft {
  readonly name: string
  /** Position of the whole entry. */
  readonly path: Path
  /** Why the entry cannot be used. */
  readonly errors: FieldMessage[] = []
  readonly warnings: FieldMessage[] = []
  readonly #values = new Map<string, unknown>()
  readonly #groups = new Map<string, Map<string, unknown>>()
  readonly #lists = new Map<string, unknown[]>()
  readonly #sources = new Map<string, Path>()

  constructor(name: string, path: Path) {
    this.name = name
    this.path = path
  }

  /** The entry so far. */
  get entry(): JsonRecord {
    return Object.fromEntries([
      ...this.#values,
      ...[...this.#groups].map(([name, members]) => [name, Object.fromEntries(members)] as const),
      ...[...this.#lists].map(([name, list]) => [name, [...list]] as const),
    ])
  }

  has(name: string): boolean {
    return this.#values.has(name) || this.#groups.has(name) || this.#lists.has(name)
  }

  /** Sets a value; undefined is ignored. */
  set(name: string, value: unknown, from: Path): this {
    if (value === undefined) return this
    this.#values.set(name, value)
    this.#sources.set(JSON.stringify([name]), from)
    return this
  }

  /** Sets one member of an object, such as a variable of `env`. */
  setIn(name: string, key: string, value: unknown, from: Path): this {
    if (value === undefined) return this
    const members = this.#groups.get(name) ?? new Map<string, unknown>()
    this.#groups.set(name, members.set(key, value))
    this.#sources.set(JSON.stringify([name, key]), from)
    return this
  }

  /** Sets all members of an object; any other value is kept for validation. */
  group(name: string, value: unknown, from: Path): this {
    if (!isRecord(value)) return this.set(name, value, from)
    if (!this.#groups.has(name)) this.#groups.set(name, new Map())
    this.#sources.set(JSON.stringify([name]), from)
    for (const [key, item] of Object.entries(value)) this.setIn(name, key, item, [...from, key])
    return this
  }

  /** Adds one item to a list, such as `args`. */
  add(name: string, value: unknown, from: Path): this {
    const list = this.#lists.get(name) ?? []
    this.#sources.set(JSON.stringify([name, list.length]), from)
    list.push(value)
    this.#lists.set(name, list)
    return this
  }

  addError(path: Path, message: string): this {
    this.errors.push({ path, message })
    return this
  }

  addWarning(path: Path, message: string): this {
    this.warnings.push({ path, message })
    return this
  }

  /** The source position of a value. */
  sourcePath(field: Path): Path {
    for (let length = field.length; length > 0; length--) {
      const from = this.#sources.get(JSON.stringify(field.slice(0, length)))
      if (from !== undefined) return [...from, ...field.slice(length)]
    }
    return [...this.path, ...field]
  }

  /** The same as text, for messages. */
  sourceText(...field: Path): string {
    return pathText(this.sourcePath(field))
  }
}
