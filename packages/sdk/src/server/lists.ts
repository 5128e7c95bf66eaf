import { fromBase64Url, toBase64Url } from '../core/base64url.ts'
import type { Exchange, Outcome } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'

const cursorPrefix = 'from:'

/**
 * One page of a list, from the position of the request's cursor; an empty one is that of the first page, as some clients
 * send it.
 */
export function page(
  name: string,
  items: readonly unknown[],
  { params, limits }: Pick<Exchange, 'params' | 'limits'>,
  size: number,
  hints: object,
): Outcome {
  const { cursor } = params
  const from =
    cursor === undefined || cursor === '' ? 0 : positionOf(cursor, items.length, limits.cursorChars)
  const end = from + size
  const result: JsonObject = {
    [name]: from === 0 && end >= items.length ? items : items.slice(from, end),
    ...hints,
  }
  if (end < items.length)
    result['nextCursor'] = toBase64Url(new TextEncoder().encode(`${cursorPrefix}${end}`))
  return { type: 'complete', result }
}

function positionOf(cursor: unknown, length: number, maxChars: number): number {
  const bytes = typeof cursor === 'string' && cursor.length <= maxChars ? fromBase64Url(cursor) : undefined
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes)
  const position = text.startsWith(cursorPrefix) ? Number(text.slice(cursorPrefix.length)) : Number.NaN
  if (!Number.isSafeInteger(position) || position < 1 || position > length) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'Invalid params: the cursor is not one of this list. Start without one.',
    )
  }
  return position
}
