import { type IncomingMessage, request as plain, type RequestOptions } from 'node:http'
import { request as secure } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import type { AuthFetch } from '../network.ts'

/**
 * A fetch for authorization servers that connects to the very addresses that were checked, so that a name cannot
 * stand for another address a moment later. It follows no redirects and takes bodies that are texts.
 */
export const pinnedFetch: AuthFetch = (url, init, addresses) =>
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
        reject(error)
      }
    })
    outgoing.once('error', (error) => reject(new TypeError('fetch failed', { cause: error })))
    outgoing.end(typeof init.body === 'string' ? init.body : undefined)
  })

function asResponse(incoming: IncomingMessage): Response {
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
  }
  const status = incoming.statusCode ?? 500
  if (status === 204 || status === 304) {
    incoming.resume()
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

function lookupAmong(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, known)
    else callback(null, known[0]?.address ?? '', known[0]?.family ?? 0)
  }
}
