import type { AuthTarget } from './discovery.ts'
import { authError } from './network.ts'

/** One challenge of a `WWW-Authenticate` header. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string
  /** By name in lower case; of a name given twice the first counts. */
  readonly params: ReadonlyMap<string, string>
}

const maxChallengeChars = 16_384
const separators = /[\t ,]*/y
const parameter = /([!#$%&'*+\-.^_`|~\w]+)[\t ]*=[\t ]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[\t ,]|$)/y
const scheme = /([!#$%&'*+\-.^_`|~\w]+)(?=[\t ,]|$)/y
const token68 = /[\t ]+[\w\-.~+/]+=*(?=[\t ]*(?:,|$))/y

/** The challenges of a header, several header lines joined by commas included; reading stops at what is none. */
export function parseChallenges(header: string | null): Challenge[] {
  const text = (header ?? '').slice(0, maxChallengeChars)
  const found: { scheme: string; params: Map<string, string> }[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  for (;;) {
    take(separators)
    const current = found.at(-1)
    const param = current === undefined ? null : take(parameter)
    if (param !== null) {
      const [, name = '', quoted, plain = ''] = param
      const key = name.toLowerCase()
      if (current?.params.has(key) === false) {
        current.params.set(key, quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, '$1'))
      }
      continue
    }
    const next = take(scheme)
    if (next === null) return found
    found.push({ scheme: (next[1] ?? '').toLowerCase(), params: new Map() })
    take(token68)
  }
}

/** What a refused request says about the credentials it wants. */
export interface ChallengeParams {
  readonly resourceMetadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
  /** The server wants proof of possession. */
  readonly dpop: boolean
}

/** What the challenges of one answer ask for, taken together. */
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

/** The scopes in a space-separated list, each once. */
export function parseScopes(text: string): string[] {
  return [...new Set(text.split(' ').filter((scope) => scope !== ''))]
}

const maxScopeChars = 4_096
const offline = 'offline_access'

/** Scopes for one authorization request; none means that the parameter is left out. */
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
  // Alone it would take the place of the scopes a server gives who asks for none.
  const lasts = target.metadata.scopes_supported?.includes(offline) === true
  if (lasting && lasts && scopes.size > 0) scopes.add(offline)
  const all = [...scopes]
  if (all.join(' ').length > maxScopeChars)
    throw authError('The server wants more scopes than can be asked for')
  return all
}

const forgetMs = 600_000
const maxRemembered = 100

/** Remembers which scopes were asked for in vain, so that nobody is asked for the same again and again. */
export class FailedOperations {
  readonly #at = new Map<string, number>()

  add(key: string): void {
    this.#at.delete(key)
    this.#at.set(key, performance.now())
    const [oldest] = this.#at.keys()
    if (this.#at.size > maxRemembered && oldest !== undefined) this.#at.delete(oldest)
  }

  has(key: string): boolean {
    const at = this.#at.get(key)
    return at !== undefined && performance.now() - at < forgetMs
  }
}
