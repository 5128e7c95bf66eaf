import { randomUUID } from 'node:crypto'
import { McpError, type SamplingMessage } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import type { ConversationRow } from '../log/store/conversation-table.ts'
import type { Store } from '../log/store/store.ts'
import { inWords, isRecord, type JsonRecord } from '../shared/json.ts'
import { oneLine } from '../shared/text.ts'
import type { ConversationEntry, ConversationFacts, ConversationStore } from '../types/index.ts'

/** Dependencies of the store. */
interface ConversationDeps {
  store: Pick<Store, 'conversations' | 'labels'>
  /** Redacts secrets before storing. */
  redact<T>(value: T): T
  /** Called after entries were added to a conversation. */
  added?: (id: string, from: number, entries: readonly ConversationEntry[]) => void
  /** Called after a conversation was removed. */
  removed?: (id: string) => void
  /** Milliseconds since 1970. Default the clock. */
  now?: () => number
}

/** Stores conversations as rows with their entries; forks share the entries of their parent. */
export function createConversationStore({
  store,
  redact,
  added: onAdded,
  removed: onRemoved,
  now = Date.now,
}: ConversationDeps): ConversationStore {
  const table = store.conversations

  function find(id: string): ConversationRow {
    const matches = table.beginningWith(id)
    const exact = matches.find((row) => row.id === id)
    const [row, other] = exact === undefined ? matches : [exact]
    const quotedId = JSON.stringify(oneLine(id))
    if (row === undefined || id === '')
      throw new McpError('NOT_FOUND', `There is no conversation ${quotedId}.`)
    if (other !== undefined)
      throw new McpError('INVALID', `Several conversations begin with ${quotedId}; give more of the id.`)
    return row
  }

  function entries({ id, parent, shared }: ConversationRow, before: number): ConversationEntry[] {
    const parentRow = parent === null ? undefined : table.get(parent)
    const inherited = parentRow === undefined ? [] : entries(parentRow, Math.min(shared, before))
    return [...inherited, ...table.entries(id, before).map(entryFrom)]
  }

  return {
    list: ({ limit = 50 } = {}) => table.list(limit).map(conversationFacts),
    find: (id) => conversationFacts(find(id)),
    entries: (id, from = 0) => {
      const row = find(id)
      // Its own entries start after the shared ones.
      if (from >= row.shared) return table.entries(row.id, Number.MAX_SAFE_INTEGER, from).map(entryFrom)
      return entries(row, Number.MAX_SAFE_INTEGER).slice(from)
    },
    count: (id) => table.count(id) ?? 0,
    append(id, known, added) {
      const at = new Date(now()).toISOString()
      const newRow: ConversationRow = {
        ...{ id, title: '', model: '', at, lastAt: at, turns: 0 },
        ...{ inputTokens: 0, outputTokens: 0, parent: null, shared: 0 },
      }
      const redacted = redact(added)
      const row = redacted.reduce(withEntry, { ...(table.get(id) ?? newRow), lastAt: at })
      const texts = redacted.map((entry) => ({ at, entry: entryText(entry) }))
      if (!table.append(row, known, texts)) {
        throw new McpError(
          'CONFLICT',
          'This conversation went on in another window, so nothing was added to it. Resume it to see what was said there, or fork it.',
          { details: { conversation: id } },
        )
      }
      if (known === 0) table.prune()
      onAdded?.(id, known, redacted)
    },
    fork(id, requestedCount) {
      const row = find(id)
      const all = entries(row, Number.MAX_SAFE_INTEGER)
      const shared = Math.min(Math.max(0, requestedCount ?? all.length), all.length)
      const at = new Date(now()).toISOString()
      const fork = randomUUID()
      const from = all.slice(0, shared).reduce(withEntry, { ...row, turns: 0 })
      table.create({
        ...from,
        ...{ id: fork, at, lastAt: at, inputTokens: 0, outputTokens: 0, parent: row.id, shared },
      })
      // It inherits the labels of the copied entries.
      for (const seen of store.labels.of(row.id)) store.labels.add(fork, seen)
      return fork
    },
    remove(id) {
      const row = find(id)
      if (table.hasForks(row.id)) {
        throw new McpError(
          'CONFLICT',
          'Another conversation was forked from this one; remove that one first.',
        )
      }
      table.remove(row.id)
      onRemoved?.(row.id)
    },
  }
}

function withEntry(row: ConversationRow, entry: ConversationEntry): ConversationRow {
  switch (entry.kind) {
    case 'turn':
      return { ...row, model: entry.model, turns: row.turns + 1 }
    case 'title':
      return { ...row, title: entry.title }
    case 'usage':
      return {
        ...row,
        inputTokens: row.inputTokens + entry.inputTokens,
        outputTokens: row.outputTokens + entry.outputTokens,
      }
    case 'message':
    case 'result':
    case 'tools':
    case 'summary':
      return row
  }
}

function conversationFacts({ parent, shared, ...row }: ConversationRow): ConversationFacts {
  return { ...row, ...(parent !== null && { fork: { of: parent, entries: shared } }) }
}

/** Maximum characters of one stored entry's JSON. */
const maxEntryChars = 8_388_608
const maxTextChars = 1_000_000

/** An entry for the store. If it is too large, images and audio are removed and texts are cut, with a note. */
export function entryText(entry: ConversationEntry): string {
  const whole = JSON.stringify(entry)
  if (whole.length <= maxEntryChars) return whole
  const cut = JSON.stringify(entry, (_name, value: unknown) => {
    if (isLarge(value))
      return { type: 'text', text: `[${value.type} of ${inWords(value.mimeType)}: too large to be kept]` }
    if (typeof value !== 'string' || value.length <= maxTextChars) return value
    return `${value.slice(0, maxTextChars)}… [${value.length - maxTextChars} more characters were not kept]`
  })
  if (cut.length <= maxEntryChars) return cut
  const note: SamplingMessage = {
    role: 'user',
    content: { type: 'text', text: `[A message of ${whole.length} characters was too large to be kept.]` },
  }
  return JSON.stringify({ kind: 'message', by: 'host', message: note })
}

/** Parses the text made by `entryText`. */
export function entryFrom(text: string): ConversationEntry {
  return readJson(text)
}

function isLarge(value: unknown): value is JsonRecord {
  return (
    isRecord(value) &&
    (value.type === 'image' || value.type === 'audio') &&
    typeof value.data === 'string' &&
    value.data.length > maxTextChars
  )
}
