import { createHash } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { Fetch } from '@jackfield/sdk/client'
import { fetchError } from '@jackfield/sdk/internal'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { FixableError } from '../../shared/failures.ts'
import { inWords, isDeeper, isRecord, type JsonRecord, parsed } from '../../shared/json.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type { Registry, RegistryServer } from '../../types/index.ts'
import { fetchIn } from '../network/fetch.ts'

/** The registry and how it is accessed. */
export interface RegistryOptions {
  /** Default the official registry. */
  url?: string
  /** Default the global `fetch`, or a request through the proxy that `env` sets for the URL. */
  fetch?: Fetch
  /** The environment with proxy variables. Default `process.env`. */
  env?: ConfigEnvironment
  /** Milliseconds for one request. Default 15 000. */
  timeoutMs?: number
}

const officialRegistryUrl = 'https://registry.modelcontextprotocol.io'
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const maxResponseBytes = 4_000_000
const maxServers = 100
const maxLevels = 64

/**
 * A client of an MCP registry (API v0.1).
 * @throws McpError 'INVALID' for a URL that is neither https nor on this machine
 */
export function createRegistry({
  url = officialRegistryUrl,
  env = process.env,
  fetch: send = fetchIn(env),
  timeoutMs = 15_000,
}: RegistryOptions = {}): Registry {
  const base = URL.parse(url)
  if (base === null || (base.protocol !== 'https:' && !loopback.test(base.hostname))) {
    throw new McpError('INVALID', `${oneLine(url)} cannot be a registry: give an address with https`)
  }
  const root = `${base.origin}${base.pathname.replace(/\/$/, '')}/v0.1`

  const request = async (path: string, signal: AbortSignal | undefined): Promise<JsonRecord> => {
    const timeoutSignal = AbortSignal.any([
      AbortSignal.timeout(timeoutMs),
      ...(signal === undefined ? [] : [signal]),
    ])
    let response: Response
    let text: string
    try {
      response = await send(new URL(`${root}${path}`), {
        headers: { accept: 'application/json' },
        redirect: 'error',
        signal: timeoutSignal,
      })
      text = (await readLimited(response, maxResponseBytes, 'The registry sent more than')).toString('utf8')
    } catch (error) {
      signal?.throwIfAborted()
      throw requestError(error, base, timeoutSignal, 'Check the network connection, or use another registry')
    }
    if (response.status === 404) {
      throw new FixableError('NOT_FOUND', 'The registry has no such server', [{ action: 'search-registry' }])
    }
    if (!response.ok) {
      throw new McpError('HTTP', `The registry ${base.host} answered with status ${response.status}`)
    }
    const value = parsed(text)
    if (isDeeper(value, maxLevels)) {
      throw new McpError('PROTOCOL', `The registry ${base.host} answered with something nested too deeply`)
    }
    if (isRecord(value)) return value
    throw new McpError(
      'PROTOCOL',
      `The registry ${base.host} answered with something that is not a JSON object`,
    )
  }

  return {
    url: base.href,
    async search(words, { cursor, limit = 30, signal } = {}) {
      const query = new URLSearchParams({
        limit: String(Math.min(Math.max(1, limit), maxServers)),
        version: 'latest',
        ...(words !== '' && { search: words }),
        ...(cursor !== undefined && { cursor }),
      })
      const { servers, metadata } = await request(`/servers?${query}`, signal)
      const next = isRecord(metadata) ? metadata['nextCursor'] : undefined
      const entries = Array.isArray(servers) ? servers.slice(0, maxServers) : []
      return {
        servers: entries.flatMap((entry) => readEntry(entry) ?? []),
        ...(typeof next === 'string' && next !== '' && { nextCursor: next }),
      }
    },
    async show(name, { version = 'latest', signal } = {}) {
      const path = `/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`
      const entry = readEntry(await request(path, signal))
      if (entry?.name === name && (version === 'latest' || entry.version === version)) return entry
      throw new McpError(
        'PROTOCOL',
        `The registry ${base.host} answered with another server than the requested one`,
      )
    },
  }
}

async function readLimited(response: Response, maxBytes: number, tooLarge: string): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new McpError('LIMIT', `${tooLarge} ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** One entry: the server document with the registry's metadata, or the document alone. */
function readEntry(entry: unknown): RegistryServer | undefined {
  if (!isRecord(entry)) return undefined
  const document = isRecord(entry['server']) ? entry['server'] : entry
  const { name, version, description, title, repository, packages, remotes } = document
  if (typeof name !== 'string' || typeof version !== 'string' || !name.includes('/')) return undefined
  const meta = isRecord(entry['_meta']) ? entry['_meta'] : {}
  const officialMeta = meta['io.modelcontextprotocol.registry/official']
  const { status, isLatest, publishedAt } = isRecord(officialMeta) ? officialMeta : {}
  const repositoryUrl = isRecord(repository) ? repository['url'] : undefined
  return {
    name,
    version,
    description: typeof description === 'string' ? description : '',
    kinds: [...kindsIn(packages, 'registryType'), ...kindsIn(remotes, 'type')],
    document,
    ...(typeof title === 'string' && { title }),
    ...(typeof repositoryUrl === 'string' && { repository: repositoryUrl }),
    ...(typeof status === 'string' && { status }),
    ...(typeof isLatest === 'boolean' && { isLatest }),
    ...(typeof publishedAt === 'string' && { publishedAt }),
  }
}

function kindsIn(list: unknown, key: string): string[] {
  if (!Array.isArray(list)) return []
  const kinds = list.flatMap((item) => (isRecord(item) && typeof item[key] === 'string' ? [item[key]] : []))
  return [...new Set(kinds)]
}

/** The error of a request without a complete response: why, and what the user can do. */
function requestError(error: unknown, url: URL, timeout: AbortSignal, advice: string): McpError {
  if (error instanceof McpError) return error
  const reason = timeout.aborted
    ? `${url.origin} did not respond in time`
    : reasonOf(fetchError(error, timeout, url))
  return new McpError('CONNECT_FAILED', `${reason}. ${advice}.`, { cause: error })
}

/** The bundle of a published server. */
export interface PublishedBundle {
  /** Where the bundle is downloaded. */
  readonly url: string
  /** SHA-256 in hexadecimal. */
  readonly hash: string
  /** The registry namespace of its publisher. */
  readonly publisher: string
}

const maxBundleBytes = 200_000_000
const downloadTimeoutMs = 900_000
const maxRedirects = 5

/**
 * The bundle of a published server that has no other package.
 * @throws McpError 'INVALID' for one without a hash
 */
export function bundleIn({ name, packages }: Readonly<JsonRecord>): PublishedBundle | undefined {
  const all = Array.isArray(packages) ? packages.filter(isRecord) : []
  const bundlePackage = all.find((entry) => entry['registryType'] === 'mcpb')
  if (bundlePackage === undefined || all.some((entry) => entry['registryType'] !== 'mcpb')) return undefined
  const { identifier: url, fileSha256: hash } = bundlePackage
  if (typeof url !== 'string' || typeof hash !== 'string' || !/^[0-9a-f]{64}$/i.test(hash)) {
    throw new McpError(
      'INVALID',
      `${oneLine(inWords(name))} cannot be installed: the hash of its bundle is missing`,
    )
  }
  const full = inWords(name)
  return { url, hash: hash.toLowerCase(), publisher: full.slice(0, full.lastIndexOf('/')) }
}

/** Options of bundle downloads. */
export interface FetchBundleOptions {
  /** Default the global `fetch`, or a request through the proxy that `env` sets for the URL. */
  fetch?: Fetch
  /** The environment with proxy variables. Default `process.env`. */
  env?: ConfigEnvironment
  /** Aborts the download. */
  signal?: AbortSignal
}

/**
 * Downloads a bundle.
 * @throws McpError 'INVALID' if its hash differs from the published one, 'LIMIT' if it is too large
 */
export async function fetchBundle(
  { url, hash }: Pick<PublishedBundle, 'url' | 'hash'>,
  { env = process.env, fetch: send = fetchIn(env), signal }: FetchBundleOptions = {},
): Promise<Uint8Array> {
  const bundleUrl = parseAddress(url)
  const timeout = AbortSignal.timeout(downloadTimeoutMs)
  const timeoutSignal = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  let bytes: Buffer
  try {
    bytes = await readBundleBytes(await followRedirects(bundleUrl, send, timeoutSignal), bundleUrl)
  } catch (error) {
    signal?.throwIfAborted()
    throw requestError(error, bundleUrl, timeoutSignal, 'Check the network connection, or try again later')
  }
  const actualHash = createHash('sha256').update(bytes).digest('hex')
  if (actualHash === hash) return bytes
  throw new McpError(
    'INVALID',
    `${oneLine(url)} is not the published bundle: its checksum (SHA-256) is ${actualHash}, and the registry gives ${hash}. It was not used; report it to its publisher.`,
  )
}

function parseAddress(url: string): URL {
  const bundleUrl = URL.parse(url)
  if (bundleUrl !== null && (bundleUrl.protocol === 'https:' || isLoopbackHttp(bundleUrl))) return bundleUrl
  throw new McpError('INVALID', `${oneLine(url)} is not an address of a bundle: it must begin with https`)
}

function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopback.test(hostname)
}

/** Follows a few redirects, only to https URLs outside this machine. */
async function followRedirects(url: URL, send: Fetch, signal: AbortSignal): Promise<Response> {
  let current = url
  for (let hop = 0; ; hop++) {
    const response = await send(current, { redirect: 'manual', signal })
    const { status, headers } = response
    const location = headers.get('location')
    if (status < 300 || status > 399 || location === null) return response
    await response.body?.cancel()
    const next = URL.parse(location, current)
    if (
      hop === maxRedirects ||
      next === null ||
      !(next.protocol === 'https:' || (isLoopbackHttp(next) && isLoopbackHttp(current)))
    ) {
      throw new McpError(
        'INVALID',
        `${url.host} redirects to ${oneLine(location)}, which is not an address of a bundle`,
      )
    }
    current = next
  }
}

async function readBundleBytes(response: Response, { host }: URL): Promise<Buffer> {
  if (!response.ok) {
    await response.body?.cancel()
    throw new McpError('HTTP', `${host} answered with status ${response.status}`)
  }
  return readLimited(response, maxBundleBytes, 'The bundle has more than')
}
