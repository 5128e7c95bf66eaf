import { ByteCollector } from './bytes.ts'

const newline = 10
const carriageReturn = 13
const defaultMaxBytes = 4 * 1024 * 1024

export interface LineReaderOptions {
  /** Default 4 MiB. */
  maxBytes?: number
  /** Delivers empty lines too. Default false. */
  keepEmpty?: boolean
  onLine(text: string): void
  /** Called once for each line over `maxBytes`; the rest of that line is skipped. */
  onTooLong(): void
  /** Called in place of `onLine` for a line that is not UTF-8: with characters replaced it would be another. */
  onNotUtf8(bytes: Uint8Array): void
}

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

  constructor(options: LineReaderOptions) {
    this.#keepEmpty = options.keepEmpty ?? false
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes
    this.#onLine = options.onLine
    this.#onTooLong = options.onTooLong
    this.#onNotUtf8 = options.onNotUtf8
  }

  push(chunk: Uint8Array): void {
    const from = this.#begun.length === 0 && !this.#skipping ? 0 : this.#goOn(chunk)
    const end = Math.max(from, chunk.lastIndexOf(newline) + 1)
    if (end > from) this.#deliverAll(chunk.subarray(from, end))
    if (chunk.length > end) this.#keep(chunk.subarray(end))
  }

  /** Delivers what stands after the last newline, if anything. */
  end(): void {
    if (this.#begun.length > 0) this.#finish()
    this.#skipping = false
  }

  /** Takes the rest of a line that began before, and gives where the next one begins. */
  #goOn(chunk: Uint8Array): number {
    const at = chunk.indexOf(newline)
    if (at === -1) {
      this.#keep(chunk)
      return chunk.length
    }
    this.#keep(chunk.subarray(0, at))
    this.#finish()
    return at + 1
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

  /** Delivers lines that each have their end: decoded at once, unless one of them may have to be refused. */
  #deliverAll(block: Uint8Array): void {
    const text = block.length > this.#maxBytes ? undefined : this.#decoded(block)
    if (text === undefined) this.#deliverEach(block)
    else this.#cut(text)
  }

  #cut(text: string): void {
    let from = 0
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      const end = at > from && text.charCodeAt(at - 1) === carriageReturn ? at - 1 : at
      if (end > from || this.#keepEmpty) this.#onLine(text.slice(from, end))
      from = at + 1
    }
  }

  #deliverEach(block: Uint8Array): void {
    let from = 0
    for (let at = block.indexOf(newline); at !== -1; at = block.indexOf(newline, from)) {
      if (at - from > this.#maxBytes) this.#onTooLong()
      else this.#deliver(block, from, at)
      from = at + 1
    }
  }

  #deliver(bytes: Uint8Array, from: number, to: number): void {
    const end = to > from && bytes[to - 1] === carriageReturn ? to - 1 : to
    if (end === from && !this.#keepEmpty) return
    const line = bytes.subarray(from, end)
    const text = this.#decoded(line)
    if (text === undefined) this.#onNotUtf8(line)
    else this.#onLine(text)
  }

  #decoded(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes)
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
