import { createHash } from 'node:crypto'
import { McpError } from '@jackfield/sdk'
import type { Fetch } from '@jackfield/sdk/client'
import type { ConfigEnvironment } from '../../config/variables.ts'
import { inWords, isRecord, type JsonRecord } from '../../shared/json.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import { fetchIn } from '../network/fetch.ts'

/** A bundle that a published server is packed in. */
export interface PublishedBundle {
  readonly url: string
  /** SHA-256 in hexadecimal. */
  readonly hash: string
  /** The namespace of the registry that it was published in. */
  readonly publisher: string
}

const maxBytes = 200_000_000
const withinMs = 900_000
const maxRedirects = 5
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * The bundle of a published server, where it is packed in nothing else.
 * @throws McpError 'INVALID' for one without the hash that says which bundle is meant
 */
export function bundleIn({ name, packages }: Readonly<JsonRecord>): PublishedBundle | undefined {
  const all = Array.isArray(packages) ? packages.filter(isRecord) : []
  const packed = all.find((entry) => entry['registryType'] === 'mcpb')
  if (packed === undefined || all.some((entry) => entry['registryType'] !== 'mcpb')) return undefined
  const { identifier: url, fileSha256: hash } = packed
  if (typeof url !== 'string' || typeof hash !== 'string' || !/^[0-9a-f]{64}$/i.test(hash)) {
    throw new McpError(
      'INVALID',
      `${oneLine(inWords(name))} does not say which bundle it means: its hash is missing`,
    )
  }
  const full = inWords(name)
  return { url, hash: hash.toLowerCase(), publisher: full.slice(0, full.lastIndexOf('/')) }
}

/** What requests for a bundle may be given. */
export interface FetchBundleOptions {
  /** Default the global `fetch`, and where `env` names a proxy for an address, a request through that proxy. */
  fetch?: Fetch
  /** The environment with the variables that name a proxy. Default `process.env`. */
  env?: ConfigEnvironment
  signal?: AbortSignal
}

/**
 * Fetches a bundle.
 * @throws McpError 'INVALID' where it is another one than was published, 'LIMIT' where it is too large
 */
export async function fetchBundle(
  { url, hash }: Pick<PublishedBundle, 'url' | 'hash'>,
  { env = process.env, fetch: get = fetchIn(env), signal }: FetchBundleOptions = {},
): Promise<Uint8Array> {
  const place = placeIn(url)
  const soon = AbortSignal.timeout(withinMs)
  const until = signal === undefined ? soon : AbortSignal.any([signal, soon])
  let bytes: Buffer
  try {
    bytes = await whole(await reached(place, get, until), place)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof McpError) throw error
    throw new McpError('CONNECT_FAILED', `${place.host} cannot be reached: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found === hash) return bytes
  throw new McpError(
    'INVALID',
    `${oneLine(url)} is another bundle than the one that was published: its checksum (SHA-256) is ${found}, and the registry gives ${hash}. It was not used; tell its publisher.`,
  )
}

function placeIn(url: string): URL {
  const place = URL.parse(url)
  if (place !== null && (place.protocol === 'https:' || isHere(place))) return place
  throw new McpError('INVALID', `${oneLine(url)} is no address of a bundle: it must begin with https`)
}

function isHere({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopback.test(hostname)
}

/** What a place answers, after a few redirects; none of them leads out of encryption or into this machine. */
async function reached(place: URL, get: Fetch, signal: AbortSignal): Promise<Response> {
  let at = place
  for (let hop = 0; ; hop++) {
    const response = await get(at, { redirect: 'manual', signal })
    const { status, headers } = response
    const location = headers.get('location')
    if (status < 300 || status > 399 || location === null) return response
    await response.body?.cancel()
    const next = URL.parse(location, at)
    if (
      hop === maxRedirects ||
      next === null ||
      !(next.protocol === 'https:' || (isHere(next) && isHere(at)))
    ) {
      throw new McpError(
        'INVALID',
        `${place.host} sends on to ${oneLine(location)}, which is no address of a bundle`,
      )
    }
    at = next
  }
}

async function whole(response: Response, { host }: URL): Promise<Buffer> {
  if (!response.ok) {
    await response.body?.cancel()
    throw new McpError('HTTP', `${host} answered with status ${response.status}`)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new McpError('LIMIT', `The bundle has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
