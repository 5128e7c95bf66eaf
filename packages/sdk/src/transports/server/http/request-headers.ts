import type { HttpRequest } from './http-adapter.ts'

const json = /^application\/json[\t ]*(;[^,]*)?$/i
const otherCharset = /;[\t ]*charset=(?!"?utf-?8"?[\t ]*(?:;|$))/i

/** Whether a Content-Type says JSON in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType !== undefined && json.test(contentType) && !otherCharset.test(contentType)
}

/** Whether a body is compressed, or said to be: others who read it would see another one. */
export function isCoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && !/^(?:identity)?$/i.test(contentEncoding)
}

/**
 * Headers of which a message has one at most. Where there are two, one reader takes the first and another the last, so a proxy
 * could check another value than the server uses. A second `DPoP` is answered as RFC 9449 says, by the check of proofs.
 */
export const singletons = [
  'host',
  'origin',
  'content-type',
  'content-length',
  'content-encoding',
  'authorization',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
] as const

/** Whether a body has a transfer coding besides `chunked`, which the HTTP parser leaves in place (RFC 9112, section 6.1). */
export function isTransferCoded(transferEncoding: string | undefined): boolean {
  return transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked'
}

/** What a client is ready to read. */
export interface Accepted {
  readonly json: boolean
  readonly events: boolean
}

const nothing: Accepted = { json: false, events: false }

/** Reads Accept headers, and remembers the last: clients send the same one every time. */
export class AcceptReader {
  #header: string | undefined
  #accepted = nothing

  /** What a header accepts. Absent, nothing: the protocol demands one. */
  read(header: string | undefined): Accepted {
    if (header === undefined) return nothing
    if (header !== this.#header) {
      this.#accepted = parseAccept(header)
      this.#header = header
    }
    return this.#accepted
  }
}

function parseAccept(header: string): Accepted {
  const ranges = new Map<string, boolean>()
  for (const range of header.toLowerCase().split(',')) {
    const [type = '', ...params] = range.split(';').map((part) => part.trim())
    const wanted = !params.some((param) => /^q[\t ]*=[\t ]*0(?:\.0*)?$/.test(param))
    ranges.set(type, wanted || ranges.get(type) === true)
  }
  // The most specific range counts, whatever the others say.
  const accepts = (type: string, group: string): boolean =>
    ranges.get(type) ?? ranges.get(group) ?? ranges.get('*/*') ?? false
  return {
    json: accepts('application/json', 'application/*'),
    events: accepts('text/event-stream', 'text/*'),
  }
}

/** The session id in the query of a request; undefined where there is none. */
export function sessionIdIn({ url }: HttpRequest): string | undefined {
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get('sessionId') ?? undefined)
}
