/** The transport interface of the official SDK. Transports of this package serve it through Jackfield; others are adapted. */
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'
import { type Uncovered, uncovered } from '../uncovered.ts'

export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

export type TransportSendOptions = {
  /** The request that the message belongs to. */
  relatedRequestId?: RequestId | undefined
  resumptionToken?: string | undefined
  onresumptiontoken?: ((token: string) => void) | undefined
}

/** A channel of JSON-RPC messages. */
export interface Transport {
  start(): Promise<void>
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined
  sessionId?: string | undefined
  setProtocolVersion?: ((version: string) => void) | undefined
}

/** Headers as a plain object. */
export function normalizeHeaders(headers: HeadersInit | undefined): Record<string, string> {
  return headers === undefined ? {} : Object.fromEntries(new Headers(headers))
}

/** A fetch function that adds a base `RequestInit` to every request; headers of a request win. */
export function createFetchWithInit(baseFetch: FetchLike = fetch, baseInit?: RequestInit): FetchLike {
  if (baseInit === undefined) return baseFetch
  return (url, init) =>
    baseFetch(url, {
      ...baseInit,
      ...init,
      headers: { ...normalizeHeaders(baseInit.headers), ...normalizeHeaders(init?.headers) },
    })
}

const redirects = 'Leave it out: redirects to another origin are refused'
export const isWithinOrigin: Uncovered = uncovered('isWithinOrigin', redirects)
export const followWithinOrigin: Uncovered = uncovered('followWithinOrigin', redirects)
export const fetchLeavingRedirects: Uncovered = uncovered('fetchLeavingRedirects', redirects)
export const fetchWithinOrigin: Uncovered = uncovered('fetchWithinOrigin', redirects)
export const unfollowedRedirect: Uncovered = uncovered('unfollowedRedirect', redirects)
