const maxKeptCharacters = 600

/** Splits the bytes of a connection into HTTP responses. Of each body, only the beginning and the end are stored. */
export class AnswerReader {
  /** The value of the last `Mcp-Session-Id` header. */
  session: string | undefined
  /** Occurrences of the counted text in all bodies. */
  counted = 0
  readonly #text: string | undefined
  /** Bytes not parsed yet: of a head, or of the line before a chunk. */
  #unparsed = ''
  /** Remaining bytes of the body or of its chunk; undefined while a head is read. */
  #remaining: number | undefined
  #chunked = false
  #body = ''
  #tail = ''

  constructor(counted?: string) {
    this.#text = counted
  }

  /** Returns the bodies completed by these bytes, each shortened in the middle. */
  read(chunk: Buffer): string[] {
    const bodies: string[] = []
    for (let at = 0; at < chunk.length || this.#remaining === 0; ) {
      if (this.#remaining === undefined) {
        at = this.#head(chunk, at)
      } else if (this.#remaining > 0) {
        const end = Math.min(chunk.length, at + this.#remaining)
        this.#append(chunk, at, end)
        this.#remaining -= end - at
        at = end
      } else if (this.#chunked) {
        if (at >= chunk.length) return bodies
        at = this.#size(chunk, at)
        if (this.#unparsed !== '') return bodies
      }
      if (this.#remaining === 0 && !this.#chunked) {
        bodies.push(this.#body + this.#tail)
        this.#body = ''
        this.#tail = ''
        this.#remaining = undefined
      }
    }
    return bodies
  }

  #head(chunk: Buffer, at: number): number {
    const had = this.#unparsed.length
    this.#unparsed += chunk.toString('latin1', at, chunk.length)
    const end = this.#unparsed.indexOf('\r\n\r\n')
    if (end < 0) return chunk.length
    const head = this.#unparsed.slice(0, end)
    this.#unparsed = ''
    const session = /^mcp-session-id: *(.+?)\r?$/im.exec(head)
    if (session !== null) this.session = session[1]
    this.#chunked = /^transfer-encoding: *chunked/im.test(head)
    this.#remaining = this.#chunked ? 0 : Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    return at + end + 4 - had
  }

  /** Reads the line with a chunk's size, together with the line break that ends the chunk before it. */
  #size(chunk: Buffer, at: number): number {
    const had = this.#unparsed.length
    const line = this.#unparsed + chunk.toString('latin1', at, Math.min(chunk.length, at + 32))
    const found = /^(?:\r\n)?([\da-f]+)\r\n/i.exec(line)
    const size = Number.parseInt(found?.[1] ?? '', 16)
    const end = (found?.[0].length ?? 0) + (size === 0 ? 2 : 0)
    if (found === null || line.length < end) {
      this.#unparsed = line
      return chunk.length
    }
    this.#unparsed = ''
    this.#remaining = size
    if (size === 0) this.#chunked = false
    return at + end - had
  }

  #append(chunk: Buffer, from: number, to: number): void {
    if (this.#body.length < maxKeptCharacters)
      this.#body += chunk.toString('latin1', from, Math.min(to, from + maxKeptCharacters))
    if (this.#text === undefined) {
      this.#tail = (this.#tail + chunk.toString('latin1', Math.max(from, to - maxKeptCharacters), to)).slice(
        -maxKeptCharacters,
      )
      return
    }
    // The tail is kept shorter than the text, so that nothing is counted twice.
    const text = this.#tail + chunk.toString('latin1', from, to)
    for (let at = text.indexOf(this.#text); at !== -1; at = text.indexOf(this.#text, at + 1)) this.counted++
    this.#body = text.slice(-maxKeptCharacters)
    this.#tail = text.slice(1 - this.#text.length)
  }
}
