import type { Exchange, Outcome } from '../core/exchange.ts'
import { limits } from '../core/limits.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Member } from './members.ts'

/** One list as it is merged out of the members' own. */
export interface MergedList {
  /** The member of the result that holds the entries. */
  readonly column: string
  /** The capability without which a server has no such list. */
  readonly capability: 'tools' | 'resources' | 'prompts'
  /** An entry as the composition shows it; undefined for one it does not show. */
  show(entry: JsonObject, member: Member): JsonObject | undefined
  /** Called before a member is listed. */
  before?(member: Member): Promise<void>
  /** Sees every page a member gave. */
  learn?(member: Member, page: JsonObject): void
}

export interface MergeOptions {
  members: readonly Member[]
  /** About how many entries make a page. */
  pageSize: number
  /** Hears of a member whose list could not be had; the others are listed all the same. */
  onFailure: (member: Member, error: unknown) => void
}

const maxCalls = 100

/**
 * One page over all members. The cursor is the prefix of a member and that member's own cursor, empty at its beginning,
 * so nothing is kept between pages.
 */
export async function mergedPage(
  exchange: Exchange,
  list: MergedList,
  { members, pageSize, onFailure }: MergeOptions,
): Promise<Outcome> {
  const offering = members.filter(({ server }) => server.capabilities[list.capability] !== undefined)
  const entries: JsonObject[] = []
  const hints = new Hints()
  let at = placeOf(exchange.params['cursor'], offering)
  for (let calls = 0; at !== undefined; calls++) {
    if (entries.length >= pageSize || calls === maxCalls) break
    const { member, cursor } = at
    await list.before?.(member)
    const page = await pageOf(exchange, member, cursor).catch((error: unknown) => {
      if (exchange.signal.aborted || (cursor !== '' && isInvalid(error))) throw error
      onFailure(member, error)
      return undefined
    })
    if (page !== undefined) {
      list.learn?.(member, page)
      hints.add(page)
      for (const entry of objectsIn(page[list.column])) {
        const shown = list.show(entry, member)
        if (shown !== undefined) entries.push(shown)
      }
    }
    at = after(at, page, offering)
  }
  const result: JsonObject = { [list.column]: entries, ...hints.common }
  if (at !== undefined) result['nextCursor'] = `${at.member.prefix}:${at.cursor}`
  return { type: 'complete', result }
}

/** Where a page begins. */
interface Place {
  readonly member: Member
  readonly cursor: string
}

function placeOf(cursor: unknown, members: readonly Member[]): Place | undefined {
  if (cursor === undefined) {
    const [first] = members
    return first && { member: first, cursor: '' }
  }
  const colon = typeof cursor === 'string' && cursor.length <= limits.cursorChars ? cursor.indexOf(':') : -1
  if (typeof cursor === 'string' && colon !== -1) {
    const member = members.find(({ prefix }) => prefix === cursor.slice(0, colon))
    if (member !== undefined) return { member, cursor: cursor.slice(colon + 1) }
  }
  throw new RpcError(
    ErrorCode.InvalidParams,
    'Invalid params: the cursor is not one of this list. Start without one.',
  )
}

/** The place after a page: further in the same member, or at the beginning of the next. */
function after(
  { member }: Place,
  page: JsonObject | undefined,
  members: readonly Member[],
): Place | undefined {
  const next = page?.['nextCursor']
  const fits = typeof next === 'string' && next !== ''
  if (fits && member.prefix.length + 1 + next.length <= limits.cursorChars) return { member, cursor: next }
  const following = members[members.indexOf(member) + 1]
  return following && { member: following, cursor: '' }
}

async function pageOf(exchange: Exchange, member: Member, cursor: string): Promise<JsonObject> {
  const { cursor: _cursor, ...params } = exchange.params
  const own = cursor === '' ? params : { ...params, cursor }
  const outcome = await member.server.handle(member.exchange(exchange, own))
  if (outcome.type !== 'complete') throw new TypeError(`${exchange.method} ended without a list`)
  return outcome.result
}

/** How fresh several pages are together: as the one that is so for the shortest time, and for the fewest. */
class Hints {
  #ttlMs = Number.POSITIVE_INFINITY
  #isPublic = true

  add({ ttlMs, cacheScope }: JsonObject): void {
    this.#ttlMs = Math.min(this.#ttlMs, typeof ttlMs === 'number' ? ttlMs : 0)
    this.#isPublic &&= cacheScope === 'public'
  }

  get common(): JsonObject {
    const known = Number.isFinite(this.#ttlMs)
    return { ttlMs: known ? this.#ttlMs : 0, cacheScope: known && this.#isPublic ? 'public' : 'private' }
  }
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function isInvalid(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.InvalidParams
}
