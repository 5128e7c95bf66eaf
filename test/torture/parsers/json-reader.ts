/** A JSON value with every member that was written, in order, so that duplicates are kept. */
export type Read =
  | { kind: 'object'; members: [string, Read][] }
  | { kind: 'array'; items: Read[] }
  | { kind: 'plain'; value: string | number | boolean | null }

/** A second reader of JSON, written from its grammar and sharing nothing with ours; undefined for what is not JSON or nests too deep. */
export function readJson(text: string): Read | undefined {
  const reader = new Reader(text)
  try {
    return reader.whole()
  } catch (error) {
    if (error instanceof NotJson) return undefined
    throw error
  }
}

/** Whether an object at any depth names a member twice. */
export function repeats(read: Read): boolean {
  if (read.kind === 'array') return read.items.some(repeats)
  if (read.kind === 'plain') return false
  const names = new Set(read.members.map(([name]) => name))
  return names.size < read.members.length || read.members.some(([, value]) => repeats(value))
}

class NotJson extends Error {}

/** Far more than ours reads, and less than what fills the stack. */
const maxDepth = 600

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const blank = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings hold none of these.
const characters = /[^"\\\u0000-\u001f]*/y
const escapes = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
)
const words = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])

class Reader {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): Read {
    const value = this.#value()
    if (this.#at < this.#text.length) throw new NotJson()
    return value
  }

  #value(): Read {
    this.#match(blank)
    const read = this.#bare()
    this.#match(blank)
    return read
  }

  #bare(): Read {
    const c = this.#text[this.#at]
    if (c === '{') return this.#object()
    if (c === '[') return this.#array()
    if (c === '"') return { kind: 'plain', value: this.#string() }
    for (const [word, value] of words) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return { kind: 'plain', value }
      }
    }
    const digits = this.#match(number)
    if (digits === '') throw new NotJson()
    return { kind: 'plain', value: Number(digits) }
  }

  #object(): Read {
    const members: [string, Read][] = []
    this.#list('}', () => {
      this.#match(blank)
      const name = this.#string()
      this.#match(blank)
      this.#append(':')
      members.push([name, this.#value()])
    })
    return { kind: 'object', members }
  }

  #array(): Read {
    const items: Read[] = []
    this.#list(']', () => items.push(this.#value()))
    return { kind: 'array', items }
  }

  #list(end: string, one: () => void): void {
    this.#at++
    this.#match(blank)
    if (this.#text[this.#at] === end) {
      this.#at++
      return
    }
    if (++this.#depth > maxDepth) throw new NotJson()
    for (;;) {
      one()
      if (this.#text[this.#at] === end) {
        this.#at++
        this.#depth--
        return
      }
      this.#append(',')
    }
  }

  #string(): string {
    this.#append('"')
    let text = ''
    for (;;) {
      text += this.#match(characters)
      const c = this.#text[this.#at++]
      if (c === '"') return text
      if (c !== '\\') throw new NotJson()
      text += this.#escaped()
    }
  }

  #escaped(): string {
    const c = this.#text[this.#at++] ?? ''
    if (c !== 'u') {
      const meant = escapes.get(c)
      if (meant === undefined) throw new NotJson()
      return meant
    }
    const digits = this.#text.slice(this.#at, this.#at + 4)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new NotJson()
    this.#at += 4
    return String.fromCharCode(Number.parseInt(digits, 16))
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #append(c: string): void {
    if (this.#text[this.#at] !== c) throw new NotJson()
    this.#at++
  }
}
