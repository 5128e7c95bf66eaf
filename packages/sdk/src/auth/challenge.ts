/** Parameters of one challenge, in the order they are written; undefined ones are left out. */
export type ChallengeParams = Readonly<Record<string, string | undefined>>

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const unsafe = /[^\t\x20-\x7E]/g

/**
 * One challenge of a `WWW-Authenticate` header. Every value is a quoted string; a character that no header may hold
 * becomes "?", so that no value can end the header or begin another challenge.
 * @throws TypeError for a scheme or a name that is no token
 */
export function challenge(scheme: string, params: ChallengeParams): string {
  const parts = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${requireToken(name)}=${quoted(value)}`],
  )
  return parts.length === 0 ? requireToken(scheme) : `${requireToken(scheme)} ${parts.join(', ')}`
}

function quoted(value: string): string {
  return `"${value.replace(unsafe, '?').replace(/["\\]/g, '\\$&')}"`
}

function requireToken(text: string): string {
  if (!token.test(text)) throw new TypeError(`"${text}" cannot stand in a challenge`)
  return text
}
