import { closeSync, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tap } from './tap.ts'

const preload = new URL('./preload.ts', import.meta.url)

/** The messages on the standard streams of a program. */
export class Lines {
  readonly #folder = mkdtempSync(join(tmpdir(), 'jackfield-lines-'))
  readonly #path = join(this.#folder, 'lines')
  readonly #decoder = new TextDecoder()
  readonly #buffer = Buffer.alloc(65_536)
  #file: number | undefined
  #rest = ''

  /** Arguments for `node` that have the program write down its lines. */
  around(args: readonly string[]): string[] {
    const url = new URL(preload)
    url.search = encodeURIComponent(this.#path)
    return ['--import', url.href, ...args]
  }

  /** Shows the tap what was written down since the last time. */
  show(tap: Tap): void {
    const lines = `${this.#rest}${this.#news()}`.split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      const { from, line: text } = JSON.parse(line)
      tap.text(from, text)
    }
  }

  remove(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #news(): string {
    if (this.#file === undefined && !existsSync(this.#path)) return ''
    this.#file ??= openSync(this.#path, 'r')
    let text = ''
    for (;;) {
      const bytes = readSync(this.#file, this.#buffer)
      if (bytes === 0) return text
      text += this.#decoder.decode(this.#buffer.subarray(0, bytes), { stream: true })
    }
  }
}
