import { basename, extname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One database to serve, as its target describes it. */
export type Target =
  | { kind: 'SQLite'; file: string; shown: string; secrets: readonly string[] }
  | { kind: 'PostgreSQL'; url: string; shown: string; secrets: readonly string[] }

/** Limits of one server. */
export interface Limits {
  /** Maximum rows of one page. Default 100. */
  maxRows: number
  /** Maximum bytes of the rows of one page as JSON. At least one row is returned, with long values cut. Default 100,000. */
  maxBytes: number
  /** Time limit of one call in milliseconds, including the wait for a connection but not for a person's answer. Default 30,000. */
  timeoutMs: number
  /** Milliseconds that a result is kept open for its next page. Default 60,000. */
  cursorMs: number
  /** Maximum number of open results; one client may have a quarter of them. Default 16. */
  maxCursors: number
  /** Maximum number of connections to one database, which for SQLite are processes. Default 4. */
  maxConnections: number
}

export const defaultLimits: Limits = {
  maxRows: 100,
  maxBytes: 100_000,
  timeoutMs: 30_000,
  cursorMs: 60_000,
  maxCursors: 16,
  maxConnections: 4,
}

const bounds: Readonly<Record<keyof Limits, readonly [min: number, max: number]>> = {
  maxRows: [1, 10_000],
  maxBytes: [1_000, 2_000_000],
  timeoutMs: [100, 3_600_000],
  cursorMs: [1_000, 600_000],
  maxCursors: [1, 1_000],
  maxConnections: [1, 64],
}

/** The default limits with overrides. @throws TypeError naming the limit that is out of its bounds */
export function limitsOf(overrides: Partial<Limits> = {}): Limits {
  const limits = { ...defaultLimits, ...overrides }
  const values = new Map(Object.entries(limits))
  for (const [name, [min, max]] of Object.entries(bounds)) {
    const value = values.get(name)
    if (value === undefined || !Number.isInteger(value) || value < min || value > max) {
      throw new TypeError(`"${name}" must be a whole number from ${min} to ${max}, not ${value}`)
    }
  }
  return limits
}

const databaseName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Databases by name from arguments of the form `name=target`; the path of a SQLite file alone is named after the file.
 * @throws TypeError naming the argument
 */
export function parseDatabases(args: readonly string[]): Record<string, string> {
  const databases = new Map<string, string>()
  for (const arg of args) {
    const named = /^([^=/\\]+)=(.*)$/s.exec(arg)
    const [name = '', target = ''] = named?.slice(1) ?? [basename(arg, extname(arg)), arg]
    if (/^(postgres(ql)?|env):/.test(arg)) {
      throw new TypeError(
        'A database that is not a file needs a name: write name=postgres://… or name=env:VARIABLE',
      )
    }
    if (databases.has(name)) throw new TypeError(`Two databases have the name "${name}"`)
    databases.set(name, target)
  }
  return Object.fromEntries(databases)
}

/**
 * Reads the target of a database: a path, a `postgres://` URL, or `env:` with the name of a variable that contains either.
 * @throws TypeError without the target, which may contain a password
 */
export function parseTarget(
  name: string,
  target: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Target {
  if (!databaseName.test(name)) {
    throw new TypeError(
      `"${name}" cannot be the name of a database: use up to 64 letters, digits, "_" and "-"`,
    )
  }
  if (!target.startsWith('env:')) return targetOf(name, target, undefined)
  const variable = target.slice('env:'.length)
  const value = env[variable]
  if (value === undefined || value === '') {
    throw new TypeError(`Database "${name}": the environment variable ${variable} is not set`)
  }
  return targetOf(name, value, target)
}

/** @param shown the text for clients; default: the target without its password */
function targetOf(name: string, target: string, shown: string | undefined): Target {
  if (/^postgres(ql)?:\/\//.test(target)) {
    const { shownUrl, secrets } = withoutPassword(name, target)
    return { kind: 'PostgreSQL', url: target, shown: shown ?? shownUrl, secrets }
  }
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(target)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'file') {
    throw new TypeError(
      `Database "${name}": "${scheme}:" is not supported. Give the path of a SQLite file, a postgres:// URL, or env: with the name of a variable`,
    )
  }
  if (target === '' || target === ':memory:') {
    throw new TypeError(`Database "${name}": give the path of a SQLite file`)
  }
  const file = resolve(scheme === 'file' ? fileURLToPath(target) : target)
  return { kind: 'SQLite', file, shown: shown ?? target, secrets: [] }
}

function withoutPassword(name: string, target: string): { shownUrl: string; secrets: string[] } {
  if (!URL.canParse(target)) throw new TypeError(`Database "${name}": its URL is not valid`)
  const url = new URL(target)
  const secrets = [
    url.password,
    url.searchParams.get('password') ?? '',
    url.searchParams.get('sslpassword') ?? '',
  ]
  url.password = ''
  url.search = ''
  const decoded = secrets.flatMap((secret) => [secret, decodeOrRaw(secret)])
  return { shownUrl: url.href, secrets: [...new Set(decoded)].filter((secret) => secret !== '') }
}

function decodeOrRaw(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
