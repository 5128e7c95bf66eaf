/** Finds the next place to blank, beginning at `from` or later: [start, end). */
export type Finder = (text: string, from: number) => readonly [number, number] | undefined

/** The scanners that are built in, each linear in the text: their repetitions are bounded or cannot overlap. */
export const scanners: Readonly<Record<'api-key' | 'bearer-token' | 'private-key' | 'email', Finder>> = {
  'api-key': matching(
    /(?<![A-Za-z0-9_-])(?:sk-|pk_live_|sk_live_|rk_live_|xox[abeoprs]-|gh[oprsu]_|github_pat_|glpat-|npm_|AIza|hf_|gsk_|AKIA|ASIA)[A-Za-z0-9_-]{12,400}/g,
  ),
  'bearer-token': matching(
    /(?<![A-Za-z0-9])bearer[ \t]{1,4}[A-Za-z0-9._~+/-]{8,4000}={0,2}|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{0,2000}/gi,
  ),
  'private-key': privateKey,
  email: matching(
    /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}/g,
  ),
}

function matching(pattern: RegExp): Finder {
  return (text, from) => {
    pattern.lastIndex = from
    const found = pattern.exec(text)
    return found === null ? undefined : [found.index, found.index + found[0].length]
  }
}

/** A key in PEM form; one whose end is missing reaches to the end of the text. */
function privateKey(text: string, from: number): readonly [number, number] | undefined {
  const head = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
  head.lastIndex = from
  const begin = head.exec(text)
  if (begin === null) return undefined
  const tail = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g
  tail.lastIndex = head.lastIndex
  return [begin.index, tail.exec(text) === null ? text.length : tail.lastIndex]
}
