import { type PatternPart, parsePattern, Unsupported } from './regex-parts.ts'

type Instruction =
  | { op: 'char'; test: (codePoint: number) => boolean }
  | { op: 'split'; to: number; or: number }
  | { op: 'jump'; to: number }
  | { op: 'assert'; kind: 'start' | 'end' | 'word' | 'not-word' }
  | { op: 'look'; body: Instruction[]; negate: boolean }
  | { op: 'match' }

const maxInstructions = 2000

/** A pattern that takes time proportional to the text, whatever the pattern. */
export interface LinearRegex {
  /** How many instructions it became. */
  readonly size: number
  /** Whether the pattern is found anywhere in the text; `spend` hears of the work done and may throw. */
  test(text: string, spend: (steps: number) => void): boolean
  /** The leftmost match that begins at `from` or later, the longest of those that begin there: [start, end). */
  find(text: string, from: number, spend: (steps: number) => void): readonly [number, number] | undefined
}

/**
 * Compiles a syntactically valid ECMAScript pattern into states that are followed all at once, so that nothing is
 * ever tried again. @throws Unsupported for back-references, look-behind, and patterns that grow too large.
 */
export function linearRegex(source: string): LinearRegex {
  const assembler = new Assembler()
  const program = assembler.assemble(parsePattern(source))
  return {
    size: assembler.size,
    test: (text, spend) => follow(program, text, 0, true, spend),
    find: (text, from, spend) => search(program, text, from, spend),
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

/** The states reached at one place of the text, each once. */
class States {
  readonly list: number[] = []
  /** Where the attempt began that reached each state of the list, the earliest first. */
  readonly starts: number[] = []
  matched = false
  /** Where the earliest attempt began that is a match here. */
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
    this.matched = false
    this.matchStart = undefined
  }

  /** Adds a state and everything reached from it without taking a character. */
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
          if (follow(instruction.body, text, at, false, this.#spend) !== instruction.negate) {
            waiting.push(state + 1)
          }
          break
        case 'match':
          this.matched = true
          this.matchStart ??= start
      }
    }
    this.#spend(visited >> 1)
  }
}

function follow(
  program: Instruction[],
  text: string,
  from: number,
  searching: boolean,
  spend: (steps: number) => void,
): boolean {
  let current = new States(program, spend)
  let next = new States(program, spend)
  spend(8 + (program.length >> 5))
  let at = from
  current.enter(0, text, at, at)
  while (!current.matched) {
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined || (current.list.length === 0 && !searching)) return false
    const after = at + (codePoint > 0xffff ? 2 : 1)
    spend(1 + (program.length >> 6) + (current.list.length >> 1))
    for (const state of current.list) {
      const instruction = program[state]
      if (instruction?.op === 'char' && instruction.test(codePoint)) next.enter(state + 1, text, after, from)
    }
    if (searching) next.enter(0, text, after, after)
    const spent = current
    current = next
    next = spent
    next.clear()
    at = after
  }
  return true
}

function search(
  program: Instruction[],
  text: string,
  from: number,
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
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined) return found
    const after = at + (codePoint > 0xffff ? 2 : 1)
    spend(1 + (program.length >> 6) + (current.list.length >> 1))
    for (const [place, state] of current.list.entries()) {
      const began = current.starts[place] ?? at
      if (found !== undefined && began > found[0]) break
      const instruction = program[state]
      if (instruction?.op === 'char' && instruction.test(codePoint)) next.enter(state + 1, text, after, began)
    }
    if (found === undefined) next.enter(0, text, after, after)
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
