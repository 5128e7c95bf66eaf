import { ToolError } from '@jackfield/sdk'
import { convertInThread } from './converter.ts'
import { Guard } from './guard.ts'
import { Network } from './network.ts'
import { Robots } from './robots.ts'
import { decodeText, looksLikeText, visibleText } from './text.ts'
import {
  type Fetched,
  type FetchedImage,
  type FetchOptions,
  type Format,
  type Initiator,
  limits,
  type Page,
} from './types.ts'

/** Fetches a URL and converts the response to a page or an image, by its media type. */

export const version = '0.1.0'
const home = 'https://github.com/jackfield/jackfield/tree/main/servers/fetch'

/** One fetch. `initiator`: robots.txt is checked for a model only. */
export interface FetchRequest {
  readonly url: string
  readonly format: Format
  readonly initiator: Initiator
}

const accept =
  'text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.9, image/png, image/jpeg, image/gif, image/webp, */*;q=0.5'
/** The first bytes of the image types that are returned. */
const imageSignatures: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG\r\n/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8[79]a/,
  'image/webp': /^RIFF.{4}WEBP/s,
}
const textTypes =
  /^(?:text\/.*|application\/(?:.*\+(?:json|xml|yaml)|json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|x-ndjson|jsonl|sql|graphql|rtf)|image\/svg\+xml|message\/.*)$/
const genericTypes = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/unknown'])

/** Fetches pages for one server. */
export class Fetcher {
  readonly #network: Network
  readonly #robots: Record<Initiator, Robots | undefined>
  readonly #userAgents: Record<Initiator, string>
  readonly #timeoutMs: number

  /** @throws TypeError for an option that cannot be used */
  constructor(options: FetchOptions) {
    const { userAgent, ignoreRobots = false, timeoutSeconds = 30 } = options
    if (!(timeoutSeconds > 0 && timeoutSeconds <= 600)) {
      throw new TypeError(`"timeoutSeconds" must be more than 0 and at most 600, not ${timeoutSeconds}`)
    }
    if (userAgent !== undefined && !/^[\x20-\x7e]{1,256}$/.test(userAgent)) {
      throw new TypeError('"userAgent" must be a text of 1 to 256 ASCII characters')
    }
    this.#timeoutMs = timeoutSeconds * 1_000
    this.#network = new Network(new Guard(options))
    this.#userAgents = {
      model: userAgent ?? `jackfield-fetch/${version} (autonomous; +${home})`,
      person: userAgent ?? `jackfield-fetch/${version} (user-initiated; +${home})`,
    }
    const robots = ignoreRobots ? undefined : new Robots(this.#network, this.#userAgents.model)
    // RFC 9309 is about programs that choose what they fetch, not about the requests of a person.
    this.#robots = { model: robots, person: undefined }
  }

  /**
   * Fetches a URL.
   * @throws ToolError with the reason for the model
   */
  async fetch(request: FetchRequest, signal: AbortSignal): Promise<Page | FetchedImage> {
    const url = parseUrl(request.url)
    const timeout = AbortSignal.timeout(this.#timeoutMs)
    const combined = AbortSignal.any([signal, timeout])
    try {
      const fetched = await this.#get(url, request.initiator, combined)
      return await toResult(fetched, request.format, combined)
    } catch (error) {
      if (!signal.aborted && timeout.aborted) {
        throw new ToolError(
          `${url.href} was not fetched within ${this.#timeoutMs / 1_000} s. Try again later, or fetch another page.`,
        )
      }
      throw error
    }
  }

  #get(url: URL, initiator: Initiator, signal: AbortSignal): Promise<Fetched> {
    const robots = this.#robots[initiator]
    return this.#network.get(url, {
      userAgent: this.#userAgents[initiator],
      accept,
      maxBytes: maxBytesOf,
      signal,
      ...(robots !== undefined && { before: (next: URL) => robots.require(next, signal) }),
    })
  }
}

/** @throws ToolError if the text is not an absolute URL */
function parseUrl(text: string): URL {
  const url = URL.parse(text.trim())
  if (url === null) {
    throw new ToolError('"url" must be an absolute URL, such as https://example.org/page.')
  }
  url.hash = ''
  return url
}

/** Maximum bytes that are read of a body of this media type; 0 if it is not returned. */
function maxBytesOf(contentType: string): number {
  if (imageSignatures[contentType] !== undefined) return limits.imageBytes
  return textTypes.test(contentType) || isHtml(contentType) || genericTypes.has(contentType)
    ? limits.bodyBytes
    : 0
}

function isHtml(contentType: string): boolean {
  return contentType === 'text/html' || contentType === 'application/xhtml+xml'
}

async function toResult(fetched: Fetched, format: Format, signal: AbortSignal): Promise<Page | FetchedImage> {
  const { status, url } = fetched
  if (status < 200 || status > 299) {
    throw new ToolError(`${url.href} responded with status ${status}${statusExplanation(status)}.`)
  }
  const contentType = mediaTypeOf(fetched)
  const metadata = { url: url.href, status, contentType }
  const signature = imageSignatures[contentType]
  if (signature !== undefined) return { ...metadata, image: imageBytesOf(fetched, signature) }
  if (!textTypes.test(contentType) && !isHtml(contentType))
    throw new ToolError(unsupportedTypeMessage(fetched, contentType))
  const text = decodeText(fetched.body, fetched.charset)
  const cut = fetched.isCut ? [`Only the first ${limits.bodyBytes / 1_048_576} MiB were read.`] : []
  if (format === 'html') {
    return { ...metadata, format, title: undefined, content: text.toWellFormed(), notes: cut }
  }
  if (isHtml(contentType)) {
    const { notes, ...converted } = await convertInThread({ html: text, url: url.href, format }, signal)
    return { ...metadata, format, ...converted, notes: [...cut, ...notes] }
  }
  const { text: visible, removed } = visibleText(isJson(contentType) ? prettyJson(text) : text)
  const notes = removed > 0 ? [`${removed} invisible characters are left out.`] : []
  return { ...metadata, format, title: undefined, content: visible, notes: [...cut, ...notes] }
}

/** The media type of the response, or a guess from the first bytes if it names none. */
function mediaTypeOf({ contentType, body }: Fetched): string {
  if (!genericTypes.has(contentType)) return contentType
  const start = Buffer.from(body.subarray(0, 512)).toString('latin1')
  const image = Object.entries(imageSignatures).find(([, signature]) => signature.test(start))
  if (image !== undefined) return image[0]
  if (!looksLikeText(body)) return contentType === '' ? 'application/octet-stream' : contentType
  return /^\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b/is.test(start)
    ? 'text/html'
    : 'text/plain'
}

function imageBytesOf({ body, isCut, url, contentLength }: Fetched, signature: RegExp): Uint8Array {
  if (isCut) {
    const size = contentLength === undefined ? '' : ` (${contentLength} bytes)`
    throw new ToolError(
      `${url.href} is an image of more than ${limits.imageBytes / 1_048_576} MiB${size}, which is not returned.`,
    )
  }
  if (!signature.test(Buffer.from(body.subarray(0, 16)).toString('latin1'))) {
    throw new ToolError(`${url.href} is not the kind of image that the server says it is.`)
  }
  return body
}

function unsupportedTypeMessage({ url, contentLength, body, isCut }: Fetched, contentType: string): string {
  const bytes = contentLength ?? (isCut ? undefined : body.length)
  const size = bytes === undefined ? 'unknown size' : `${bytes} bytes`
  return `${url.href} is a file of the type ${contentType.slice(0, 100)} (${size}). Only text, HTML, JSON, XML and images (PNG, JPEG, GIF, WebP) are returned.`
}

function isJson(contentType: string): boolean {
  return contentType === 'application/json' || contentType.endsWith('+json')
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function statusExplanation(status: number): string {
  if (status === 404 || status === 410) return ' (the page does not exist)'
  if (status === 401 || status === 403) return ' (it is not public)'
  if (status === 429) return ' (too many requests; wait before the next)'
  return status >= 500 ? ' (an error of the site; try again later)' : ''
}
