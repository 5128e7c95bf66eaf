import type { ConfigProblem } from '../types/index.ts'

export type { ConfigProblem }

/** A config that cannot be used at all: unreadable, not JSON, or a policy that cannot be followed in full. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError'
  readonly file: string
  readonly problems: readonly ConfigProblem[]

  constructor(file: string, message: string, problems: readonly ConfigProblem[] = []) {
    super(`${file}: ${message}`)
    this.file = file
    this.problems = problems
  }
}

/** Steps from the top of a document to a value in it. */
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

/** The steps of a path that `pathText` or `member` made; of any other text, the steps that can be read. */
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
