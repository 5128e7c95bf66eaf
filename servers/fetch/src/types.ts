/** Options and limits of the fetch server, and the types of responses and results. */

/** Options of `createFetchServer`. */
export interface FetchOptions {
  /**
   * Private and loopback places that may be fetched: a host name or address, with a port (`127.0.0.1:8080`) or without one, which
   * means ports 80 and 443. Names are the names in URLs; they may lead to any private or loopback address. Default: none.
   */
  allowPrivate?: readonly string[]
  /** Ports of public hosts that may be fetched. Default 80 and 443. */
  ports?: readonly number[]
  /** Fetches what robots.txt disallows. Default false. */
  ignoreRobots?: boolean
  /** The `User-Agent` header. robots.txt is matched by its first product token. Default: `jackfield-fetch/<version> (…)`. */
  userAgent?: string
  /** Seconds for one fetch, with redirects, robots.txt and conversion. Default 30. */
  timeoutSeconds?: number
  /** Resolves a host name to its addresses. Default: the system's resolver. */
  lookup?: Lookup
  /**
   * Environment variables of a proxy: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are used if `NODE_USE_ENV_PROXY` is `1`, as Node
   * does. The proxy then resolves the names, and must refuse private addresses. Default `process.env`.
   */
  env?: Readonly<Record<string, string | undefined>>
}

/** Resolves a host name to its addresses; rejects if it has none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** Who asked for a fetch: a model on its own, for which robots.txt is checked, or a person. */
export type Initiator = 'model' | 'person'

/** The format of a result. */
export type Format = 'markdown' | 'text' | 'html'

/** A response, with as much of its body as the limit allows. */
export interface Fetched {
  /** The URL after redirects. */
  readonly url: URL
  readonly status: number
  /** The media type in lower case, without parameters; empty if the response names none. */
  readonly contentType: string
  /** The charset that the response names. */
  readonly charset: string | undefined
  readonly body: Uint8Array
  /** The body was longer than the limit. */
  readonly isCut: boolean
  /** `Content-Length` in bytes; undefined if the body is encoded or the header is absent. */
  readonly contentLength: number | undefined
}

/** A converted page, before it is cut into parts. */
export interface Page {
  readonly url: string
  readonly status: number
  readonly contentType: string
  readonly format: Format
  readonly title: string | undefined
  readonly content: string
  /** Messages for the model about content that was left out. */
  readonly notes: readonly string[]
}

/** An image, unchanged. */
export interface FetchedImage {
  readonly url: string
  readonly status: number
  readonly contentType: string
  readonly image: Uint8Array
}

/** `Ms`: milliseconds; `Chars`: characters (UTF-16 code units); `Mb`: mebibytes. */
export const limits = {
  urlChars: 8_192,
  redirects: 5,
  /** Bytes of a page after decompression; what follows is not read. */
  bodyBytes: 5_242_880,
  imageBytes: 3_145_728,
  robotsBytes: 512_000,
  robotsEntries: 500,
  robotsMs: 3_600_000,
  /** Time until robots.txt is requested again after it could not be read. */
  robotsRetryMs: 60_000,
  lookupMs: 5_000,
  connectMs: 10_000,
  /** Maximum time until the response begins, and between two chunks of its body. */
  silenceMs: 15_000,
  concurrentPerHost: 2,
  concurrent: 16,
  /** Maximum number of requests that wait for a slot. */
  waiting: 64,
  /** Elements of a page, and levels of nesting; deeper ones become children of the last level. */
  elements: 100_000,
  depth: 100,
  /** Maximum open elements. A page that exceeds it is cut there. */
  openElements: 5_000,
  attributeChars: 2_048,
  /** Time limit for the conversion of the whole page, and then for the extraction of its main content. */
  conversionMs: 10_000,
  extractionMs: 4_000,
  conversions: 2,
  conversionHeapMb: 256,
  /** Characters of one result. */
  defaultChars: 5_000,
  maxChars: 1_000_000,
  /** The cache of pages: their number, time to live and total characters. */
  cachedPages: 50,
  cacheMs: 300_000,
  cachedChars: 20_000_000,
} as const
