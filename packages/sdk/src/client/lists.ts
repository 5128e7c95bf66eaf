import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import { limits } from '../request/limits.ts'

/** One page of a list, and whether it came from the cache. */
export interface Page<T> {
  readonly entries: readonly T[]
  readonly nextCursor: unknown
  readonly cached: boolean
  /** Bytes of the result as it was received. */
  readonly bytes: number
}

/** How much of a list is taken. */
export interface ListBound {
  readonly bytes: number
  readonly pages: number
  /** The function whose options `maxListBytes` and `maxListPages` set it, for messages. */
  readonly of: string
}

/**
 * All pages of a list in order. `fetch` gets one page; `forget` drops the cached ones, when the server no longer
 * takes a cursor that stood on one of them.
 * @throws McpError 'LIMIT' for a list without end, or one of too many bytes
 */
export async function allPages<T>(
  method: string,
  fetch: (cursor: string | undefined) => Promise<Page<T>>,
  forget: () => void,
  bound: ListBound,
): Promise<T[]> {
  let fromCache = false
  const track = async (cursor: string | undefined): Promise<Page<T>> => {
    const page = await fetch(cursor)
    fromCache ||= page.cached
    return page
  }
  try {
    return await walk(method, track, bound)
  } catch (error) {
    const stale = fromCache && error instanceof RpcError && error.code === ErrorCode.InvalidParams
    if (!stale) throw error
    forget()
    return walk(method, fetch, bound)
  }
}

async function walk<T>(
  method: string,
  fetch: (cursor: string | undefined) => Promise<Page<T>>,
  bound: ListBound,
): Promise<T[]> {
  const all: T[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  let bytes = 0
  for (let pages = 1; pages <= bound.pages; pages++) {
    const page = await fetch(cursor)
    bytes += page.bytes
    if (bytes > bound.bytes) {
      throw new McpError(
        'LIMIT',
        `${method} was given up at page ${pages} with ${bytes} bytes, because a list may have at most ${bound.bytes}. ` +
          `Raise maxListBytes of ${bound.of} if the server needs more`,
      )
    }
    for (const entry of page.entries) all.push(entry)
    const next = page.nextCursor
    if (next === undefined || next === null) return all
    if (typeof next !== 'string') throw new McpError('PROTOCOL', `A cursor of ${method} is not a string`)
    if (next.length > limits.cursorChars) {
      throw new McpError('LIMIT', `A cursor of ${method} is longer than ${limits.cursorChars} characters`)
    }
    if (seen.has(next))
      throw new McpError('PROTOCOL', `${method} gave the same cursor twice, so it never ends`)
    seen.add(next)
    cursor = next
  }
  throw new McpError(
    'LIMIT',
    `${method} has more than ${bound.pages} pages (${bytes} bytes so far), so it was given up. ` +
      `Raise maxListPages of ${bound.of} if the server needs more`,
  )
}
