import { randomBytes } from 'node:crypto'

/** Milliseconds for which a ticket is valid. */
const ticketMs = 60_000
const maxTickets = 256
/** Bytes of one blob. */
const maxBlobBytes = 33_554_432
/** Bytes of all blobs that wait to be fetched. */
const maxWaitingBytes = 134_217_728

/** Images that a tab may show. SVG can contain scripts and is none of them. */
const imageTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
])

/** Content that a browser downloads with a ticket. */
export interface Download {
  /** File name. Default `download`. */
  readonly name?: string
  /** Sent as it is for an image that a tab may show (PNG, JPEG, GIF, WebP, AVIF); anything else is an opaque file. */
  readonly type?: string
  readonly bytes: Uint8Array
}

/** A download with the headers of its response. */
export interface SentDownload {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly disposition: string
}

/** A ticket for an upload, and the uploaded bytes. */
export interface UploadTicket {
  readonly ticket: string
  /** @throws Error if the upload does not begin within 60 s, or is interrupted */
  readonly uploaded: Promise<Uint8Array>
}

interface Upload {
  readonly maxBytes: number
  resolve(bytes: Uint8Array): void
  reject(error: Error): void
}

interface Waiting {
  readonly download?: SentDownload
  readonly upload?: Upload
  readonly timer: NodeJS.Timeout
}

/** Downloads and uploads that are too large for a frame, or that need an address. A ticket is valid once, for 60 s. */
export class Blobs {
  readonly #waiting = new Map<string, Waiting>()
  #waitingBytes = 0

  /**
   * Creates a ticket for a download: `GET /blob/<ticket>`.
   * @throws RangeError if the content is larger than 32 MiB, or if too many transfers or bytes are waiting
   */
  offer({ bytes, name = 'download', type = '' }: Download): string {
    requireSize(bytes.byteLength)
    if (this.#waitingBytes + bytes.byteLength > maxWaitingBytes)
      throw new RangeError('Too many downloads wait to be fetched. Try again in a minute.')
    const isImage = imageTypes.has(type)
    const disposition = isImage ? `inline; ${fileNameParameter(name)}` : attachmentDisposition(name)
    const contentType = isImage ? type : 'application/octet-stream'
    const ticket = this.#add({ download: { bytes, contentType, disposition } }, () => {})
    this.#waitingBytes += bytes.byteLength
    return ticket
  }

  /**
   * Creates a ticket for an upload: `PUT /blob/<ticket>`. `maxBytes`: the largest body that is accepted, 32 MiB by default.
   * @throws RangeError if `maxBytes` is more than 32 MiB, or if too many transfers are waiting
   */
  expect({ maxBytes = maxBlobBytes }: { maxBytes?: number } = {}): UploadTicket {
    requireSize(maxBytes)
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    promise.catch(() => {})
    const ticket = this.#add({ upload: { maxBytes, resolve, reject } }, () =>
      reject(new Error('The upload did not begin within 60 s')),
    )
    return { ticket, uploaded: promise }
  }

  /** Redeems the ticket of a download; undefined if it is unknown. */
  download(ticket: string): SentDownload | undefined {
    const { download } = this.#waiting.get(ticket) ?? {}
    if (download !== undefined) this.#remove(ticket)
    return download
  }

  /** Redeems the ticket of an upload; undefined if it is unknown. */
  upload(ticket: string): Upload | undefined {
    const { upload } = this.#waiting.get(ticket) ?? {}
    if (upload !== undefined) this.#remove(ticket)
    return upload
  }

  /** Invalidates every ticket; uploads that were not begun reject. */
  close(): void {
    for (const [ticket, { upload }] of this.#waiting) {
      this.#remove(ticket)
      upload?.reject(new Error('The web server ended'))
    }
  }

  #add(waiting: Omit<Waiting, 'timer'>, onExpired: () => void): string {
    if (this.#waiting.size >= maxTickets)
      throw new RangeError(`${maxTickets} transfers wait already. Try again in a minute.`)
    const ticket = randomBytes(16).toString('base64url')
    const timer = setTimeout(() => {
      this.#remove(ticket)
      onExpired()
    }, ticketMs)
    this.#waiting.set(ticket, { ...waiting, timer })
    return ticket
  }

  #remove(ticket: string): void {
    const waiting = this.#waiting.get(ticket)
    if (waiting === undefined) return
    clearTimeout(waiting.timer)
    this.#waiting.delete(ticket)
    this.#waitingBytes -= waiting.download?.bytes.byteLength ?? 0
  }
}

function requireSize(bytes: number): void {
  if (bytes > maxBlobBytes)
    throw new RangeError(`A blob has at most ${maxBlobBytes / 1_048_576} MiB; this one has ${bytes} bytes.`)
}

/** The value of `Content-Disposition` for a file that is saved under this name. */
export function attachmentDisposition(name: string): string {
  return `attachment; ${fileNameParameter(name)}`
}

/** The parameter `filename*` of a name (RFC 8187), without folders and control characters. */
function fileNameParameter(name: string): string {
  const safeName = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}/\\:]/gu, '_')
    .slice(0, 150)
    .toWellFormed()
  const encoded = encodeURIComponent(safeName)
  return `filename*=UTF-8''${encoded.replaceAll(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)}`
}
