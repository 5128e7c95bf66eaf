import { nativeRegex } from './native-regex.ts'

/** What a pattern is made of. */
export type PatternPart =
  | { type: 'char'; test: (codePoint: number) => boolean }
  | { type: 'assert'; kind: 'start' | 'end' | 'word' | 'not-word' }
  | { type: 'look'; body: PatternPart; negate: boolean }
  | { type: 'sequence'; items: PatternPart[] }
  | { type: 'choice'; options: PatternPart[] }
  | { type: 'repeat'; body: PatternPart; min: number; max: number }

/** Why a valid pattern cannot be run in linear time. */
export class Unsupported extends Error {
  override readonly name: string = 'Unsupported'
}

const maxNesting = 50

/** Takes a syntactically valid ECMAScript pattern apart. @throws Unsupported for back-references and look-behind. */
export function parsePattern(source: string): PatternPart {
  return new Reader(source).choice(0)
}

class Reader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  choice(nesting: number): PatternPart {
    if (nesting > maxNesting) throw new Unsupported('its groups nest too deep')
    const options = [this.#sequence(nesting)]
    while (this.#take('|')) options.push(this.#sequence(nesting))
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(nesting: number): PatternPart {
    const items: PatternPart[] = []
    while (this.#at < this.#source.length && !this.#sees('|') && !this.#sees(')')) {
      items.push(this.#quantified(this.#atom(nesting)))
    }
    return { type: 'sequence', items }
  }

  #quantified(body: PatternPart): PatternPart {
    const [min, max] = this.#quantifier() ?? [1, 1]
    if (min === 1 && max === 1) return body
    this.#take('?')
    return { type: 'repeat', body, min, max }
  }

  #quantifier(): [number, number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    const counts = /^\{(\d+)(,(\d*))?\}/.exec(this.#source.slice(this.#at, this.#at + 40))
    if (counts === null) return undefined
    this.#at += counts[0].length
    const min = Number(counts[1])
    if (counts[2] === undefined) return [min, min]
    return [min, counts[3] === '' ? Number.POSITIVE_INFINITY : Number(counts[3])]
  }

  #atom(nesting: number): PatternPart {
    if (this.#take('^')) return { type: 'assert', kind: 'start' }
    if (this.#take('$')) return { type: 'assert', kind: 'end' }
    if (this.#take('(')) return this.#group(nesting)
    if (this.#sees('[')) return { type: 'char', test: classTest(this.#class()) }
    if (this.#take('.')) return { type: 'char', test: classTest('.') }
    if (this.#sees('\\')) return this.#escape()
    const codePoint = this.#source.codePointAt(this.#at) ?? 0
    this.#at += codePoint > 0xffff ? 2 : 1
    return { type: 'char', test: (other) => other === codePoint }
  }

  #group(nesting: number): PatternPart {
    let look: 'ahead' | 'not-ahead' | undefined
    if (this.#take('?')) {
      if (this.#take('=')) look = 'ahead'
      else if (this.#take('!')) look = 'not-ahead'
      else if (this.#sees('<=') || this.#sees('<!')) throw new Unsupported('it looks behind')
      else if (this.#take('<')) this.#at = this.#source.indexOf('>', this.#at) + 1
      else if (!this.#take(':')) throw new Unsupported('it changes its flags')
    }
    const body = this.choice(nesting + 1)
    this.#take(')')
    return look === undefined ? body : { type: 'look', body, negate: look === 'not-ahead' }
  }

  #class(): string {
    const start = this.#at
    let end = start + 1
    while (end < this.#source.length && this.#source[end] !== ']') end += this.#source[end] === '\\' ? 2 : 1
    this.#at = end + 1
    return this.#source.slice(start, this.#at)
  }

  #escape(): PatternPart {
    const rest = this.#source.slice(this.#at, this.#at + 64)
    if (/^\\([1-9]|k)/.test(rest)) throw new Unsupported('it refers back to a group')
    const text =
      /^\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]+\}|.)/su.exec(
        rest,
      )?.[0] ?? rest
    this.#at += text.length
    if (text === '\\b') return { type: 'assert', kind: 'word' }
    if (text === '\\B') return { type: 'assert', kind: 'not-word' }
    return { type: 'char', test: classTest(text) }
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at)
  }

  #take(text: string): boolean {
    if (!this.#sees(text)) return false
    this.#at += text.length
    return true
  }
}

/** Leaves the meaning of one class or escape to the native engine, which sees a single character at a time. */
function classTest(text: string): (codePoint: number) => boolean {
  const native = nativeRegex(`^${text}$`)
  const known = new Uint8Array(128)
  return (codePoint) => {
    if (codePoint >= 128) return native.test(String.fromCodePoint(codePoint))
    if (known[codePoint] === 0) known[codePoint] = native.test(String.fromCodePoint(codePoint)) ? 1 : 2
    return known[codePoint] === 1
  }
}
