import { LineReader } from './line-reader.ts'

const colonByte = 58

/** A comment that keeps an idle stream open. */
export const keepAlive = ': keep-alive\n\n'

/** One server-sent event. */
export interface ServerSentEvent {
  id?: string
  event?: string
  data: string
  /** Milliseconds to wait before reconnecting. */
  retry?: number
}

/** Encodes one event. `data` must not contain a carriage return; JSON text never does. */
export function encodeEvent(event: { id?: string; event?: string; data?: string; retry?: number }): string {
  let text = ''
  if (event.event !== undefined) text += `event: ${event.event}\n`
  if (event.id !== undefined) text += `id: ${event.id}\n`
  if (event.retry !== undefined) text += `retry: ${event.retry}\n`
  const data = event.data ?? ''
  text += data.includes('\n') ? data.replaceAll(/^/gm, 'data: ') : `data: ${data}`
  return `${text}\n\n`
}

/** Data lines of one event that are joined at a time. */
const blockLines = 1024

interface EventReaderOptions {
  maxBytes?: number
  onEvent(event: ServerSentEvent): void
  onTooLong?(): void
  /** Called for each event that is not UTF-8; its valid `id` and `retry` are still delivered, with empty data. */
  onNotUtf8?(): void
}

/** Parses an event stream. An event with only `id` or `retry` is delivered too, with empty data. */
export class EventReader {
  readonly #lines: LineReader
  readonly #options: EventReaderOptions
  readonly #maxChars: number
  #data: string[] = []
  /** Data lines joined already: many short strings take more memory than their characters. */
  #blocks: string[] = []
  #chars = 0
  #fields: { id?: string; event?: string; retry?: number } = {}
  #hasFields = false
  #invalid = false
  #atStart = true
  #ignored = 0

  constructor(options: EventReaderOptions) {
    this.#options = options
    this.#maxChars = options.maxBytes ?? 4 * 1024 * 1024
    this.#lines = new LineReader({
      maxBytes: this.#maxChars + 16,
      onLine: (text) => this.#line(text),
      onTooLong: () => this.#tooLong(),
      onNotUtf8: (bytes) => {
        this.#atStart = false
        if (bytes[0] !== colonByte) this.#invalid = true
      },
      keepEmpty: true,
    })
  }

  /** Lines since the last call that belong to no event: comments, unknown fields, empty lines between events. */
  takeIgnored(): number {
    const ignored = this.#ignored
    this.#ignored = 0
    return ignored
  }

  push(chunk: Uint8Array): void {
    this.#lines.push(chunk)
  }

  /** Ends the stream; an event without its final blank line is dropped (WHATWG HTML, section 9.2.6). */
  end(): void {
    this.#reset()
  }

  #line(raw: string): void {
    const text = this.#atStart && raw.startsWith('\uFEFF') ? raw.slice(1) : raw
    this.#atStart = false
    if (text === '') {
      this.#dispatch()
      return
    }
    const colon = text.indexOf(':')
    if (colon === 0) {
      this.#ignored++
      return
    }
    const field = colon === -1 ? text : text.slice(0, colon)
    const rest = colon === -1 ? '' : text.slice(colon + 1)
    this.#field(field, rest.startsWith(' ') ? rest.slice(1) : rest)
  }

  #field(name: string, value: string): void {
    if (name === 'data') {
      this.#chars += value.length + (this.#data.length + this.#blocks.length > 0 ? 1 : 0)
      if (this.#chars > this.#maxChars) {
        this.#tooLong()
        return
      }
      if (this.#data.push(value) === blockLines) {
        this.#blocks.push(this.#data.join('\n'))
        this.#data = []
      }
    } else if (name === 'event') {
      this.#fields.event = value
    } else if (name === 'id' && !value.includes('\0')) {
      this.#fields.id = value
    } else if (name === 'retry' && /^\d{1,9}$/.test(value)) {
      this.#fields.retry = Number(value)
    } else {
      this.#ignored++
      return
    }
    this.#hasFields = true
  }

  #dispatch(): void {
    if (!this.#hasFields && !this.#invalid) {
      this.#ignored++
      return
    }
    if (this.#invalid) {
      this.#data = []
      this.#blocks = []
      this.#options.onNotUtf8?.()
    }
    if (!this.#hasFields) {
      this.#reset()
      return
    }
    const event = { ...this.#fields, data: [...this.#blocks, ...this.#data].join('\n') }
    this.#reset()
    this.#options.onEvent(event)
  }

  #tooLong(): void {
    this.#reset()
    this.#options.onTooLong?.()
  }

  #reset(): void {
    this.#data = []
    this.#blocks = []
    this.#chars = 0
    this.#fields = {}
    this.#hasFields = false
    this.#invalid = false
  }
}
