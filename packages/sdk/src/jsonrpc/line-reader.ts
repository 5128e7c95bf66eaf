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
  /** Called in place of `onLine` for a line that is not UTF-8: replacing characters would change its meaning. */
  onNotUtf8(bytes: Uint8Array): void
}

/** Splits a byte stream into lines of text, in linear time however it is chunked. */
export class LineReader {
  readonly #options: LineReaderOptions & { readonly maxBytes: number }
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  readonly #partial = new ByteCollector()
  #skipping = false

  constructor(options: LineReaderOptions) {
    this.#options = { ...options, maxBytes: options.maxBytes ?? defaultMaxBytes }
  }

  push(chunk: Uint8Array): void {
    const from = this.#partial.length === 0 && !this.#skipping ? 0 : this.#continueLine(chunk)
    const end = Math.max(from, chunk.lastIndexOf(newline) + 1)
    if (end > from) this.#deliverAll(chunk.subarray(from, end))
    if (chunk.length > end) this.#append(chunk.subarray(end))
  }

  /** Delivers the text after the last newline, if any. */
  end(): void {
    if (this.#partial.length > 0) this.#endLine()
    this.#skipping = false
  }

  /** Completes the line of an earlier chunk. Returns where the next line starts. */
  #continueLine(chunk: Uint8Array): number {
    const at = chunk.indexOf(newline)
    if (at === -1) {
      this.#append(chunk)
      return chunk.length
    }
    this.#append(chunk.subarray(0, at))
    this.#endLine()
    return at + 1
  }

  #append(part: Uint8Array): void {
    if (this.#skipping || part.length === 0) return
    if (this.#partial.length + part.length > this.#options.maxBytes) {
      this.#partial.clear()
      this.#skipping = true
      this.#options.onTooLong()
      return
    }
    this.#partial.add(part)
  }

  #endLine(): void {
    if (this.#skipping) {
      this.#skipping = false
      return
    }
    const bytes = this.#partial.drain()
    this.#deliver(bytes, 0, bytes.length)
  }

  /** Delivers complete lines. Decodes the block in one step unless a line may be too long or not UTF-8. */
  #deliverAll(block: Uint8Array): void {
    const text = block.length > this.#options.maxBytes ? undefined : this.#decode(block)
    if (text === undefined) this.#deliverEach(block)
    else this.#split(text)
  }

  #split(text: string): void {
    let from = 0
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
      const end = at > from && text.charCodeAt(at - 1) === carriageReturn ? at - 1 : at
      if (end > from || this.#options.keepEmpty === true) this.#options.onLine(text.slice(from, end))
      from = at + 1
    }
  }

  #deliverEach(block: Uint8Array): void {
    let from = 0
    for (let at = block.indexOf(newline); at !== -1; at = block.indexOf(newline, from)) {
      if (at - from > this.#options.maxBytes) this.#options.onTooLong()
      else this.#deliver(block, from, at)
      from = at + 1
    }
  }

  #deliver(bytes: Uint8Array, from: number, to: number): void {
    const end = to > from && bytes[to - 1] === carriageReturn ? to - 1 : to
    if (end === from && this.#options.keepEmpty !== true) return
    const line = bytes.subarray(from, end)
    const text = this.#decode(line)
    if (text === undefined) this.#options.onNotUtf8(line)
    else this.#options.onLine(text)
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes)
    } catch {
      return undefined
    }
  }
}

/** JSON text as one line for every reader: escapes U+2028 and U+2029, which some readers (Node's `readline`) treat as line ends. */
export function asLine(json: string): string {
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
