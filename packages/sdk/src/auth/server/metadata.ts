import { ByteCollector } from '../../jsonrpc/bytes.ts'
import { invalid, McpError } from '../../jsonrpc/error.ts'
import type { JsonObject } from '../../jsonrpc/message.ts'
import { isObject, parseJson } from '../../jsonrpc/parse.ts'
import { isScope } from '../../request/exchange.ts'

/** Protected-resource metadata (RFC 9728) and its URL. */
export interface PublishedMetadata {
  /** The URL in challenges. */
  readonly url: string
  readonly documents: ReadonlyMap<string, string>
}

const wellKnown = '/.well-known/oauth-protected-resource'
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** The metadata documents of a resource: at its own path and, if requested, at the root. */
export function publishMetadata(resource: URL, metadata: JsonObject, alsoAtRoot: boolean): PublishedMetadata {
  const path = `${wellKnown}${resource.pathname === '/' ? '' : resource.pathname}`
  const text = JSON.stringify(metadata)
  const paths = alsoAtRoot ? [path, wellKnown] : [path]
  return { url: `${resource.origin}${path}`, documents: new Map(paths.map((one) => [one, text])) }
}

/**
 * Parses a URL that is published as an identifier: without credentials, query and fragment.
 * @throws McpError 'INVALID' for an invalid URL, or http to another machine
 */
export function requireUrl(what: string, text: string, plainHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url === undefined || !isWeb || url.username !== '' || url.password !== '') {
    throw invalid(`${what}: "${text}" is not an https URL`)
  }
  if (/[?#]/.test(text)) throw invalid(`${what}: "${text}" must have no query and no fragment`)
  if (url.protocol === 'http:' && !loopback.has(url.hostname) && !plainHttp) {
    throw invalid(
      `${what}: "${text}" would send tokens unencrypted. Use https; http is allowed for this machine only`,
    )
  }
  return url
}

/** Checks scope names. @throws McpError 'INVALID' for an invalid one */
export function requireScopes(what: string, scopes: readonly string[]): void {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw invalid(`${what}: "${wrong}" is not a valid scope name`)
}

/** The part of `fetch` that is used here. */
export type TextUrlFetch = (url: string, init: RequestInit) => Promise<Response>

const maxBytes = 262_144
const timeoutMs = 5000
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Fetches a JSON object from an authorization server, without redirects. At most 256 KiB, and 5 s without a signal.
 * @throws McpError 'CONNECT_FAILED', 'HTTP' or 'PROTOCOL'
 */
export async function fetchJson(
  fetch: TextUrlFetch,
  url: string,
  init: RequestInit = {},
): Promise<JsonObject> {
  const signal = init.signal ?? AbortSignal.timeout(timeoutMs)
  const response = await orUnreachable(`${url} did not respond`, () =>
    fetch(url, { ...init, redirect: 'manual', signal }),
  )
  if (response.status !== 200) {
    response.body?.cancel().catch(() => {})
    throw new McpError('HTTP', `${url} responded with status ${response.status}`, {
      details: { status: response.status },
    })
  }
  const body = await orUnreachable(`${url} closed the connection during its response`, () =>
    readBounded(url, response),
  )
  const value = parseOrUndefined(body)
  if (!isObject(value)) throw new McpError('PROTOCOL', `${url} did not respond with a JSON object`)
  return value
}

/** Undefined for invalid JSON: a parse error would be reported as a fault of the client whose request is being served. */
function parseOrUndefined(bytes: Uint8Array): unknown {
  try {
    return parseJson(decoder.decode(bytes))
  } catch {
    return undefined
  }
}

/** Runs a step of a request, and reports its failure as that of the authorization server. */
async function orUnreachable<T>(failure: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    throw new McpError('CONNECT_FAILED', failure, { cause })
  }
}

async function readBounded(url: string, response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  const body = new ByteCollector()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    if (body.length + value.length > maxBytes) {
      await reader.cancel()
      throw new McpError('LIMIT', `${url} responded with more than ${maxBytes} bytes`)
    }
    body.add(value)
  }
  return body.drain()
}
