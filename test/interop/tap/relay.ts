import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tap } from './tap.ts'

const program = fileURLToPath(new URL('./relay-program.ts', import.meta.url))

/** A program that runs another one and writes down what is said to it and by it. */
export class Relay {
  readonly #folder = mkdtempSync(join(tmpdir(), 'jackfield-relay-'))
  readonly #file = join(this.#folder, 'lines')
  #read = 0

  /** What to start instead. */
  around(command: string, args: readonly string[]): { command: string; args: string[] } {
    return { command: process.execPath, args: [program, this.#file, command, ...args] }
  }

  /** Shows the tap what was written down since the last time. */
  show(tap: Tap): void {
    const lines = this.#lines()
    for (const line of lines.slice(this.#read)) {
      const { from, line: text } = JSON.parse(line)
      tap.text(from, text)
    }
    this.#read = lines.length
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #lines(): string[] {
    try {
      return readFileSync(this.#file, 'utf8').split('\n').slice(0, -1)
    } catch {
      // Nothing was said yet.
      return []
    }
  }
}
