import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tap } from './tap.ts'

const preload = new URL('./preload.ts', import.meta.url)

/** What is said to a program and by it on its standard streams. */
export class Lines {
  readonly #folder = mkdtempSync(join(tmpdir(), 'jackfield-lines-'))
  readonly #file = join(this.#folder, 'lines')
  #read = 0

  /** Arguments for `node` that have the program write down its lines. */
  around(args: readonly string[]): string[] {
    const url = new URL(preload)
    url.search = encodeURIComponent(this.#file)
    return ['--import', url.href, ...args]
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
