import type { Recorder } from '../../log/store/recorder.ts'
import type { TrustRow } from '../../log/store/trust-table.ts'
import { frozenCopy } from '../../shared/json.ts'
import { oneLine, reasonOf } from '../../shared/text.ts'
import type { DefinitionChange, HostEvent, TrustFinding } from '../../types/index.ts'
import { questionId } from '../asking/put.ts'
import { type Asker, Nobody } from '../inbox/asker.ts'
import { listed } from './changes.ts'

export interface QuestionerDeps {
  asker: Asker
  recorder: Recorder
  emit: (event: HostEvent) => void
  /** Aborted when the host closes. */
  signal: AbortSignal
}

/** What waits for the person at one server. */
export interface Review {
  server: string
  identity: string
  /** Whether some of it was not known before. */
  isNew: boolean
  waiting: readonly TrustRow[]
  /** What changed, and what to look at in it. */
  tell: () => { changes: readonly DefinitionChange[]; findings: readonly TrustFinding[] }
}

type Settle = (identity: string, rows: readonly TrustRow[], verdict: 'accept' | 'block') => void

/** Keeps at most one question open for each server: about all that waits there, as it is now. */
export class Questioner {
  readonly #deps: QuestionerDeps
  readonly #settle: Settle
  readonly #open = new Map<string, { about: string; withdraw: AbortController }>()

  constructor(deps: QuestionerDeps, settle: Settle) {
    this.#deps = deps
    this.#settle = settle
  }

  /** Whether a question about this server is open. */
  asks(identity: string): boolean {
    return this.#open.has(identity)
  }

  review(review: Review): void {
    const { server, identity, waiting, isNew } = review
    const about = waiting.map(({ seen }) => seen.hash).join(' ')
    const open = this.#open.get(identity)
    if (open?.about === about) return
    open?.withdraw.abort(new Error('what it was about changed or was decided'))
    this.#open.delete(identity)
    if (waiting.length === 0) return
    if (this.#deps.asker.can('drift')) this.#ask(review, about)
    else if (isNew) {
      this.#row(review, review.tell()).close('quarantined', { reason: 'nobody can be asked here' })
      this.#deps.emit({
        type: 'warning',
        server,
        message: `${summary(review)}. Nobody can be asked here. ${lookWith(server)}`,
      })
    } else this.#deps.emit({ type: 'warning', server, message: `${summary(review)}. ${lookWith(server)}` })
  }

  async #ask(review: Review, about: string): Promise<void> {
    const { server, identity, waiting, tell } = review
    const { changes, findings } = tell()
    const { asker, emit, signal } = this.#deps
    const withdraw = new AbortController()
    this.#open.set(identity, { about, withdraw })
    const until = AbortSignal.any([withdraw.signal, signal])
    const row = this.#row(review, { changes, findings })
    try {
      const question = frozenCopy({
        kind: 'drift' as const,
        id: questionId(),
        cause: { server },
        changes,
        findings,
      })
      const { answer, by } = await asker.ask(question, { signal: until, activity: row.id })
      if (this.#open.get(identity)?.withdraw === withdraw) this.#open.delete(identity)
      this.#settle(identity, waiting, answer.verdict)
      row.close(answer.verdict === 'accept' ? 'accepted' : 'blocked', { by })
    } catch (error) {
      if (this.#open.get(identity)?.withdraw === withdraw) this.#open.delete(identity)
      row.close(until.aborted ? 'withdrawn' : 'error', {
        reason: reasonOf(until.aborted ? until.reason : error),
      })
      if (until.aborted) return
      const why = error instanceof Nobody ? 'Nobody can be asked here' : reasonOf(error)
      emit({ type: 'warning', server, message: `${summary(review)}. ${why}. ${lookWith(server)}` })
    }
  }

  #row(review: Review, told: ReturnType<Review['tell']>): ReturnType<Recorder['open']> {
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
      detail: { items, ...told, surface: this.#deps.asker.names },
    })
  }
}

function summary({ server, waiting }: Review): string {
  const are = waiting.length === 1 ? 'is' : 'are'
  const changed = waiting.some(({ agreed }) => agreed !== undefined)
  const why = changed ? 'not as agreed to' : 'new or suspicious'
  return `${listed(waiting)} of ${server} ${are} ${why}, and out of use until accepted`
}

function lookWith(server: string): string {
  return `See why with: jackfield trust ${oneLine(server)}`
}
