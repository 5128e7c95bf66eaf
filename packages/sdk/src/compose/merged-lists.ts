import type { Exchange, Outcome } from '../core/exchange.ts'
import type { RequestLimits } from '../core/limits.ts'
import { jsonBytes } from '../jsonrpc/bytes.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
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
 * One page over all members. The cursor is the prefix of a member, how many pages and bytes it gave, and its own cursor, empty
 * at its beginning, so nothing is kept between pages.
 */
export async function mergedPage(
  exchange: Exchange,
  list: MergedList,
  { members, pageSize, onFailure }: MergeOptions,
): Promise<Outcome> {
  const { limits, params } = exchange
  /** Bytes of one member's list. A client takes twice as many in all, so that one member keeps it from none of the others. */
  const memberBytes = limits.listBytes / 2
  /** A merged page that has this many bytes waits for no more members, so that it stays small enough to be a message. */
  const enoughBytes = limits.messageBytes / 2
  const offering = members.filter(({ server }) => server.capabilities[list.capability] !== undefined)
  const entries: JsonObject[] = []
  const hints = new Hints()
  let at = placeOf(params['cursor'], offering, limits)
  let total = 0
  for (let calls = 0; at !== undefined; calls++) {
    if (entries.length >= pageSize || calls === maxCalls || total >= enoughBytes) break
    const { member, pages, cursor } = at
    await list.before?.(member)
    const page = await pageOf(exchange, member, cursor).catch((error: unknown) => {
      if (exchange.signal.aborted || (cursor !== '' && isInvalid(error))) throw error
      onFailure(member, error)
      return undefined
    })
    const bytes: number = at.bytes + (page === undefined ? 0 : bytesOf(page, at))
    const isTooMuch = bytes > memberBytes
    total += bytes - at.bytes
    if (page !== undefined && !isTooMuch) {
      list.learn?.(member, page)
      hints.add(page)
      for (const entry of objectsIn(page[list.column])) {
        const shown = list.show(entry, member)
        if (shown !== undefined) entries.push(shown)
      }
    }
    const next = after(at, page, bytes, limits)
    const isEndless = next !== undefined && pages >= limits.pages
    if (isTooMuch) onFailure(member, tooLarge(exchange.method, pages, bytes, memberBytes))
    else if (isEndless) onFailure(member, endless(exchange.method, limits.pages))
    at = next === undefined || isTooMuch || isEndless ? atFirst(following(member, offering)) : next
  }
  const result: JsonObject = { [list.column]: entries, ...hints.common }
  if (at !== undefined) result['nextCursor'] = cursorOf(at)
  return { type: 'complete', result }
}

/** Where a page begins. */
interface Place {
  readonly member: Member
  /** Which page of that member it is, counted from 1, so that one whose list has no end keeps nobody from the others. */
  readonly pages: number
  /** Bytes of its pages before this one. */
  readonly bytes: number
  readonly cursor: string
}

const cursorForm = /^([^:+]*)(?:\+(\d{1,6})\+(\d{1,12}))?:(.*)$/s

function placeOf(cursor: unknown, members: readonly Member[], limits: RequestLimits): Place | undefined {
  if (cursor === undefined || cursor === '') return atFirst(members[0])
  const fits = typeof cursor === 'string' && cursor.length <= limits.cursorChars
  const [, name, pages = '1', bytes = '0', own = ''] = (fits && cursorForm.exec(cursor)) || []
  const member = members.find(({ prefix }) => prefix === name)
  if (member !== undefined) return { member, pages: Number(pages), bytes: Number(bytes), cursor: own }
  throw new RpcError(
    ErrorCode.InvalidParams,
    'Invalid params: the cursor is not one of this list. Start without one.',
  )
}

function cursorOf({ member, pages, bytes, cursor }: Place): string {
  return `${member.prefix}${pages === 1 ? '' : `+${pages}+${bytes}`}:${cursor}`
}

function atFirst(member: Member | undefined): Place | undefined {
  return member && { member, pages: 1, bytes: 0, cursor: '' }
}

/** The place after a page in the same member; undefined where that was its last. */
function after(
  { member, pages }: Place,
  page: JsonObject | undefined,
  bytes: number,
  limits: RequestLimits,
): Place | undefined {
  const cursor = page?.['nextCursor']
  if (typeof cursor !== 'string' || cursor === '') return undefined
  const next = { member, pages: pages + 1, bytes, cursor }
  return cursorOf(next).length <= limits.cursorChars ? next : undefined
}

function following(member: Member, members: readonly Member[]): Member | undefined {
  return members[members.indexOf(member) + 1]
}

/** Bytes of one page of several. A list of one page is as small as a message must be, and is not measured. */
function bytesOf(page: JsonObject, { pages }: Place): number {
  return pages === 1 && page['nextCursor'] === undefined ? 0 : jsonBytes(page)
}

function endless(method: string, most: number): McpError {
  return new McpError('LIMIT', `It gave more than ${most} pages of ${method}: the rest is left out`)
}

function tooLarge(method: string, pages: number, bytes: number, memberBytes: number): McpError {
  return new McpError(
    'LIMIT',
    `It gave ${bytes} bytes of ${method} in ${pages} pages, and a member may give at most ${memberBytes}: the rest is left out`,
  )
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
    this.#ttlMs = Math.min(this.#ttlMs, Number.isSafeInteger(ttlMs) ? Math.max(0, Number(ttlMs)) : 0)
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
