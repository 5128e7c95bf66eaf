import { McpError } from '@jackfield/sdk'
import { readJson } from '@jackfield/sdk/internal'
import { redactedError, type SecretRedactor } from '../../config/secrets/redactor.ts'
import type { InboxRow, SuspendedCall } from '../../log/store/inbox-tables.ts'
import type { Owners } from '../../log/store/owners.ts'
import type { Store } from '../../log/store/store.ts'
import { advice, asStoreError, cannotRecord } from '../../log/store/store-error.ts'
import { canonical } from '../../shared/json.ts'
import { reasonOf } from '../../shared/text.ts'
import type {
  BrokeredCall,
  HostAnswers,
  HostQuestion,
  Inbox,
  InboxItem,
  QuestionKind,
  Surface,
} from '../../types/index.ts'
import { isAnswerTo, isRefusal, problemWithAnswer } from './answers.ts'
import { type AskOptions, type GivenAnswer, NoSurfaceError, type QuestionQueue } from './question-queue.ts'
import { InboxRedaction, type StoredAnswer } from './redaction.ts'
import { UnrecordedAnswers } from './unrecorded.ts'
import { type Attachment, WaitingQuestion } from './waiting.ts'

/** Interval in milliseconds of checking for answers of other programs while a question is open. */
const pollMs = 50
/** Maximum open questions of one program. */
const maxOpen = 1_000
/** Maximum characters of one question as JSON. */
const maxQuestion = 8_388_608
/** Maximum characters of all open questions of one program. */
const maxOpenCharacters = 67_108_864
/** Maximum results of resumed calls held in memory. */
const maxRetainedResults = 64

export interface InboxDeps {
  store: Pick<Store, 'inbox' | 'suspendedCalls' | 'owners'>
  redactor: SecretRedactor
  /** Called for every change of an item. `rows`: its activity row and those that led to it. */
  onChange(item: InboxItem, rows: readonly number[]): void
  /** The user deferred a question. `rows`: its activity row and the rows that led to it. */
  onSuspended(item: InboxItem, rows: readonly number[]): void
  /** Shows the user a warning about a server's question. */
  warn(server: string, message: string): void
  /** A surface was attached or detached. */
  onSurfacesChanged(): void
  /** Resumes calls whose program ended. */
  resume: {
    /** Why this host cannot resume a call; undefined if it can. */
    refusal(call: SuspendedCall): string | undefined
    run(call: SuspendedCall): Promise<BrokeredCall>
  }
}

interface Open extends WaitingQuestion {
  /** Ends the question with the state of its row, which is no longer open. */
  settled(row: InboxRow): void
  /** Characters of the question as JSON. */
  readonly characters: number
}

/**
 * Shows questions on every surface that supports them and keeps them in the store, where any program can answer them; the first
 * answer counts.
 */
export class LiveInbox implements Inbox, QuestionQueue {
  readonly #deps: InboxDeps
  readonly #redaction: InboxRedaction
  readonly #owners: Owners
  readonly #unrecorded: UnrecordedAnswers
  readonly #open = new Map<string, Open>()
  readonly #attached = new Set<Attachment>()
  /** Questions of suspended calls that this program asked, or whose answer it claimed. */
  readonly #claimedIds = new Set<string>()
  /** The round of a call whose answers are reused because the call is repeated. */
  readonly #reused = new Map<number, number>()
  readonly #results = new Map<number, Promise<BrokeredCall>>()
  #seenVersion = 0
  #polling: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: InboxDeps) {
    this.#deps = deps
    this.#redaction = new InboxRedaction(deps.redactor)
    this.#owners = deps.store.owners
    this.#unrecorded = new UnrecordedAnswers(deps.store.inbox, (id, { answer, by }) =>
      this.#settle(id, answer, by),
    )
  }

  get names(): string {
    return [...this.#attached].map(({ surface }) => surface.name).join(', ') || 'nobody'
  }

  get canOpenUrls(): boolean {
    return [...this.#attached].some(
      ({ surface }) => surface.show.elicitation !== undefined && surface.urlElicitation,
    )
  }

  canAsk(kind: QuestionKind): boolean {
    return [...this.#attached].some(({ surface }) => surface.show[kind] !== undefined)
  }

  attach(surface: Surface): () => void {
    const detached = new AbortController()
    const attachment = { surface, detached: detached.signal }
    this.#attached.add(attachment)
    for (const open of this.#open.values()) open.show(attachment)
    this.#deps.onSurfacesChanged()
    return () => {
      if (!this.#attached.delete(attachment)) return
      for (const open of this.#open.values()) open.hide(attachment)
      detached.abort(new McpError('CANCELLED', 'The surface was detached'))
      this.#deps.onSurfacesChanged()
    }
  }

  ask<Q extends HostQuestion>(original: Q, { signal, activity }: AskOptions): Promise<GivenAnswer<Q>> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      if (this.#closed) throw new McpError('CANCELLED', 'The host is closed')
      const question = this.#redaction.redacted(original)
      const suspended = this.#suspendedCallFor(question, activity)
      const earlier = suspended && this.#answeredBefore(question, suspended)
      if (earlier !== undefined) return resolve(earlier)
      const characters = JSON.stringify(question).length
      this.#refuseWhenFull(characters)
      const row = this.#store(question, activity, suspended)

      const end = (reason: string): void => {
        open.end(reason)
        signal.removeEventListener('abort', withdraw)
        this.#open.delete(question.id)
        this.#unrecorded.removePending(question.id)
        if (this.#open.size === 0) this.#stopPolling()
      }
      const settled = (now: InboxRow): void => {
        end(outcomeOf(now))
        const answer = now.state === 'answered' ? this.#restoreAnswer(original, now) : undefined
        if (answer !== undefined) resolve(answer)
        else if (now.state === 'open') reject(new McpError('CANCELLED', 'The question stays in the inbox'))
        else
          reject(
            new McpError(
              'CANCELLED',
              `The question is ${now.state}: ${now.reason ?? 'no program waits for it'}`,
            ),
          )
      }
      const fail = (reason: string, error: unknown): void => {
        try {
          const now = this.#withdraw(question.id, reason)
          if (now?.state === 'answered') settled(now)
          else end(reason)
        } catch (problem) {
          // The failure is reported to the caller even if the store cannot be written.
          end(reason)
          if (asStoreError(problem) === undefined)
            process.emitWarning(`A question could not be withdrawn in the store: ${reasonOf(problem)}`)
          else this.#unrecorded.addSettled({ ...row, state: 'withdrawn', reason })
        }
        reject(error)
      }
      const withdraw = (): void =>
        fail(`the answer is no longer wanted: ${reasonOf(signal.reason)}`, signal.reason)
      const waiting = new WaitingQuestion({
        row,
        signal,
        answer: (answer, by) => {
          const problem = problemWithAnswer(question, answer)
          if (problem !== undefined) throw new McpError('INVALID', `${by} gave no valid answer: ${problem}`)
          try {
            this.#settle(question.id, answer, by)
          } catch (error) {
            this.#deps.warn(question.cause.server, reasonOf(error))
            throw error
          }
        },
        deferred: () => {
          this.#deps.onSuspended(this.#item(row), this.#rowsOf(row))
        },
        failed: (error) => fail('it could not be shown', error),
      })
      const open: Open = Object.assign(waiting, { settled, characters })
      this.#open.set(question.id, open)
      this.#notify(row)
      signal.addEventListener('abort', withdraw, { once: true })
      this.#poll()
      const shown = [...this.#attached].filter((attachment) => open.show(attachment))
      if (shown.length === 0) fail('no-surface: no surface could show it', new NoSurfaceError(this.names))
    })
  }

  list: Inbox['list'] = (filter = {}) => {
    this.#sweep()
    const { state = 'open' } = filter
    return this.#deps.store.inbox
      .list(filter)
      .map((row) => this.#unrecorded.current(row))
      .filter((row) => state === 'all' || row.state === state)
      .map((row) => this.#item(row))
  }

  get(id: string): InboxItem | undefined {
    this.#sweep()
    const row = this.#row(id)
    return row && this.#item(row)
  }

  answer(id: string, answer: HostAnswers[QuestionKind], by: string): void {
    this.#sweep()
    const row = this.#row(id)
    if (row === undefined) throw new McpError('NOT_FOUND', `There is no question ${id}`)
    if (row.state !== 'open') throw notOpen(row)
    const problem = problemWithAnswer(row.question, answer)
    if (problem !== undefined)
      throw new McpError('INVALID', `The answer does not fit the question: ${problem}`)
    const refusal = this.refusal(id)
    if (refusal !== undefined) throw new McpError('INVALID', refusal)
    if (!this.#settle(id, answer, by)) throw notOpen(this.#row(id) ?? row)
    this.resumed(id)?.catch(() => {})
  }

  refusal(id: string): string | undefined {
    const row = this.#row(id)
    if (row === undefined || row.state !== 'open' || row.owner !== null) return undefined
    const call = row.suspended && this.#deps.store.suspendedCalls.get(row.suspended.call)
    return call === undefined
      ? `The call that asked ${row.id} no longer exists; make it again`
      : this.#deps.resume.refusal(call)
  }

  resumed(id: string): Promise<BrokeredCall> | undefined {
    this.#sweep()
    const { inbox, suspendedCalls } = this.#deps.store
    const suspended = inbox.get(id)?.suspended
    if (suspended === undefined) return undefined
    const known = this.#results.get(suspended.call)
    if (known !== undefined) return known
    const call = suspendedCalls.get(suspended.call)
    if (call === undefined || call.owner !== null || call.sent || call.round !== suspended.round)
      return undefined
    if (inbox.ofRound(suspended.call, suspended.round).some(({ state }) => state === 'open')) return undefined
    const refusal = this.#deps.resume.refusal(call)
    if (refusal !== undefined) throw new McpError('INVALID', refusal)
    for (const { id: questionId } of inbox.ofRound(suspended.call, suspended.round))
      this.#claimedIds.delete(questionId)
    const { redactor } = this.#deps
    const result = this.#deps.resume.run(call).then(
      (done) => redactor.value(done),
      (error: unknown) => {
        throw redactedError(error, redactor)
      },
    )
    this.#storeResult(suspended.call, result)
    return result
  }

  /** Reuses the answers of a round for equal questions of the repeated call. */
  reuseAnswers(call: number, round: number): void {
    for (const { id } of this.#deps.store.inbox.ofRound(call, round)) this.#claimedIds.delete(id)
    this.#reused.set(call, round)
  }

  /** Releases every question: those of suspended calls stay open for other programs, the others are lost. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopPolling()
    this.#unrecorded.end()
    const { inbox } = this.#deps.store
    // A store that cannot be written does not prevent closing: the next program detects that this one has ended.
    const attempt = <T>(work: () => T): T | undefined => {
      try {
        return work()
      } catch (error) {
        process.emitWarning(`The end of a question could not be stored: ${reasonOf(error)}`)
        return undefined
      }
    }
    attempt(() => inbox.abandon(this.#owners.me, 'the program that asked ended'))
    for (const [id, open] of [...this.#open]) {
      const now = attempt(() => inbox.get(id)) ?? open.row
      attempt(() => this.#notify(now))
      open.settled(now)
    }
  }

  #row(id: string): InboxRow | undefined {
    const row = this.#deps.store.inbox.get(id)
    return row && this.#unrecorded.current(row)
  }

  /** The answer is accepted if it is the first; true also if it takes effect once recorded. */
  #settle(id: string, answer: unknown, by: string): boolean {
    const { inbox } = this.#deps.store
    const row = this.#row(id)
    if (row === undefined || row.state !== 'open') return false
    const isMine = row.owner === null || row.owner === this.#owners.me
    const stored = this.#redaction.toStored(row.question, answer, row.address, isMine)
    let isFirst: boolean
    try {
      isFirst = inbox.answer(id, { ...stored, by })
    } catch (error) {
      this.#settleUnrecorded(row, { answer, stored, by }, error)
      return true
    }
    const now = inbox.get(id)
    if (now === undefined) return isFirst
    if (isFirst) this.#notify(now)
    this.#open.get(id)?.settled(now)
    return isFirst
  }

  /**
   * Settles an open question of this program although the store cannot record the answer. A refusal takes effect at once, and so
   * does input to a call that is not suspended. Input to a suspended call takes effect once recorded, so that no other program
   * sends it again.
   * @throws StoreError for an answer that permits something, and for a question of another program
   */
  #settleUnrecorded(
    row: InboxRow,
    { answer, stored, by }: { answer: unknown; stored: StoredAnswer; by: string },
    error: unknown,
  ): void {
    const storeError = asStoreError(error)
    if (storeError === undefined) throw error
    const { id, question, suspended } = row
    const open = this.#open.get(id)
    const reason = `${reasonOf(error)}. ${advice[storeError.fault]}`
    const warn = (message: string): void => this.#deps.warn(question.cause.server, message)
    const isInput = question.kind === 'input' || (question.kind === 'elicitation' && suspended === undefined)
    const takesEffectNow = isRefusal(question, answer) || isInput
    if (open !== undefined && takesEffectNow) {
      const { value, ...sealed } = stored
      const now: InboxRow = {
        ...row,
        ...sealed,
        state: 'answered',
        // As the store would return it.
        answer: { value: readJson(JSON.stringify(value)), by, at: new Date().toISOString() },
      }
      this.#unrecorded.addSettled(now)
      warn(`Your answer was sent, but it cannot be recorded yet: ${reason}`)
      this.#notify(now)
      open.settled(now)
    } else if (open !== undefined && question.kind === 'elicitation') {
      if (this.#unrecorded.addPending(id, { answer, by }))
        warn(
          `Your answer is not sent yet, because it cannot be recorded: ${reason} It is sent as soon as it can be; until then you can still decline or cancel.`,
        )
    } else throw cannotRecord('the answer', error)
  }

  /** Withdraws the question; returns its final state. */
  #withdraw(id: string, reason: string): InboxRow | undefined {
    const { inbox } = this.#deps.store
    const withdrawn = inbox.withdraw(id, reason)
    const now = inbox.get(id)
    if (withdrawn && now !== undefined) this.#notify(now)
    return now
  }

  /** Forms, URL elicitations and roots of a suspended call can be answered at any time; a sampling request is not repeated. */
  #suspendedCallFor(question: HostQuestion, activity: number | null): InboxRow['suspended'] {
    if (question.kind !== 'elicitation' && question.kind !== 'roots') return undefined
    return activity === null ? undefined : this.#deps.store.suspendedCalls.above(activity)
  }

  /** The answer given while no program waited for it. Equal questions are distinguished by their order. */
  #answeredBefore<Q extends HostQuestion>(
    question: Q,
    { call, round }: NonNullable<InboxRow['suspended']>,
  ): GivenAnswer<Q> | undefined {
    const { inbox } = this.#deps.store
    const reused = this.#reused.get(call)
    const rows = [...inbox.ofRound(call, round), ...(reused === undefined ? [] : inbox.ofRound(call, reused))]
    const answered = rows.find(
      (row) =>
        row.state === 'answered' && !this.#claimedIds.has(row.id) && sameQuestion(row.question, question),
    )
    if (answered === undefined) return undefined
    this.#claimedIds.add(answered.id)
    return this.#restoreAnswer(question, answered)
  }

  /** The unredacted answer; undefined if there is none, or its secrets are not available any more. */
  #restoreAnswer<Q extends HostQuestion>(
    question: Q,
    { id, answer, sealed }: InboxRow,
  ): GivenAnswer<Q> | undefined {
    if (answer === undefined) return undefined
    const { value, by } = answer
    const restored = this.#redaction.restore(id, { value, ...(sealed !== undefined && { sealed }) })
    if (question.kind === 'input') this.#redaction.forget(id)
    if (restored === undefined || !isAnswerTo(question, restored.value)) return undefined
    if (sealed !== undefined && sealed !== '') this.#deps.store.inbox.deleteSealedAnswer(id)
    return { answer: this.#redaction.withSecrets(question, restored.value), by }
  }

  #refuseWhenFull(characters: number): void {
    if (characters > maxQuestion) {
      throw new McpError('LIMIT', `The question has more than ${maxQuestion} characters`)
    }
    if (this.#open.size >= maxOpen) {
      throw new McpError('LIMIT', `${maxOpen} questions are open already; answer some of them first`)
    }
    let openCharacters = characters
    for (const open of this.#open.values()) openCharacters += open.characters
    if (openCharacters > maxOpenCharacters) {
      throw new McpError(
        'LIMIT',
        `The open questions take ${maxOpenCharacters} characters already; answer some of them first`,
      )
    }
  }

  #store(question: HostQuestion, activity: number | null, suspended: InboxRow['suspended']): InboxRow {
    this.#owners.lock()
    if (suspended !== undefined) this.#claimedIds.add(question.id)
    const address = this.#owners.shared ? { address: this.#redaction.address } : {}
    return this.#deps.store.inbox.add({ question, activity, owner: this.#owners.me, suspended, ...address })
  }

  #storeResult(call: number, result: Promise<BrokeredCall>): void {
    this.#results.set(call, result)
    const resumed = (): void => {
      this.#reused.delete(call)
      // A call that failed before its answers were sent can be resumed again.
      if (!this.#closed && this.#deps.store.suspendedCalls.get(call)?.owner === null)
        this.#results.delete(call)
    }
    result.then(resumed, resumed)
    const [oldest] = this.#results.keys()
    if (this.#results.size > maxRetainedResults && oldest !== undefined) this.#results.delete(oldest)
  }

  /** Detects which programs have ended, and updates their questions. */
  #sweep(): void {
    if (this.#closed || !this.#owners.shared) return
    const { inbox } = this.#deps.store
    for (const owner of inbox.owners()) {
      if (!this.#owners.isGone(owner)) continue
      for (const row of inbox.abandon(owner, 'the program that asked ended')) this.#notify(row)
    }
  }

  /** Polls for answers of other programs while a question is open. */
  #poll(): void {
    if (!this.#owners.shared || this.#polling !== undefined) return
    const { inbox } = this.#deps.store
    this.#seenVersion = -1
    this.#polling = setInterval(() => {
      try {
        const version = inbox.version()
        if (version === this.#seenVersion) return
        for (const id of [...this.#open.keys()]) this.#settleFromStore(id)
        this.#seenVersion = version
      } catch {
        // A busy store is checked again at the next interval.
      }
    }, pollMs)
  }

  #settleFromStore(id: string): void {
    const row = this.#deps.store.inbox.get(id)
    if (row === undefined || row.state === 'open') return
    this.#notify(row)
    this.#open.get(id)?.settled(row)
  }

  #stopPolling(): void {
    clearInterval(this.#polling)
    this.#polling = undefined
  }

  #notify(row: InboxRow): void {
    this.#deps.onChange(this.#item(row), this.#rowsOf(row))
  }

  #rowsOf({ activity }: InboxRow): number[] {
    return activity === null ? [] : this.#deps.store.inbox.above(activity)
  }

  #item({ owner, suspended, address: _address, sealed: _sealed, ...row }: InboxRow): InboxItem {
    return { ...row, resumable: suspended !== undefined, waits: row.state === 'open' && owner !== null }
  }
}

function sameQuestion(one: HostQuestion, other: HostQuestion): boolean {
  const text = ({ id: _id, cause: _cause, ...rest }: HostQuestion): string => {
    if (rest.kind === 'roots') return canonical(rest.roots)
    // Prefilled values may have changed meanwhile.
    return canonical(rest.kind === 'elicitation' ? { ...rest, remembered: null } : rest)
  }
  return text(one) === text(other)
}

/** The outcome of a question, for the surfaces that showed it. */
function outcomeOf({ state, answer, reason }: InboxRow): string {
  if (state === 'answered' && answer !== undefined) return `Answered by ${answer.by}`
  return `The question is ${state === 'open' ? 'left in the inbox' : state}${reason === undefined ? '' : `: ${reason}`}`
}

function notOpen({ id, state, answer, reason }: InboxRow): McpError {
  if (answer !== undefined && state === 'answered') {
    return new McpError('CONFLICT', `Question ${id} was already answered by ${answer.by} at ${answer.at}`)
  }
  return new McpError('CONFLICT', `Question ${id} is ${state}${reason === undefined ? '' : `: ${reason}`}`)
}
