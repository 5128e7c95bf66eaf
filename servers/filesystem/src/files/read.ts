import type { FileHandle } from 'node:fs/promises'
import type { OpenFile } from '../access/directory.ts'
import { describeErrors, FileError } from '../access/file-error.ts'
import type { Place } from '../access/resolve.ts'
import { byteOrderMarkLength, decoderOf, type Encoding, encodingOf, mediaTypeOf, sizeText } from './text.ts'

/** The lines to read; all by default. Lines count from 1. */
export type LineRange =
  | { readonly head: number }
  | { readonly tail: number }
  | { readonly from: number; readonly to: number }
  | undefined

/** Text of a file, or a part of it. */
export interface TextPart {
  readonly text: string
  readonly encoding: Encoding
  /** Bytes of the whole file. */
  readonly size: number
  /** The number of the first line, and of the last one; undefined if they are not known, as after `tail` of a long file. */
  readonly firstLine: number | undefined
  readonly lastLine: number | undefined
  /** Whether the limit of one result left out something that was requested. */
  readonly truncated: boolean
  /** Whether `text` is only the beginning of its one line. */
  readonly isLineCut?: boolean
  /** Lines of the file, if it was read to its end. */
  readonly lineCount?: number
}

/** A file that is not text. `code` is 'kind'. */
export class BinaryFileError extends FileError {
  readonly path: string
  readonly size: number
  readonly mediaType: string

  constructor(path: string, size: number) {
    const mediaType = mediaTypeOf(path) ?? 'application/octet-stream'
    super(
      'kind',
      `${path} is binary, or text in another encoding than UTF-8 and UTF-16: ${sizeText(size)}, ${mediaType}. ` +
        'Use read_media_file to get it, or encoding "latin1" to read it as text.',
    )
    this.path = path
    this.size = size
    this.mediaType = mediaType
  }
}

const chunkBytes = 65_536

/** Runs `use` with a regular file that is open for reading. @throws FileError */
export async function withFile<T>(place: Place, use: (file: OpenFile) => Promise<T>): Promise<T> {
  return describeErrors(`Cannot read ${place.path}`, async () => {
    const file = await place.directory.openFile(place.name)
    try {
      return await use(file)
    } finally {
      await file.handle.close()
    }
  })
}

/**
 * Reads bytes of a file, at most `limit`.
 * @param checkStart may throw for the first bytes, before the rest is read
 * @throws FileError 'limit' for a larger file
 */
export async function readBytes(
  { handle, stats }: OpenFile,
  path: string,
  limit: number,
  signal: AbortSignal,
  checkStart?: (start: Buffer) => void,
): Promise<Buffer> {
  const tooLargeError = (): FileError =>
    new FileError('limit', `${path} is larger than ${sizeText(limit)}, the limit of one call.`)
  if (stats.size > limit) throw tooLargeError()
  const chunks: Buffer[] = []
  let total = 0
  // Some files, such as those of /proc, report a size of 0 although they have content.
  for await (const chunk of chunksOf(handle, 0, signal)) {
    if (total === 0) checkStart?.(chunk)
    total += chunk.length
    if (total > limit) throw tooLargeError()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function* chunksOf(handle: FileHandle, from: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = from; ; ) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/**
 * Reads lines of a text file, in chunks, whatever its size. The result is cut at `limit` bytes of text, after a whole line where
 * there is one.
 * @param encoding Default: by the first bytes of the file
 * @throws BinaryFileError if it is not text
 */
export async function readText(
  file: OpenFile,
  path: string,
  options: { range: LineRange; encoding: Encoding | undefined; limit: number; signal: AbortSignal },
): Promise<TextPart> {
  const { stats, handle } = file
  const { range, limit, signal } = options
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, 0)
  const encoding = options.encoding ?? encodingOf(buffer.subarray(0, bytesRead))
  if (encoding === undefined) throw new BinaryFileError(path, stats.size)
  try {
    const decode = decoderOf(encoding, options.encoding === undefined)
    if (range !== undefined && 'tail' in range)
      return await readTail(file, range.tail, encoding, limit, signal)
    const [from, to] =
      range === undefined
        ? [1, Number.POSITIVE_INFINITY]
        : 'head' in range
          ? [1, range.head]
          : [range.from, range.to]
    const lines = new LineCollector(from, to, limit)
    for await (const chunk of chunksOf(handle, 0, signal)) {
      lines.add(decode(chunk, true))
      if (lines.isFull) break
    }
    if (!lines.isFull) lines.add(decode(new Uint8Array(0), false))
    return { ...lines.end(range === undefined), encoding, size: stats.size }
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw new BinaryFileError(path, stats.size)
    }
    throw error
  }
}

/** Collects the lines of a range from chunks of text. */
class LineCollector {
  /** Whether the range is complete, or the limit reached. */
  isFull = false
  readonly #from: number
  readonly #to: number
  readonly #limit: number
  readonly #parts: string[] = []
  #line = 1
  #isInLine = false
  #bytes = 0
  #jsonBytes = 0
  #truncated = false

  constructor(from: number, to: number, limit: number) {
    this.#from = from
    this.#to = to
    this.#limit = limit
  }

  add(chunk: string): void {
    for (let at = 0; at < chunk.length && !this.isFull; ) {
      const newline = chunk.indexOf('\n', at)
      const end = newline === -1 ? chunk.length : newline + 1
      if (this.#line >= this.#from) this.#collect(chunk.slice(at, end))
      this.#isInLine = newline === -1
      if (newline !== -1 && ++this.#line > this.#to) this.isFull = true
      at = end
    }
  }

  /** @param isWhole whether the newline at the end of the file belongs to the result */
  end(isWhole: boolean): Omit<TextPart, 'encoding' | 'size'> {
    let text = this.#parts.join('')
    const isLineCut = this.#truncated && !text.includes('\n')
    // Only whole lines, unless the first one alone is above the limit.
    if (this.#truncated && text.includes('\n')) text = text.slice(0, text.lastIndexOf('\n') + 1)
    const count = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return {
      text: isWhole && !this.#truncated ? text : text.replace(/\n$/, ''),
      firstLine: count === 0 ? undefined : this.#from,
      lastLine: count === 0 ? undefined : this.#from + count - 1,
      truncated: this.#truncated,
      isLineCut,
      ...(this.isFull ? {} : { lineCount: this.#isInLine ? this.#line : this.#line - 1 }),
    }
  }

  #collect(text: string): void {
    const bytes = Buffer.byteLength(text)
    const cost = jsonBytes(text)
    if (this.#bytes + bytes <= this.#limit && this.#jsonBytes + cost <= this.#limit * jsonFactor) {
      this.#bytes += bytes
      this.#jsonBytes += cost
      this.#parts.push(text)
      return
    }
    const rest = Math.floor(Math.min(this.#limit - this.#bytes, this.#limit - this.#jsonBytes / jsonFactor))
    this.#parts.push(truncateToBytes(text, rest))
    this.#truncated = true
    this.isFull = true
  }
}

/** Maximum ratio of the JSON size of a text to its limit, because escapes can multiply the size of a result. */
const jsonFactor = 2

/** Bytes of a text within a JSON string. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

/** The start of a text that fits into a number of bytes, also as JSON. */
function truncateToBytes(text: string, limit: number): string {
  let end = Math.min(text.length, limit)
  while (
    end > 0 &&
    (Buffer.byteLength(text.slice(0, end)) > limit || jsonBytes(text.slice(0, end)) > limit * jsonFactor)
  ) {
    end = Math.floor(end * 0.8)
  }
  // Do not split a surrogate pair.
  return text
    .slice(0, end)
    .toWellFormed()
    .replace(/\ufffd$/, '')
}

/** The last lines, read from the end of the file. */
async function readTail(
  { handle, stats }: OpenFile,
  count: number,
  encoding: Encoding,
  limit: number,
  signal: AbortSignal,
): Promise<TextPart> {
  const bomLength = byteOrderMarkLength(encoding)
  const isWide = encoding === 'utf-16le' || encoding === 'utf-16be'
  const lowest = Math.max(bomLength, stats.size - limit)
  // Align to the two-byte units of UTF-16.
  const floor = isWide ? lowest + ((lowest - bomLength) % 2) : lowest
  const chunks: Buffer[] = []
  let start = stats.size
  // One newline more than lines: the last line may end with one.
  for (let newlines = 0; start > floor && newlines <= count; ) {
    signal.throwIfAborted()
    const length = Math.min(chunkBytes, start - floor)
    start -= length
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start)
    const chunk = buffer.subarray(0, bytesRead)
    for (const byte of chunk) if (byte === 0x0a) newlines++
    chunks.unshift(chunk)
  }
  const isFromStart = start <= bomLength
  const lines = decoderOf(encoding, false)(Buffer.concat(chunks), false).replace(/\n$/, '').split('\n')
  // The first line of a part of the file may be incomplete.
  const whole = isFromStart || lines.length === 1 ? lines : lines.slice(1)
  const result: string[] = []
  let cost = 0
  for (const line of whole.slice(-count).reverse()) {
    cost += jsonBytes(line) + 2
    if (cost > limit * jsonFactor && result.length > 0) break
    result.unshift(truncateToBytes(line, limit))
  }
  return {
    text: result.join('\n'),
    encoding,
    size: stats.size,
    firstLine: isFromStart ? lines.length - result.length + 1 : undefined,
    lastLine: isFromStart ? lines.length : undefined,
    truncated: result.length < Math.min(count, isFromStart ? lines.length : count),
  }
}
