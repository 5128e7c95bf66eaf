import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { ToolError } from '@jackfield/sdk'
import { hostOf, lookupAmong } from '@jackfield/sdk/internal'
import type { Guard, Route } from './guard.ts'
import { type Fetched, limits } from './types.ts'

/**
 * Sends GET requests: each to addresses that were checked, without cookies or credentials, within limits of redirects, time, bytes
 * after decompression, and concurrent requests for each host.
 */

/** How one page is requested. */
export interface GetOptions {
  readonly userAgent: string
  readonly accept: string
  /** Maximum bytes of the body that are read, by its media type; 0 reads nothing. */
  maxBytes(contentType: string): number
  readonly signal: AbortSignal
  /** Called with the URL of each request, including redirects. A rejection stops the fetch. */
  before?(url: URL): Promise<void>
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/** Sends requests to the hosts and ports that a guard allows. */
export class Network {
  readonly #guard: Guard
  readonly #active = new Map<string, number>()
  #total = 0
  readonly #waiting: { readonly host: string; readonly start: () => void }[] = []

  constructor(guard: Guard) {
    this.#guard = guard
  }

  /**
   * Requests a URL, and follows redirects.
   * @throws ToolError if it may not be requested, or the request fails
   */
  async get(from: URL, options: GetOptions): Promise<Fetched> {
    let url = from
    for (let hop = 0; ; hop++) {
      const next = await this.#request(url, options)
      if (!(next instanceof URL)) return next
      if (hop === limits.redirects) {
        throw new ToolError(
          `${from.href} redirects more than ${limits.redirects} times. The last target was ${next.href}`,
        )
      }
      url = next
    }
  }

  /** Sends one request. Returns the response, or the target of a redirect. */
  async #request(url: URL, options: GetOptions): Promise<Fetched | URL> {
    const { signal } = options
    // Before a slot is taken, because this may request robots.txt of the same host.
    const route = await this.#guard.route(url, signal)
    await options.before?.(url)
    const release = await this.#acquire(hostOf(url), signal)
    try {
      const response = await sendRequest(url, route, options)
      try {
        const { statusCode: status = 0, headers } = response
        if (redirectStatuses.has(status) && headers.location !== undefined) {
          const next = URL.parse(headers.location, url)
          if (next === null) throw new ToolError(`${url.href} redirects to an invalid URL.`)
          next.hash = ''
          return next
        }
        return await read(url, response, options)
      } finally {
        response.destroy()
      }
    } finally {
      release()
    }
  }

  /** Waits for a free slot of the host. Returns the function that frees it. */
  async #acquire(host: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (!this.#hasSlot(host)) {
      if (this.#waiting.length >= limits.waiting) {
        throw new ToolError('Too many pages are being fetched. Try again when others are finished.')
      }
      await new Promise<void>((resolve, reject) => {
        const entry = { host, start: resolve }
        this.#waiting.push(entry)
        signal.addEventListener(
          'abort',
          () => {
            const at = this.#waiting.indexOf(entry)
            if (at === -1) return
            this.#waiting.splice(at, 1)
            reject(signal.reason)
          },
          { once: true },
        )
      })
    } else {
      this.#count(host, 1)
    }
    return () => {
      this.#count(host, -1)
      const at = this.#waiting.findIndex((entry) => this.#hasSlot(entry.host))
      const [next] = at === -1 ? [] : this.#waiting.splice(at, 1)
      if (next === undefined) return
      this.#count(next.host, 1)
      next.start()
    }
  }

  #hasSlot(host: string): boolean {
    return this.#total < limits.concurrent && (this.#active.get(host) ?? 0) < limits.concurrentPerHost
  }

  #count(host: string, by: 1 | -1): void {
    this.#total += by
    const active = (this.#active.get(host) ?? 0) + by
    if (active === 0) this.#active.delete(host)
    else this.#active.set(host, active)
  }
}

/** Resolves when the response begins. */
function sendRequest(
  url: URL,
  route: Route,
  { userAgent, accept, signal }: GetOptions,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const options: RequestOptions = {
    method: 'GET',
    headers: { 'user-agent': userAgent, accept, 'accept-encoding': 'gzip, deflate, br' },
    signal,
    ...(route.via === 'direct'
      ? { agent: false, lookup: lookupAmong(route.addresses) }
      : { agent: proxyAgent(isSecure, route.proxy) }),
  }
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = (isSecure ? httpsRequest : httpRequest)(url, options)
    const connectTimer = setTimeout(() => {
      const seconds = limits.connectMs / 1_000
      outgoing.destroy(
        new ToolError(`${url.host} accepted no connection within ${seconds} s. Try again later.`),
      )
    }, limits.connectMs)
    outgoing.once('socket', (socket) => {
      const onConnect = (): void => clearTimeout(connectTimer)
      if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', onConnect)
      else onConnect()
    })
    outgoing.setTimeout(limits.silenceMs, () => outgoing.destroy(silenceError(url)))
    outgoing.once('response', (response) => {
      clearTimeout(connectTimer)
      outgoing.setTimeout(0)
      response.setTimeout(limits.silenceMs, () => response.destroy(silenceError(url)))
      resolve(response)
    })
    outgoing.once('error', (error) => {
      clearTimeout(connectTimer)
      reject(signal.aborted ? signal.reason : toToolError(url, error))
    })
    outgoing.end()
  })
}

/** Reads a response, up to the limit of its type. */
async function read(url: URL, response: IncomingMessage, options: GetOptions): Promise<Fetched> {
  const { headers, statusCode: status = 0 } = response
  const { contentType, charset } = parseContentType(headers['content-type'] ?? '')
  const maxBytes = options.maxBytes(contentType)
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  const length = Number(headers['content-length'] ?? Number.NaN)
  const metadata = {
    url,
    status,
    contentType,
    charset,
    contentLength: encoding === 'identity' && Number.isSafeInteger(length) ? length : undefined,
  }
  if (maxBytes === 0) return { ...metadata, body: new Uint8Array(), isCut: true }
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of decodeBody(url, response, encoding)) {
      const part: Uint8Array = chunk.subarray(0, maxBytes - bytes)
      chunks.push(part)
      bytes += part.length
      if (part.length < chunk.length) return { ...metadata, body: Buffer.concat(chunks), isCut: true }
    }
    // Without a content length, an abort also looks like the end of the body.
    options.signal.throwIfAborted()
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : toToolError(url, error)
  }
  return { ...metadata, body: Buffer.concat(chunks), isCut: false }
}

/** The body without its content encoding. It is decompressed as it is read. */
function decodeBody(url: URL, response: IncomingMessage, encoding: string): AsyncIterable<Buffer> {
  if (encoding === 'identity' || encoding === '') return response
  const options = { chunkSize: 65_536 }
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip(options)
      : encoding === 'deflate'
        ? createInflate(options)
        : encoding === 'br'
          ? createBrotliDecompress(options)
          : undefined
  if (decoder === undefined) {
    throw new ToolError(
      `${url.href} responded with the encoding "${encoding.slice(0, 50)}", which is not supported.`,
    )
  }
  response.on('error', (error) => decoder.destroy(error))
  return response.pipe(decoder)
}

function proxyAgent(isSecure: boolean, proxy: string): HttpAgent {
  const options = { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }
  return isSecure ? new HttpsAgent(options) : new HttpAgent(options)
}

function parseContentType(header: string): { contentType: string; charset: string | undefined } {
  const [type = '', ...parameters] = header.slice(0, 500).split(';')
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined)
  return { contentType: type.trim().toLowerCase(), charset }
}

function silenceError({ host }: URL): ToolError {
  return new ToolError(`${host} sent nothing for ${limits.silenceMs / 1_000} s. Try again later.`)
}

/** The error for the model, which contains no message of Node. */
function toToolError(url: URL, error: unknown): ToolError {
  if (error instanceof ToolError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason =
    code === 'ECONNREFUSED'
      ? 'refused the connection'
      : code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'
        ? 'closed the connection'
        : code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR_FORMAT')
          ? 'sent a body that cannot be decompressed'
          : code.startsWith('HPE_')
            ? 'sent an invalid HTTP response'
            : isCertificateError(code)
              ? `has no valid certificate (${code})`
              : `cannot be reached${code === '' ? '' : ` (${code})`}`
  return new ToolError(`${url.host} ${reason}. Check the URL, or try again later.`)
}

function isCertificateError(code: string): boolean {
  return /CERT|SELF_SIGNED|ISSUER|ALTNAME/.test(code)
}
