const shown = 600

/** Cuts a connection's bytes into HTTP answers, and keeps of each body its beginning and its end. */
export class AnswerReader {
  /** What the last `Mcp-Session-Id` header said. */
  session: string | undefined
  /** How often the counted text came in bodies. */
  counted = 0
  readonly #text: string | undefined
  /** Bytes that are not understood yet: of a head, or of the line before a chunk. */
  #left = ''
  /** Bytes of the body, or of its chunk, that are still to come; undefined while a head is read. */
  #rest: number | undefined
  #chunked = false
  #body = ''
  #tail = ''

  constructor(counted?: string) {
    this.#text = counted
  }

  /** The bodies that are complete with these bytes, each shortened in its middle. */
  read(chunk: Buffer): string[] {
    const bodies: string[] = []
    for (let at = 0; at < chunk.length || this.#rest === 0; ) {
      if (this.#rest === undefined) {
        at = this.#head(chunk, at)
      } else if (this.#rest > 0) {
        const end = Math.min(chunk.length, at + this.#rest)
        this.#append(chunk, at, end)
        this.#rest -= end - at
        at = end
      } else if (this.#chunked) {
        if (at >= chunk.length) return bodies
        at = this.#size(chunk, at)
        if (this.#left !== '') return bodies
      }
      if (this.#rest === 0 && !this.#chunked) {
        bodies.push(this.#body + this.#tail)
        this.#body = ''
        this.#tail = ''
        this.#rest = undefined
      }
    }
    return bodies
  }

  #head(chunk: Buffer, at: number): number {
    const had = this.#left.length
    this.#left += chunk.toString('latin1', at, chunk.length)
    const end = this.#left.indexOf('\r\n\r\n')
    if (end < 0) return chunk.length
    const head = this.#left.slice(0, end)
    this.#left = ''
    const session = /^mcp-session-id: *(.+?)\r?$/im.exec(head)
    if (session !== null) this.session = session[1]
    this.#chunked = /^transfer-encoding: *chunked/im.test(head)
    this.#rest = this.#chunked ? 0 : Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    return at + end + 4 - had
  }

  /** Reads the line with a chunk's size, together with the line break that ends the chunk before it. */
  #size(chunk: Buffer, at: number): number {
    const had = this.#left.length
    const line = this.#left + chunk.toString('latin1', at, Math.min(chunk.length, at + 32))
    const found = /^(?:\r\n)?([\da-f]+)\r\n/i.exec(line)
    const size = Number.parseInt(found?.[1] ?? '', 16)
    const end = (found?.[0].length ?? 0) + (size === 0 ? 2 : 0)
    if (found === null || line.length < end) {
      this.#left = line
      return chunk.length
    }
    this.#left = ''
    this.#rest = size
    if (size === 0) this.#chunked = false
    return at + end - had
  }

  #append(chunk: Buffer, from: number, to: number): void {
    if (this.#body.length < shown) this.#body += chunk.toString('latin1', from, Math.min(to, from + shown))
    if (this.#text === undefined) {
      this.#tail = (this.#tail + chunk.toString('latin1', Math.max(from, to - shown), to)).slice(-shown)
      return
    }
    // The tail is kept shorter than the text, so that nothing is counted twice.
    const text = this.#tail + chunk.toString('latin1', from, to)
    for (let at = text.indexOf(this.#text); at !== -1; at = text.indexOf(this.#text, at + 1)) this.counted++
    this.#body = text.slice(-shown)
    this.#tail = text.slice(1 - this.#text.length)
  }
}
