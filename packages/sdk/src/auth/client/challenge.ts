import { dropOldest } from '../../jsonrpc/rotating-map.ts'
import type { AuthTarget } from './discovery.ts'
import { authError } from './network.ts'

interface Challenge {
  /** In lower case. */
  readonly scheme: string
  /** By name in lower case; the first of duplicate names counts. */
  readonly params: ReadonlyMap<string, string>
}

const maxChallengeChars = 16_384
const separators = /[\t ,]*/y
const parameter = /([!#$%&'*+\-.^_`|~\w]+)[\t ]*=[\t ]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[\t ,]|$)/y
const scheme = /([!#$%&'*+\-.^_`|~\w]+)(?=[\t ,]|$)/y
const token68 = /[\t ]+[\w\-.~+/]+=*(?=[\t ]*(?:,|$))/y

/** The challenges of a header, which may combine several header lines; parsing stops at invalid input. */
export function parseChallenges(header: string | null): Challenge[] {
  const text = (header ?? '').slice(0, maxChallengeChars)
  const challenges: { scheme: string; params: Map<string, string> }[] = []
  let at = 0
  const accept = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  for (;;) {
    accept(separators)
    const current = challenges.at(-1)
    const param = current === undefined ? null : accept(parameter)
    if (param !== null) {
      const [, name = '', quoted, plain = ''] = param
      const key = name.toLowerCase()
      if (current?.params.has(key) === false) {
        current.params.set(key, quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, '$1'))
      }
      continue
    }
    const next = accept(scheme)
    if (next === null) return challenges
    challenges.push({ scheme: (next[1] ?? '').toLowerCase(), params: new Map() })
    accept(token68)
  }
}

/** The parameters of all challenges in a response that this client uses. */
export interface ChallengeParams {
  readonly resourceMetadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
  /** The server only accepts DPoP. */
  readonly dpop: boolean
}

export function combineChallenges(challenges: readonly Challenge[]): ChallengeParams {
  const ours = challenges.filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const first = (name: string, among: readonly Challenge[]): string | undefined =>
    among.map(({ params }) => params.get(name)).find((value) => value !== undefined)
  const scope = first('scope', ours)
  return {
    resourceMetadata: first('resource_metadata', ours) ?? first('resource_metadata', challenges),
    scopes: scope === undefined ? undefined : parseScopes(scope),
    error: first('error', ours),
    dpop: ours.length > 0 && ours.every(({ scheme }) => scheme === 'dpop'),
  }
}

export function parseScopes(text: string): string[] {
  return [...new Set(text.split(' ').filter((scope) => scope !== ''))]
}

const maxScopeChars = 4_096
const offline = 'offline_access'

/** The scopes of one authorization request; if empty, the parameter is omitted. */
export function selectScopes(
  status: number,
  challenge: ChallengeParams,
  target: AuthTarget,
  chosen: readonly string[] | undefined,
  before: readonly string[],
  lasting: boolean,
): string[] {
  const first = chosen ?? challenge.scopes ?? target.scopes ?? []
  const scopes = new Set([...before, ...(status === 403 ? (challenge.scopes ?? []) : first)])
  // Never the only scope: it would replace the server's default scopes.
  const lasts = target.metadata.scopes_supported?.includes(offline) === true
  if (lasting && lasts && scopes.size > 0) scopes.add(offline)
  const all = [...scopes]
  if (all.join(' ').length > maxScopeChars)
    throw authError('The server requires more scopes than a request may contain')
  return all
}

const forgetMs = 600_000
const maxRemembered = 100

/** Operations that were refused after a login for their scopes, so that the user is not asked again for ten minutes. */
export class FailedOperations {
  readonly #at = new Map<string, number>()

  add(key: string): void {
    this.#at.delete(key)
    this.#at.set(key, performance.now())
    dropOldest(this.#at, maxRemembered)
  }

  has(key: string): boolean {
    const at = this.#at.get(key)
    return at !== undefined && performance.now() - at < forgetMs
  }
}
