/** Something in a config file that a person should put right. */
export interface ConfigProblem {
  /** The file, or `config` where the text came from elsewhere. */
  file: string
  /** Where in the file: `mcpServers.github.env.TOKEN`. */
  path: string
  /** An `error` leaves the entry out; a `warning` does not. */
  severity: 'error' | 'warning'
  /** What is wrong and what to do about it. */
  message: string
}

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

/** The path of a member, quoted where its name is not a plain word. */
export function member(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}
