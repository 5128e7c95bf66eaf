import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { AuthFetch } from './network.ts'

/** Statuses of answers that a Response must have no body for. */
export const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

type Send = (
  url: URL,
  options: RequestOptions,
  answered: (incoming: IncomingMessage) => void,
) => ClientRequest

/** What requests are sent with: `request` of `node:http` and of `node:https`, or what has their form. */
export interface Senders {
  readonly plain: Send
  readonly secure: Send
}

/** A fetch for authorization servers that connects to the addresses it is given and to no others. */
export function pinnedBy({ plain, secure }: Senders): AuthFetch {
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
      // An answer that changes the protocol ends the request without an error.
      outgoing.once('close', () => failed(new Error('the connection was closed')))
      outgoing.end(typeof init.body === 'string' ? init.body : undefined)
    })
}

/** Such a fetch where the runtime is Node, which lends its modules to code that names none; undefined elsewhere. */
export function pinnedHere(): AuthFetch | undefined {
  if (!isNode()) return undefined
  const plain = process.getBuiltinModule?.('node:http')
  const secure = process.getBuiltinModule?.('node:https')
  return plain === undefined || secure === undefined
    ? undefined
    : pinnedBy({ plain: plain.request, secure: secure.request })
}

/** Others lend modules of these names too, which may not do as they are told about addresses. */
function isNode(): boolean {
  if (typeof process !== 'object' || process.versions?.node === undefined) return false
  if (typeof navigator === 'object' && !navigator.userAgent?.startsWith('Node.js/')) return false
  return !('bun' in process.versions) && !('deno' in process.versions)
}

function asResponse(incoming: IncomingMessage): Response {
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
  }
  const status = incoming.statusCode ?? 500
  if (bodiless.has(status)) {
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

function lookupAmong(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, known)
    else callback(null, known[0]?.address ?? '', known[0]?.family ?? 0)
  }
}
