import { createHash } from 'node:crypto'

/** A digest of each variable's value; empty for an unset one. */
export function digests(env: NodeJS.ProcessEnv, names: Iterable<string>): Record<string, string> {
  return Object.fromEntries([...names].map((name) => [name, digest(name, env[name])]))
}

/** The variables whose current values differ from these digests. */
export function differing(env: NodeJS.ProcessEnv, known: Readonly<Record<string, string>>): string[] {
  return Object.entries(known).flatMap(([name, value]) => (digest(name, env[name]) === value ? [] : [name]))
}

function digest(name: string, value: string | undefined): string {
  if (value === undefined) return ''
  return createHash('sha256').update(`${name}=${value}`).digest('base64url').slice(0, 22)
}
