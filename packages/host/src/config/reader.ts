import { isRecord, type JsonRecord } from '../shared/json.ts'
import type { ConfigProblem } from '../types/index.ts'
import { type ConfigEnvironment, type ConfigFolders, expand, isSecretName, partsOf } from './variables.ts'

/** Values for expanding variables while a file is read. */
export interface Lookup {
  env: ConfigEnvironment
  folders: ConfigFolders
  /** Whether the file may be written by others; its variables with secret-like names are then not expanded. */
  foreign: boolean
}

/**
 * Reads values from a parsed file and collects problems. Each method returns undefined if the value is absent or invalid;
 * `failed` distinguishes the two.
 */
export interface Reader {
  /** File name for messages. */
  readonly file: string
  readonly failed: boolean
  problem(path: string, message: string): void
  warning(path: string, message: string): void
  text(value: unknown, path: string): string | undefined
  texts(value: unknown, path: string): string[] | undefined
  flag(value: unknown, path: string): boolean | undefined
  oneOf<T extends string>(value: unknown, path: string, known: readonly T[]): T | undefined
  milliseconds(value: unknown, path: string): number | undefined
  /** A whole number, `least` or more. */
  count(value: unknown, path: string, least: number): number | undefined
  record(value: unknown, path: string): JsonRecord | undefined
  /** A list; `read` reads one item, and an invalid item is left out. */
  list<T>(value: unknown, path: string, read: (item: unknown, path: string) => T | undefined): T[] | undefined
}

/** Creates a reader that adds its problems to a list. */
export function createReader(options: {
  file: string
  problems: ConfigProblem[]
  /** Expands variables in texts; otherwise they are kept and only validated. */
  lookup?: Lookup
}): Reader {
  const { file, lookup, problems } = options
  let failed = false
  const problem = (path: string, message: string): undefined => {
    failed = true
    problems.push({ file, path, severity: 'error', message })
  }
  const text = (value: unknown, path: string): string | undefined => {
    if (value === undefined) return undefined
    if (typeof value === 'number' || typeof value === 'boolean') {
      return problem(path, `must be text: write "${value}" in quotes`)
    }
    if (typeof value !== 'string') return problem(path, `must be text, not ${typeText(value)}`)
    if (lookup === undefined) {
      const read = partsOf(value)
      return 'problem' in read ? problem(path, read.problem) : value
    }
    const secret = lookup.foreign ? secretVariableIn(value) : undefined
    if (secret !== undefined)
      return problem(
        path,
        `uses ${secret} of your environment, which files of the working folder may not read here`,
      )
    const expanded = expand(value, lookup.env, lookup.folders)
    return 'problem' in expanded ? problem(path, expanded.problem) : expanded.text
  }
  const record = (value: unknown, path: string): JsonRecord | undefined => {
    if (value === undefined || isRecord(value)) return value
    return problem(path, `must be an object, not ${typeText(value)}`)
  }
  return {
    file,
    get failed() {
      return failed
    },
    problem,
    warning(path, message) {
      problems.push({ file, path, severity: 'warning', message })
    },
    text,
    record,
    list(value, path, read) {
      if (value === undefined) return undefined
      if (!Array.isArray(value)) return problem(path, `must be a list, not ${typeText(value)}`)
      return value.flatMap((item, index) => read(item, member(path, index)) ?? [])
    },
    texts(value, path) {
      if (value === undefined) return undefined
      if (!Array.isArray(value)) return problem(path, `must be a list of texts, not ${typeText(value)}`)
      return value.map((item, index) => text(item ?? null, member(path, index)) ?? '')
    },
    flag(value, path) {
      if (value === undefined || typeof value === 'boolean') return value
      return problem(path, `must be true or false, not ${typeText(value)}`)
    },
    oneOf(value, path, known) {
      if (value === undefined) return undefined
      const choice = known.find((item) => item === value)
      return choice ?? problem(path, `must be ${known.join(', ')}, not ${JSON.stringify(value)}`)
    },
    milliseconds(value, path) {
      if (value === undefined) return undefined
      if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 2_147_483_647)
        return value
      return problem(path, `must be a whole number of milliseconds, 1 or more, not ${JSON.stringify(value)}`)
    },
    count(value, path, least) {
      if (value === undefined) return undefined
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
      return problem(path, `must be a whole number, ${least} or more, not ${JSON.stringify(value)}`)
    },
  }
}

/** The first variable in a text whose name suggests a secret. */
function secretVariableIn(text: string): string | undefined {
  const read = partsOf(text)
  const parts = 'parts' in read ? read.parts : []
  for (const part of parts) if (part.kind === 'env' && isSecretName(part.name)) return part.written
  return undefined
}

/** Reports members of other names. */
export function reportUnknown(entry: object, path: string, known: readonly string[], reader: Reader): void {
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) reader.problem(member(path, name), `is unknown. Known are ${known.join(', ')}`)
  }
}

/** The JSON type of a value with an article, for messages. */
export function typeText(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** A configuration that cannot be used at all: unreadable, not JSON, or with an invalid policy. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError'
  /** The absolute path of the file. */
  readonly file: string
  /** The problems found in the file; empty if it could not be read. */
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, message: string, problems: readonly ConfigProblem[] = []) {
    super(`${file}: ${message}`)
    this.file = file
    this.problems = problems
  }
}

/** Path from the top of a document to a value. */
export type Path = readonly (string | number)[]

/** The path of a member, quoted where its name is not a plain word. */
export function member(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

/** A path as text: `mcpServers.github.env.TOKEN`. */
export function pathText(path: Path): string {
  return path.reduce<string>(member, '')
}

/** The steps of a path made by `pathText` or `member`; of any other text, as many as can be parsed. */
export function pathOf(text: string): Path {
  const steps = text.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([\w-]+)/g)
  return [...steps].map(([, index, quoted, word]) =>
    index !== undefined ? Number(index) : quoted !== undefined ? unquoted(quoted) : (word ?? ''),
  )
}

function unquoted(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted.slice(1, -1)
  }
}
