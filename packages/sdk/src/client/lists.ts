import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import { limits } from '../request/limits.ts'

export interface Page<T> {
  readonly entries: readonly T[]
  readonly nextCursor: unknown
  readonly cached: boolean
  /** Bytes of the result as received. */
  readonly bytes: number
}

/** Limits of one list, all pages together. */
export interface ListBound {
  readonly bytes: number
  readonly pages: number
  /** Names the function with the options `maxListBytes` and `maxListPages` in error messages. */
  readonly optionsOf: string
}

/**
 * All entries of a paginated list. `fetch` reads one page; `invalidate` drops cached pages when the server rejects a cursor
 * from one of them.
 * @throws McpError 'LIMIT' for too many pages or bytes
 */
export async function allPages<T>(
  method: string,
  fetch: (cursor: string | undefined) => Promise<Page<T>>,
  invalidate: () => void,
  bound: ListBound,
): Promise<T[]> {
  let fromCache = false
  const fetchTracked = async (cursor: string | undefined): Promise<Page<T>> => {
    const page = await fetch(cursor)
    fromCache ||= page.cached
    return page
  }
  try {
    return await collect(method, fetchTracked, bound)
  } catch (error) {
    const stale = fromCache && error instanceof RpcError && error.code === ErrorCode.InvalidParams
    if (!stale) throw error
    invalidate()
    return collect(method, fetch, bound)
  }
}

async function collect<T>(
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
        `${method} exceeded ${bound.bytes} bytes at page ${pages} (${bytes} bytes). ` +
          `Raise maxListBytes of ${bound.optionsOf} if the server needs more`,
      )
    }
    for (const entry of page.entries) all.push(entry)
    const next = page.nextCursor
    if (next === undefined || next === null) return all
    if (typeof next !== 'string') throw new McpError('PROTOCOL', `A cursor of ${method} is not a string`)
    if (next.length > limits.cursorChars) {
      throw new McpError('LIMIT', `A cursor of ${method} is longer than ${limits.cursorChars} characters`)
    }
    if (seen.has(next)) throw new McpError('PROTOCOL', `${method} returned the same cursor twice`)
    seen.add(next)
    cursor = next
  }
  throw new McpError(
    'LIMIT',
    `${method} exceeded ${bound.pages} pages (${bytes} bytes so far). ` +
      `Raise maxListPages of ${bound.optionsOf} if the server needs more`,
  )
}
