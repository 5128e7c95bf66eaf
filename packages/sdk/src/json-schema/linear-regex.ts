import { nativeRegex } from './pattern.ts'

type PatternPart =
  | { type: 'char'; test: (codePoint: number) => boolean }
  | { type: 'assert'; kind: 'start' | 'end' | 'word' | 'not-word' }
  | { type: 'look'; body: PatternPart; negate: boolean }
  | { type: 'sequence'; items: PatternPart[] }
  | { type: 'choice'; options: PatternPart[] }
  | { type: 'repeat'; body: PatternPart; min: number; max: number }

/** A valid pattern that cannot run in linear time. */
export class Unsupported extends Error {
  override readonly name: string = 'Unsupported'
}

const maxNesting = 50

/** Parses a valid ECMAScript pattern. Throws Unsupported for back-references and look-behind. */
class PatternParser {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  choice(nesting: number): PatternPart {
    if (nesting > maxNesting) throw new Unsupported('its groups nest too deep')
    const options = [this.#sequence(nesting)]
    while (this.#accept('|')) options.push(this.#sequence(nesting))
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence(nesting: number): PatternPart {
    const items: PatternPart[] = []
    while (this.#at < this.#source.length && !this.#peek('|') && !this.#peek(')')) {
      items.push(this.#quantified(this.#atom(nesting)))
    }
    return { type: 'sequence', items }
  }

  #quantified(body: PatternPart): PatternPart {
    const [min, max] = this.#quantifier() ?? [1, 1]
    if (min === 1 && max === 1) return body
    this.#accept('?')
    return { type: 'repeat', body, min, max }
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

  #atom(nesting: number): PatternPart {
    if (this.#accept('^')) return { type: 'assert', kind: 'start' }
    if (this.#accept('$')) return { type: 'assert', kind: 'end' }
    if (this.#accept('(')) return this.#group(nesting)
    if (this.#peek('[')) return { type: 'char', test: classTest(this.#class()) }
    if (this.#accept('.')) return { type: 'char', test: classTest('.') }
    if (this.#peek('\\')) return this.#escape()
    const codePoint = this.#source.codePointAt(this.#at) ?? 0
    this.#at += codePoint > 0xffff ? 2 : 1
    return { type: 'char', test: (other) => other === codePoint }
  }

  #group(nesting: number): PatternPart {
    let look: 'ahead' | 'not-ahead' | undefined
    if (this.#accept('?')) {
      if (this.#accept('=')) look = 'ahead'
      else if (this.#accept('!')) look = 'not-ahead'
      else if (this.#peek('<=') || this.#peek('<!')) throw new Unsupported('it looks behind')
      else if (this.#accept('<')) this.#at = this.#source.indexOf('>', this.#at) + 1
      else if (!this.#accept(':')) throw new Unsupported('it changes its flags')
    }
    const body = this.choice(nesting + 1)
    this.#accept(')')
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

type Instruction =
  | { op: 'char'; test: (codePoint: number) => boolean }
  | { op: 'split'; to: number; or: number }
  | { op: 'jump'; to: number }
  | { op: 'assert'; kind: 'start' | 'end' | 'word' | 'not-word' }
  | { op: 'look'; body: Instruction[]; negate: boolean }
  | { op: 'match' }

const maxInstructions = 2000

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
  const assembler = new Assembler()
  const program = assembler.assemble(new PatternParser(source).choice(0))
  return {
    size: assembler.size,
    test: (text, spend) => search(program, text, 0, 'any', spend) !== undefined,
    find: (text, from, spend) => search(program, text, from, 'longest', spend),
  }
}

class Assembler {
  size = 0

  assemble(part: PatternPart): Instruction[] {
    const program: Instruction[] = []
    this.#emit(program, part)
    this.#push(program, { op: 'match' })
    return program
  }

  #push<I extends Instruction>(program: Instruction[], instruction: I): I {
    if (++this.size > maxInstructions) throw new Unsupported('it is too large')
    program.push(instruction)
    return instruction
  }

  #emit(program: Instruction[], part: PatternPart): void {
    switch (part.type) {
      case 'char':
        this.#push(program, { op: 'char', test: part.test })
        return
      case 'assert':
        this.#push(program, { op: 'assert', kind: part.kind })
        return
      case 'look':
        this.#push(program, { op: 'look', body: this.assemble(part.body), negate: part.negate })
        return
      case 'sequence':
        for (const item of part.items) this.#emit(program, item)
        return
      case 'choice':
        this.#emitChoice(program, part.options)
        return
      case 'repeat':
        this.#emitRepeat(program, part)
    }
  }

  #emitChoice(program: Instruction[], options: PatternPart[]): void {
    const exits: { op: 'jump'; to: number }[] = []
    for (const [index, option] of options.entries()) {
      const last = index === options.length - 1
      const split = last ? undefined : this.#push(program, { op: 'split', to: program.length + 1, or: 0 })
      this.#emit(program, option)
      if (split === undefined) break
      exits.push(this.#push(program, { op: 'jump', to: 0 }))
      split.or = program.length
    }
    for (const exit of exits) exit.to = program.length
  }

  #emitRepeat(program: Instruction[], part: { body: PatternPart; min: number; max: number }): void {
    for (let copies = 0; copies < part.min; copies++) {
      const before = program.length
      this.#emit(program, part.body)
      if (program.length === before) return
    }
    if (part.max === Number.POSITIVE_INFINITY) {
      const start = program.length
      const split = this.#push(program, { op: 'split', to: start + 1, or: 0 })
      this.#emit(program, part.body)
      this.#push(program, { op: 'jump', to: start })
      split.or = program.length
      return
    }
    const splits: { or: number }[] = []
    for (let copies = part.min; copies < part.max; copies++) {
      splits.push(this.#push(program, { op: 'split', to: program.length + 1, or: 0 }))
      this.#emit(program, part.body)
    }
    for (const split of splits) split.or = program.length
  }
}

/** The states at one position of the text, each once. */
class States {
  readonly list: number[] = []
  /** Where the attempt that reached each state started, earliest first. */
  readonly starts: number[] = []
  /** Where the earliest attempt that matches here started. */
  matchStart: number | undefined
  readonly #program: Instruction[]
  readonly #spend: (steps: number) => void
  readonly #marks: Uint8Array
  readonly #waiting: number[] = []

  constructor(program: Instruction[], spend: (steps: number) => void) {
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
          waiting.push(instruction.or, instruction.to)
          break
        case 'jump':
          waiting.push(instruction.to)
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
  program: Instruction[],
  text: string,
  from: number,
  mode: 'here' | 'any' | 'longest',
  spend: (steps: number) => void,
): [number, number] | undefined {
  let current = new States(program, spend)
  let next = new States(program, spend)
  let found: [number, number] | undefined
  let at = from
  spend(8 + (program.length >> 5))
  current.enter(0, text, at, at)
  for (;;) {
    const start = current.matchStart
    if (start !== undefined && (found === undefined || start <= found[0])) found = [start, at]
    if (found !== undefined && mode !== 'longest') return found
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined || (current.list.length === 0 && mode === 'here')) return found
    const after = at + (codePoint > 0xffff ? 2 : 1)
    spend(1 + (program.length >> 6) + (current.list.length >> 1))
    for (let index = 0; index < current.list.length; index++) {
      const state = current.list[index] ?? 0
      const began = current.starts[index] ?? at
      if (found !== undefined && began > found[0]) break
      const instruction = program[state]
      if (instruction?.op === 'char' && instruction.test(codePoint)) next.enter(state + 1, text, after, began)
    }
    if (found === undefined && mode !== 'here') next.enter(0, text, after, after)
    else if (next.list.length === 0 && next.matchStart === undefined) return found
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
