import { ByteCollector } from '../jsonrpc/bytes.ts'
import { McpError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject, parseJson } from '../jsonrpc/parse.ts'

/** The part of `fetch` that is needed here. */
export type AuthFetch = (url: string, init: RequestInit) => Promise<Response>

const maxBytes = 262_144
const timeoutMs = 5000
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Fetches a JSON object from an authorization server: bounded in size, and in time by 5 s or the signal that is given,
 * and never redirected.
 * @throws McpError CONNECT_FAILED, HTTP or PROTOCOL
 */
export async function fetchJson(fetch: AuthFetch, url: string, init: RequestInit = {}): Promise<JsonObject> {
  const response = await send(fetch, url, init)
  if (response.status !== 200) {
    response.body?.cancel().catch(() => {})
    throw new McpError('HTTP', `${url} answered with status ${response.status}`, {
      details: { status: response.status },
    })
  }
  const value = parsed(await whole(url, response))
  if (!isObject(value)) throw new McpError('PROTOCOL', `${url} did not answer with a JSON object`)
  return value
}

/** Undefined for what is no JSON: the fault is not that of the peer whose request is being served. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return parseJson(decoder.decode(bytes))
  } catch {
    return undefined
  }
}

async function send(fetch: AuthFetch, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: init.signal ?? AbortSignal.timeout(timeoutMs),
    })
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    throw new McpError('CONNECT_FAILED', `${url} gave no answer`, { cause })
  }
}

async function whole(url: string, response: Response): Promise<Uint8Array> {
  try {
    return await bounded(url, response)
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    throw new McpError('CONNECT_FAILED', `${url} broke off its answer`, { cause })
  }
}

async function bounded(url: string, response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  const body = new ByteCollector()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    if (body.length + value.length > maxBytes) {
      await reader.cancel()
      throw new McpError('LIMIT', `${url} answered with more than ${maxBytes} bytes`)
    }
    body.add(value)
  }
  return body.take()
}
