import { nativeRegex } from './pattern.ts'

type Instruction =
  | { op: 'char'; test: (codePoint: number) => boolean }
  /** Continues with the next instruction and with another one. */
  | { op: 'split'; or: number }
  | { op: 'jump'; to: number }
  | { op: 'assert'; kind: 'start' | 'end' | 'word' | 'not-word' }
  | { op: 'look'; body: Program; negate: boolean }
  | { op: 'match' }

/** Instructions that jump relative to their position, so that they can be repeated anywhere. */
type Program = readonly Instruction[]

/** A valid pattern that cannot run in linear time. */
export class UnsupportedPattern extends Error {
  override readonly name: string = 'Unsupported'
}

const maxNesting = 50
const maxInstructions = 2000

/** The number of instructions, including those of look-ahead. */
function sizeOf(program: Program): number {
  return program.reduce((size, one) => size + 1 + (one.op === 'look' ? sizeOf(one.body) : 0), 0)
}

function joined(parts: readonly Program[]): Program {
  const program = parts.flat()
  if (sizeOf(program) > maxInstructions) throw new UnsupportedPattern('it is too large')
  return program
}

/** Compiles a valid ECMAScript pattern. Throws Unsupported for back-references and look-behind. */
class PatternCompiler {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  /** The program of the pattern, or of a group in it. */
  compile(nesting = 0): Program {
    if (nesting > maxNesting) throw new UnsupportedPattern('its groups nest too deep')
    const options = [this.#sequence(nesting)]
    while (this.#accept('|')) options.push(this.#sequence(nesting))
    return options.reduceRight((others, option) =>
      joined([
        [{ op: 'split', or: option.length + 2 }],
        option,
        [{ op: 'jump', to: others.length + 1 }],
        others,
      ]),
    )
  }

  #sequence(nesting: number): Program {
    let program: Program = []
    while (this.#at < this.#source.length && !this.#peek('|') && !this.#peek(')')) {
      program = joined([program, this.#quantified(this.#atom(nesting))])
    }
    return program
  }

  #quantified(body: Program): Program {
    const counts = this.#quantifier()
    if (counts === undefined) return body
    this.#accept('?')
    const { length } = body
    const [min, max] = counts
    if (length === 0) return body
    if ((Number.isFinite(max) ? max : min) * length > maxInstructions)
      throw new UnsupportedPattern('it is too large')
    const required = Array.from({ length: min }, () => body)
    if (!Number.isFinite(max)) {
      return joined([...required, [{ op: 'split', or: length + 2 }], body, [{ op: 'jump', to: -length - 1 }]])
    }
    const optional = Array.from(
      { length: max - min },
      (_, at): Program => [{ op: 'split', or: (max - min - at) * (length + 1) }, ...body],
    )
    return joined([...required, ...optional])
  }

  #quantifier(): [number, number] | undefined {
    if (this.#accept('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#accept('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#accept('?')) return [0, 1]
    const counts = /^\{(\d+)(,(\d*))?\}/.exec(this.#source.slice(this.#at, this.#at + 40))
    if (counts === null) return undefined
    this.#at += counts[0].length
    const min = Number(counts[1])
    if (counts[2] === undefined) return [min, min]
    return [min, counts[3] === '' ? Number.POSITIVE_INFINITY : Number(counts[3])]
  }

  #atom(nesting: number): Program {
    if (this.#accept('(')) return this.#group(nesting)
    return [this.#single()]
  }

  #single(): Instruction {
    if (this.#accept('^')) return { op: 'assert', kind: 'start' }
    if (this.#accept('$')) return { op: 'assert', kind: 'end' }
    if (this.#peek('[')) return { op: 'char', test: classTest(this.#class()) }
    if (this.#accept('.')) return { op: 'char', test: classTest('.') }
    if (this.#peek('\\')) return this.#escape()
    const codePoint = this.#source.codePointAt(this.#at) ?? 0
    this.#at += codePoint > 0xffff ? 2 : 1
    return { op: 'char', test: (other) => other === codePoint }
  }

  #group(nesting: number): Program {
    let look: { negate: boolean } | undefined
    if (this.#accept('?')) {
      if (this.#accept('=')) look = { negate: false }
      else if (this.#accept('!')) look = { negate: true }
      else if (this.#peek('<=') || this.#peek('<!')) throw new UnsupportedPattern('it uses look-behind')
      else if (this.#accept('<')) this.#at = this.#source.indexOf('>', this.#at) + 1
      else if (!this.#accept(':')) throw new UnsupportedPattern('it changes flags')
    }
    const body = this.compile(nesting + 1)
    this.#accept(')')
    return look === undefined ? body : [{ op: 'look', body: withMatch(body), ...look }]
  }

  #class(): string {
    const start = this.#at
    let end = start + 1
    while (end < this.#source.length && this.#source[end] !== ']') end += this.#source[end] === '\\' ? 2 : 1
    this.#at = end + 1
    return this.#source.slice(start, this.#at)
  }

  #escape(): Instruction {
    const rest = this.#source.slice(this.#at, this.#at + 64)
    if (/^\\([1-9]|k)/.test(rest)) throw new UnsupportedPattern('it uses a back-reference')
    const text =
      /^\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]+\}|.)/su.exec(
        rest,
      )?.[0] ?? rest
    this.#at += text.length
    if (text === '\\b') return { op: 'assert', kind: 'word' }
    if (text === '\\B') return { op: 'assert', kind: 'not-word' }
    return { op: 'char', test: classTest(text) }
  }

  #peek(text: string): boolean {
    return this.#source.startsWith(text, this.#at)
  }

  #accept(text: string): boolean {
    if (!this.#peek(text)) return false
    this.#at += text.length
    return true
  }
}

/** A class or escape, tested by the native engine on one character. */
function classTest(text: string): (codePoint: number) => boolean {
  const native = nativeRegex(`^${text}$`)
  const known = new Uint8Array(128)
  return (codePoint) => {
    if (codePoint >= 128) return native.test(String.fromCodePoint(codePoint))
    if (known[codePoint] === 0) known[codePoint] = native.test(String.fromCodePoint(codePoint)) ? 1 : 2
    return known[codePoint] === 1
  }
}

/** A pattern that runs in time proportional to the text. */
export interface LinearRegex {
  /** The number of its instructions. */
  readonly size: number
  /** Whether the pattern matches anywhere in the text; `spend` is called with the steps and may throw. */
  test(text: string, spend: (steps: number) => void): boolean
  /** The leftmost-longest match that starts at `from` or later: [start, end). */
  find(text: string, from: number, spend: (steps: number) => void): readonly [number, number] | undefined
}

/**
 * Compiles a valid ECMAScript pattern into an automaton that runs without backtracking. @throws Unsupported for
 * back-references, look-behind, and patterns that are too large.
 */
export function linearRegex(source: string): LinearRegex {
  const program = withMatch(new PatternCompiler(source).compile())
  return {
    size: sizeOf(program),
    test: (text, spend) => search(program, text, 0, 'any', spend) !== undefined,
    find: (text, from, spend) => search(program, text, from, 'longest', spend),
  }
}

function withMatch(program: Program): Program {
  return joined([program, [{ op: 'match' }]])
}

/** The states at one position of the text, each once. */
class States {
  readonly list: number[] = []
  /** Where the attempt that reached each state started, earliest first. */
  readonly starts: number[] = []
  /** Where the earliest attempt that matches here started. */
  matchStart: number | undefined
  readonly #program: Program
  readonly #spend: (steps: number) => void
  readonly #marks: Uint8Array
  readonly #waiting: number[] = []

  constructor(program: Program, spend: (steps: number) => void) {
    this.#program = program
    this.#spend = spend
    this.#marks = new Uint8Array(program.length)
  }

  clear(): void {
    this.#marks.fill(0)
    this.list.length = 0
    this.starts.length = 0
    this.matchStart = undefined
  }

  /** Adds a state and all states reachable from it without a character. */
  enter(first: number, text: string, at: number, start: number): void {
    const waiting = this.#waiting
    waiting.push(first)
    let visited = 0
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      visited++
      if (this.#marks[state] === 1) continue
      this.#marks[state] = 1
      const instruction = this.#program[state]
      switch (instruction?.op) {
        case 'char':
          this.list.push(state)
          this.starts.push(start)
          break
        case 'split':
          waiting.push(state + instruction.or, state + 1)
          break
        case 'jump':
          waiting.push(state + instruction.to)
          break
        case 'assert':
          if (holds(instruction.kind, text, at)) waiting.push(state + 1)
          break
        case 'look':
          if (
            (search(instruction.body, text, at, 'here', this.#spend) !== undefined) !==
            instruction.negate
          ) {
            waiting.push(state + 1)
          }
          break
        case 'match':
          this.matchStart ??= start
      }
    }
    this.#spend(visited >> 1)
  }
}

/**
 * Runs a program from a position of the text.
 * @param mode `here` for a match that starts at this position, `any` for any match after it, `longest` for the leftmost-longest one
 * @returns where the match starts and ends; with `here` and `any` it is the first one found
 */
function search(
  program: Program,
  text: string,
  from: number,
  mode: 'here' | 'any' | 'longest',
  spend: (steps: number) => void,
): [number, number] | undefined {
  let current = new States(program, spend)
  let next = new States(program, spend)
  let match: [number, number] | undefined
  let at = from
  spend(8 + (program.length >> 5))
  current.enter(0, text, at, at)
  for (;;) {
    const start = current.matchStart
    if (start !== undefined && (match === undefined || start <= match[0])) match = [start, at]
    if (match !== undefined && mode !== 'longest') return match
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined || (current.list.length === 0 && mode === 'here')) return match
    const after = at + (codePoint > 0xffff ? 2 : 1)
    spend(1 + (program.length >> 6) + (current.list.length >> 1))
    for (let index = 0; index < current.list.length; index++) {
      const state = current.list[index] ?? 0
      const began = current.starts[index] ?? at
      if (match !== undefined && began > match[0]) break
      const instruction = program[state]
      if (instruction?.op === 'char' && instruction.test(codePoint)) next.enter(state + 1, text, after, began)
    }
    if (match === undefined && mode !== 'here') next.enter(0, text, after, after)
    else if (next.list.length === 0 && next.matchStart === undefined) return match
    const spent = current
    current = next
    next = spent
    next.clear()
    at = after
  }
}

function holds(kind: 'start' | 'end' | 'word' | 'not-word', text: string, at: number): boolean {
  if (kind === 'start') return at === 0
  if (kind === 'end') return at === text.length
  const boundary = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
  return boundary === (kind === 'word')
}

function isWord(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
  )
}
