import { setTimeout as wait } from 'node:timers/promises'
import { ToolError } from '@jackfield/sdk'

/*
 * Requests to an upstream HTTP API with the token of one user: bounded in time and size, without following redirects, which could
 * take the token elsewhere, and with the rate limits of the upstream respected.
 */

export interface UpstreamRequest {
  /** What the API is called in errors, such as "the forge". */
  name: string
  method: 'GET' | 'POST' | 'PATCH'
  url: URL
  /** The access token of the user. */
  token: string
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: object
  signal: AbortSignal
}

export interface UpstreamResponse {
  status: number
  headers: Headers
  /** The parsed body; undefined if it is not JSON. */
  body: unknown
}

const timeoutMs = 20_000
const mostBytes = 2_097_152
/** Requests that are sent again after a rate limit, and the most seconds to wait for that. */
const mostAttempts = 3
const mostWaitSeconds = 10

/**
 * Sends a request. A response with a rate limit is waited for and the request sent again, which is safe for every method:
 * the upstream did not process it. Nothing else is repeated.
 * @throws ToolError for a rate limit that lasts longer, and for an upstream that cannot be reached or answers too much
 */
export async function sendUpstream(request: UpstreamRequest): Promise<UpstreamResponse> {
  for (let attempt = 1; ; attempt++) {
    const response = await sendOnce(request)
    const seconds = rateLimitSeconds(response)
    if (seconds === undefined) return response
    if (attempt === mostAttempts || seconds > mostWaitSeconds) {
      throw new ToolError(
        `${request.name} limits the number of requests of this user. Try again in ${Math.max(1, seconds)} s.`,
      )
    }
    await wait(seconds * 1_000, undefined, { signal: request.signal })
  }
}

async function sendOnce({
  name,
  method,
  url,
  token,
  headers,
  body,
  signal,
}: UpstreamRequest): Promise<UpstreamResponse> {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      method,
      // A redirect is returned as a response, so that the caller can explain it.
      redirect: 'manual',
      signal: AbortSignal.any([signal, limit]),
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return {
      status: response.status,
      headers: response.headers,
      body: jsonIn(await boundedText(name, response)),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ToolError) throw error
    const outcome = method === 'GET' ? '' : ' It may have been carried out: look before you send it again.'
    throw new ToolError(
      `${name} ${limit.aborted ? `did not respond within ${timeoutMs / 1_000} s` : 'cannot be reached'}.${outcome}`,
      { cause: error },
    )
  }
}

async function boundedText(name: string, response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) {
      throw new ToolError(`${name} sent more than ${mostBytes} bytes. Ask for fewer items at once.`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Seconds to wait before the request may be sent again; undefined if it was not limited. */
function rateLimitSeconds({ status, headers }: UpstreamResponse): number | undefined {
  const after = headers.get('retry-after')
  const exhausted = headers.get('x-ratelimit-remaining') === '0'
  if (status !== 429 && !(status === 403 && (after !== null || exhausted))) return undefined
  if (after !== null) {
    const seconds = /^\d+$/.test(after) ? Number(after) : (Date.parse(after) - Date.now()) / 1_000
    return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : mostWaitSeconds + 1
  }
  const reset = Number(headers.get('x-ratelimit-reset'))
  return reset > 0 ? Math.max(0, Math.ceil(reset - Date.now() / 1_000)) : 60
}
