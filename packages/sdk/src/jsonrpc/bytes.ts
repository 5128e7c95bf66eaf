const none = new Uint8Array()
// Created on first use: loading the class costs startup time.
let encoder: TextEncoder | undefined

export function utf8(text: string): ReturnType<TextEncoder['encode']> {
  encoder ??= new TextEncoder()
  return encoder.encode(text)
}

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(binary)
}

/** An array with a buffer of its own. TypeScript before 5.7 has no type parameter of `Uint8Array`. */
type OwnBytes = ReturnType<Uint8ArrayConstructor['from']>

/** Bytes of base64. @throws DOMException for anything else */
export function fromBase64(text: string): OwnBytes {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/** The length of a value's JSON text in UTF-8, in bytes. */
export function jsonBytes(value: object): number {
  return utf8(JSON.stringify(value)).length
}

/** Upper bound of the memory that collecting `length` bytes takes: the buffer grows by doubling. */
export function collectedBytes(length: number): number {
  return 2 * length
}

/** Concatenates chunks. Memory is at most about twice the bytes received, however small the chunks are. */
export class ByteCollector {
  #bytes: Uint8Array = none
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Adds a chunk. The caller must not change it until `drain`. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length
    if (this.#length === 0) {
      // Used without a copy: it has no spare capacity, so nothing is ever written into the caller's buffer.
      this.#bytes = piece
    } else {
      if (length > this.#bytes.length) this.#grow(Math.max(length, this.#bytes.length * 2))
      this.#bytes.set(piece, this.#length)
    }
    this.#length = length
  }

  /** Returns all bytes received and resets the collector. */
  drain(): Uint8Array {
    const all = this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length)
    this.clear()
    return all
  }

  clear(): void {
    this.#bytes = none
    this.#length = 0
  }

  #grow(to: number): void {
    const bytes = new Uint8Array(to)
    bytes.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = bytes
  }
}
