const newline = 10
const carriageReturn = 13
const defaultMaxBytes = 4 * 1024 * 1024

/** Cuts a byte stream into lines of text. Time is linear in the bytes, however they are chunked. */
export class LineReader {
  readonly #maxBytes: number
  readonly #onLine: (text: string) => void
  readonly #onTooLong: () => void
  readonly #keepEmpty: boolean
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #parts: Uint8Array[] = []
  #length = 0
  #skipping = false

  /**
   * `onTooLong` is called once for each line over `maxBytes` (default 4 MiB); the rest of that line is skipped.
   * Empty lines are left out unless `keepEmpty`.
   */
  constructor(options: {
    maxBytes?: number
    keepEmpty?: boolean
    onLine(text: string): void
    onTooLong(): void
  }) {
    this.#keepEmpty = options.keepEmpty ?? false
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes
    this.#onLine = options.onLine
    this.#onTooLong = options.onTooLong
  }

  push(chunk: Uint8Array): void {
    let from = 0
    while (from < chunk.length) {
      const at = chunk.indexOf(newline, from)
      if (at === -1) {
        this.#keep(chunk.subarray(from))
        return
      }
      this.#keep(chunk.subarray(from, at))
      this.#finish()
      from = at + 1
    }
  }

  /** Delivers what stands after the last newline, if anything. */
  end(): void {
    if (this.#length > 0) this.#finish()
    this.#skipping = false
  }

  #keep(part: Uint8Array): void {
    if (this.#skipping || part.length === 0) return
    this.#length += part.length
    if (this.#length > this.#maxBytes) {
      this.#parts = []
      this.#length = 0
      this.#skipping = true
      this.#onTooLong()
      return
    }
    this.#parts.push(part)
  }

  #finish(): void {
    if (this.#skipping) {
      this.#skipping = false
      return
    }
    const bytes = this.#join()
    this.#parts = []
    this.#length = 0
    const end = bytes[bytes.length - 1] === carriageReturn ? bytes.length - 1 : bytes.length
    if (end > 0 || this.#keepEmpty) this.#onLine(this.#decoder.decode(bytes.subarray(0, end)))
  }

  #join(): Uint8Array {
    const only = this.#parts[0]
    if (only !== undefined && this.#parts.length === 1) return only
    const all = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      all.set(part, at)
      at += part.length
    }
    return all
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
