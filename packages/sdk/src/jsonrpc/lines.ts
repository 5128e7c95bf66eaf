import { ByteCollector } from './bytes.ts'

const newline = 10
const carriageReturn = 13
const defaultMaxBytes = 4 * 1024 * 1024

/** Cuts a byte stream into lines of text. Time is linear in the bytes, however they are chunked. */
export class LineReader {
  readonly #maxBytes: number
  readonly #onLine: (text: string) => void
  readonly #onTooLong: () => void
  readonly #onNotUtf8: (bytes: Uint8Array) => void
  readonly #keepEmpty: boolean
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  readonly #begun = new ByteCollector()
  #skipping = false

  /**
   * `onTooLong` is called once for each line over `maxBytes` (default 4 MiB); the rest of that line is skipped.
   * `onNotUtf8` is called in place of `onLine` for a line that is not UTF-8: with characters replaced it would be another.
   * Empty lines are left out unless `keepEmpty`.
   */
  constructor(options: {
    maxBytes?: number
    keepEmpty?: boolean
    onLine(text: string): void
    onTooLong(): void
    onNotUtf8(bytes: Uint8Array): void
  }) {
    this.#keepEmpty = options.keepEmpty ?? false
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes
    this.#onLine = options.onLine
    this.#onTooLong = options.onTooLong
    this.#onNotUtf8 = options.onNotUtf8
  }

  push(chunk: Uint8Array): void {
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(newline, from)
      if (at === -1) {
        this.#keep(chunk.subarray(from))
        return
      }
      if (this.#begun.length === 0 && !this.#skipping && at - from <= this.#maxBytes) {
        this.#deliver(chunk, from, at)
      } else {
        this.#keep(chunk.subarray(from, at))
        this.#finish()
      }
      from = at + 1
    }
  }

  /** Delivers what stands after the last newline, if anything. */
  end(): void {
    if (this.#begun.length > 0) this.#finish()
    this.#skipping = false
  }

  #keep(part: Uint8Array): void {
    if (this.#skipping || part.length === 0) return
    if (this.#begun.length + part.length > this.#maxBytes) {
      this.#begun.clear()
      this.#skipping = true
      this.#onTooLong()
      return
    }
    this.#begun.add(part)
  }

  #finish(): void {
    if (this.#skipping) {
      this.#skipping = false
      return
    }
    const bytes = this.#begun.take()
    this.#deliver(bytes, 0, bytes.length)
  }

  #deliver(bytes: Uint8Array, from: number, to: number): void {
    const end = to > from && bytes[to - 1] === carriageReturn ? to - 1 : to
    if (end === from && !this.#keepEmpty) return
    const line = bytes.subarray(from, end)
    const text = this.#decoded(line)
    if (text === undefined) this.#onNotUtf8(line)
    else this.#onLine(text)
  }

  #decoded(line: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(line)
    } catch {
      return undefined
    }
  }
}

/**
 * The JSON text of a message as one line for whoever reads it: U+2028 and U+2029, which JSON allows as they are, end a
 * line for some readers (Node's `readline` among them), so they are written as escapes.
 */
export function asLine(json: string): string {
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
