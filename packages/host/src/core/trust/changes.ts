import { randomUUID } from 'node:crypto'
import type { Recorder } from '../../log/store/activity-log.ts'
import type { TrustRow } from '../../log/store/trust-table.ts'
import { canonical, frozenCopy, isRecord, type JsonRecord } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type { DefinitionChange, HostEvent, TrustFinding, TrustItem } from '../../types/index.ts'
import { NoSurfaceError, type QuestionQueue } from '../inbox/question-queue.ts'

const maxDifferences = 40
const maxDescribedItems = 5
const maxDepth = 64
/** Maximum characters of JSON shown on one line. */
const maxLineCharacters = 100
/** Characters of JSON below which a schema is too common to identify a tool. */
const minSchemaCharacters = 60
const minDescriptionCharacters = 15

/** Whether a definition is accepted, pending, or blocked. */
export function stateOf({ agreed, seen, blocked }: TrustRow): 'pinned' | 'quarantined' | 'blocked' {
  if (blocked === seen.hash) return 'blocked'
  return agreed?.hash === seen.hash ? 'pinned' : 'quarantined'
}

/** A changed definition; `all` are the definitions of the same server, to find its previous name. */
export function changesOf(row: TrustRow, all: Iterable<TrustRow>): DefinitionChange[] {
  const { what, name, agreed, seen, listed } = row
  if (!listed) return [{ kind: 'removed', what, name }]
  if (agreed === undefined) {
    const former = renamedFrom(row, all)
    const after = JSON.stringify(seen.content, null, 2)
    if (former === undefined) return [{ kind: 'added', what, name, after }]
    const { name: _old, ...was } = former.seen.content
    const { name: _new, ...is } = seen.content
    return [
      { kind: 'renamed', what, name, before: former.name, after: name },
      ...differencesBetween(was, is).map((place) => ({ kind: 'changed' as const, what, name, ...place })),
    ]
  }
  if (agreed.hash === seen.hash) return []
  return differencesBetween(agreed.content, seen.content).map((place) => ({
    kind: 'changed' as const,
    what,
    name,
    ...place,
  }))
}

/** The removed definition with the same content, of which this one is a rename. */
function renamedFrom(row: TrustRow, all: Iterable<TrustRow>): TrustRow | undefined {
  const description = textOf(row.seen.content, 'description')
  const schema = canonical(row.seen.content['inputSchema'])
  let candidate: TrustRow | undefined
  for (const other of all) {
    if (other.what !== row.what || other.listed || other.agreed === undefined) continue
    const sameText =
      description.length >= minDescriptionCharacters &&
      textOf(other.seen.content, 'description') === description
    const sameSchema =
      schema.length >= minSchemaCharacters && canonical(other.seen.content['inputSchema']) === schema
    if (sameText && sameSchema) return other
    if (sameText || sameSchema) candidate ??= other
  }
  return candidate
}

interface Difference {
  field: string
  before?: string
  after?: string
}

/** Every difference of two definitions, as deep as possible. */
function differencesBetween(before: JsonRecord, after: JsonRecord): Difference[] {
  const differences: Difference[] = []
  let omitted = 0
  const compare = (was: unknown, is: unknown, field: string, depth: number): void => {
    if (isRecord(was) && isRecord(is) && depth < maxDepth) {
      for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
        compare(was[name], is[name], field === '' ? name : `${field}.${name}`, depth + 1)
      }
    } else if (areObjects(was) && areObjects(is) && was.length === is.length && depth < maxDepth) {
      for (const [index, item] of was.entries()) compare(item, is[index], `${field}[${index}]`, depth + 1)
    } else if (canonical(was) !== canonical(is) || (was === undefined) !== (is === undefined)) {
      if (differences.length >= maxDifferences) omitted++
      else {
        differences.push({
          field,
          ...(was !== undefined && { before: displayText(was) }),
          ...(is !== undefined && { after: displayText(is) }),
        })
      }
    }
  }
  compare(before, after, '', 0)
  return omitted === 0 ? differences : [...differences, { field: '…', after: `and ${omitted} more places` }]
}

function areObjects(value: unknown): value is JsonRecord[] {
  return Array.isArray(value) && value.every(isRecord)
}

function displayText(value: unknown): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= maxLineCharacters ? line : JSON.stringify(value, null, 2)
}

function textOf(content: JsonRecord, name: string): string {
  const text = content[name]
  return typeof text === 'string' ? text : ''
}

/** Definitions in words: `tool buy, prompt greet`, shortened after a few. */
export function describeItems(items: readonly TrustItem[]): string {
  const names = items
    .slice(0, maxDescribedItems)
    .map(({ what, name }) => (what === name ? what : `${what} ${name}`))
  const omitted = items.length - names.length
  return omitted > 0 ? `${names.join(', ')} and ${omitted} more` : names.join(', ')
}

interface ChangeReviewDeps {
  questions: QuestionQueue
  recorder: Recorder
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

/** Pending changes of one server. */
interface Review {
  server: string
  identity: string
  /** Whether some of it is new. */
  isNew: boolean
  waiting: readonly TrustRow[]
  /** The changes, with warnings. */
  notify: () => { changes: readonly DefinitionChange[]; findings: readonly TrustFinding[] }
}

type ApplyVerdict = (identity: string, rows: readonly TrustRow[], verdict: 'accept' | 'block') => void

/** Keeps at most one open question for each server, about all its pending changes. */
export class ChangeReview {
  readonly #deps: ChangeReviewDeps
  readonly #settle: ApplyVerdict
  readonly #open = new Map<string, { about: string; withdraw: AbortController }>()

  constructor(deps: ChangeReviewDeps, settle: ApplyVerdict) {
    this.#deps = deps
    this.#settle = settle
  }

  /** Whether a question about this server is open. */
  hasOpenQuestion(identity: string): boolean {
    return this.#open.has(identity)
  }

  review(review: Review): void {
    const { identity, waiting, isNew } = review
    const hashes = waiting.map(({ seen }) => seen.hash).join(' ')
    const open = this.#open.get(identity)
    if (open?.about === hashes) return
    open?.withdraw.abort(new Error('its subject changed or was decided'))
    this.#open.delete(identity)
    if (waiting.length === 0) return
    if (this.#deps.questions.canAsk('drift')) this.#ask(review, hashes)
    else if (isNew) {
      this.#row(review, review.notify()).close('quarantined', { reason: 'no person can be asked here' })
      this.#warn(review, '. No person can be asked here')
    } else this.#warn(review, '')
  }

  #warn(review: Review, suffix: string): void {
    const { server } = review
    this.#deps.emit({
      type: 'warning',
      server,
      message: `${summary(review)}${suffix}`,
      fixes: [{ action: 'review', server }],
    })
  }

  async #ask(review: Review, about: string): Promise<void> {
    const { server, identity, waiting, notify } = review
    const { changes, findings } = notify()
    const { questions, signal } = this.#deps
    const withdraw = new AbortController()
    this.#open.set(identity, { about, withdraw })
    const until = AbortSignal.any([withdraw.signal, signal])
    const row = this.#row(review, { changes, findings })
    try {
      const question = frozenCopy({
        kind: 'drift' as const,
        id: randomUUID(),
        cause: { server },
        changes,
        findings,
      })
      const { answer, by } = await questions.ask(question, { signal: until, activity: row.id })
      if (this.#open.get(identity)?.withdraw === withdraw) this.#open.delete(identity)
      this.#settle(identity, waiting, answer.verdict)
      row.close(answer.verdict === 'accept' ? 'accepted' : 'blocked', { by })
    } catch (error) {
      if (this.#open.get(identity)?.withdraw === withdraw) this.#open.delete(identity)
      row.close(until.aborted ? 'withdrawn' : 'error', {
        reason: reasonOf(until.aborted ? until.reason : error),
      })
      if (until.aborted) return
      const reason = error instanceof NoSurfaceError ? 'No person can be asked here' : reasonOf(error)
      this.#warn(review, `. ${reason}`)
    }
  }

  #row(review: Review, notification: ReturnType<Review['notify']>): ReturnType<Recorder['open']> {
    const { server, waiting } = review
    const items = waiting.map(({ what, name, agreed, seen }) => ({
      what,
      name,
      agreed: agreed?.hash ?? null,
      seen: seen.hash,
    }))
    return this.#deps.recorder.open({
      kind: 'drift',
      server,
      summary: summary(review),
      detail: { items, ...notification, surface: this.#deps.questions.names },
    })
  }
}

function summary({ server, waiting }: Review): string {
  const verb = waiting.length === 1 ? 'is' : 'are'
  const wasAccepted = waiting.some(({ agreed }) => agreed !== undefined)
  const state = wasAccepted ? 'different from what you accepted' : 'new or suspicious'
  return `${describeItems(waiting)} of ${server} ${verb} ${state}, and disabled until accepted`
}
