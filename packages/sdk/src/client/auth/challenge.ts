/** One challenge of a `WWW-Authenticate` header. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string
  /** By name in lower case; of a name given twice the first counts. */
  readonly params: ReadonlyMap<string, string>
}

const maxChars = 16_384
const separators = /[\t ,]*/y
const parameter = /([!#$%&'*+\-.^_`|~\w]+)[\t ]*=[\t ]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))(?=[\t ,]|$)/y
const scheme = /([!#$%&'*+\-.^_`|~\w]+)(?=[\t ,]|$)/y
const token68 = /[\t ]+[\w\-.~+/]+=*(?=[\t ]*(?:,|$))/y

/** The challenges of a header, several header lines joined by commas included; reading stops at what is none. */
export function challengesIn(header: string | null): Challenge[] {
  const text = (header ?? '').slice(0, maxChars)
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
export interface Wanted {
  readonly resourceMetadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
  /** The server wants proof of possession. */
  readonly dpop: boolean
}

/** What the challenges of one answer ask for, taken together. */
export function wantedIn(challenges: readonly Challenge[]): Wanted {
  const ours = challenges.filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const first = (name: string, among: readonly Challenge[]): string | undefined =>
    among.map(({ params }) => params.get(name)).find((value) => value !== undefined)
  const scope = first('scope', ours)
  return {
    resourceMetadata: first('resource_metadata', ours) ?? first('resource_metadata', challenges),
    scopes: scope === undefined ? undefined : scopesIn(scope),
    error: first('error', ours),
    dpop: ours.length > 0 && ours.every(({ scheme }) => scheme === 'dpop'),
  }
}

/** The scopes in a space-separated list, each once. */
export function scopesIn(text: string): string[] {
  return [...new Set(text.split(' ').filter((scope) => scope !== ''))]
}
