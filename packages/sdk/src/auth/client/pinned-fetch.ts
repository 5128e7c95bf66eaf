import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { AuthFetch } from './network.ts'

export const nullBodyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

type Send = (
  url: URL,
  options: RequestOptions,
  onResponse: (incoming: IncomingMessage) => void,
) => ClientRequest

/** Functions that send requests: `request` of `node:http` and of `node:https`, or replacements with the same signature. */
export interface Senders {
  /** Sends `http:` requests. */
  readonly plain: Send
  /** Sends `https:` requests. */
  readonly secure: Send
}

/**
 * A fetch for requests to authorization servers that sends them with functions of your own, for example through a proxy. The
 * functions get a `lookup` that returns only the addresses that were checked. It follows no redirects and sends string bodies
 * only.
 */
export function fetchWith({ plain, secure }: Senders): AuthFetch {
  return (url, init, addresses) =>
    new Promise((resolve, reject) => {
      const options: RequestOptions = {
        method: init.method ?? 'GET',
        headers: { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
        agent: false,
        ...(init.signal && { signal: init.signal }),
        ...(addresses.length > 0 && { lookup: lookupAmong(addresses) }),
      }
      const send = url.protocol === 'https:' ? secure : plain
      const outgoing = send(url, options, (incoming) => {
        try {
          resolve(asResponse(incoming))
        } catch (error) {
          outgoing.destroy()
          failed(error)
        }
      })
      const failed = (cause: unknown): void => reject(new TypeError('fetch failed', { cause }))
      outgoing.once('error', failed)
      // A response that switches protocols ends the request without an error.
      outgoing.once('close', () => failed(new Error('the connection was closed')))
      outgoing.end(typeof init.body === 'string' ? init.body : undefined)
    })
}

/**
 * A fetch for requests to authorization servers that connects only to the addresses that were checked, so that a DNS
 * answer cannot change between check and use. It follows no redirects, sends string bodies only and uses no proxy. The
 * default on Node.
 */
export const pinnedFetch: AuthFetch = (url, init, addresses) => {
  // Not imported: bundles for browsers include this file.
  const { request: plain } = process.getBuiltinModule('node:http')
  const { request: secure } = process.getBuiltinModule('node:https')
  return fetchWith({ plain, secure })(url, init, addresses)
}

/** `pinnedFetch` on Node, else undefined: other runtimes offer `node:http` too, but may ignore its `lookup` option. */
export function defaultPinnedFetch(): AuthFetch | undefined {
  if (typeof process !== 'object' || process.versions?.node === undefined) return undefined
  if (typeof navigator === 'object' && !navigator.userAgent?.startsWith('Node.js/')) return undefined
  if ('bun' in process.versions || 'deno' in process.versions) return undefined
  return process.getBuiltinModule?.('node:http') === undefined ? undefined : pinnedFetch
}

function asResponse(incoming: IncomingMessage): Response {
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
  }
  const status = incoming.statusCode ?? 500
  if (nullBodyStatuses.has(status)) {
    incoming.destroy()
    return new Response(null, { status, headers })
  }
  const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel() {
      incoming.destroy()
    },
  })
  return new Response(body, { status, headers })
}

/** A `lookup` that returns these checked addresses for every name, so that a connection goes to no other. */
export function lookupAmong(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, known)
    else callback(null, known[0]?.address ?? '', known[0]?.family ?? 0)
  }
}
