import { McpError } from '@jackfield/sdk'
import type { HostAnswers, HostQuestion, Inbox, InboxItem, QuestionKind, Surface } from '../types/index.ts'
import { type Answered, type Asker, type AskOptions, Nobody } from './asker.ts'
import { fitsQuestion } from './fitting.ts'
import { canShow, showOn } from './show.ts'

/** A question that waits, and what ends the waiting. */
interface Waiting {
  item: InboxItem
  settle(answer: unknown, by: string): void
  /** Shows it on one more face. */
  show(surface: Surface): void
}

/** Puts questions to every face that can show them; the first answer counts. */
export class LiveInbox implements Inbox, Asker {
  readonly #waiting = new Map<string, Waiting>()
  readonly #items = new Map<string, InboxItem>()
  readonly #surfaces = new Set<Surface>()
  readonly #told: (item: InboxItem) => void

  /** `told` hears of every change of an item. */
  constructor(told: (item: InboxItem) => void) {
    this.#told = told
  }

  get names(): string {
    return [...this.#surfaces].map(({ name }) => name).join(', ') || 'nobody'
  }

  get urls(): boolean {
    return [...this.#surfaces].some(
      ({ show, urlElicitation }) => show.elicitation !== undefined && urlElicitation,
    )
  }

  can(kind: QuestionKind): boolean {
    return [...this.#surfaces].some(({ show }) => show[kind] !== undefined)
  }

  attach(surface: Surface): () => void {
    this.#surfaces.add(surface)
    for (const waiting of this.#waiting.values()) waiting.show(surface)
    return () => {
      this.#surfaces.delete(surface)
    }
  }

  ask<Q extends HostQuestion>(question: Q, { signal, activity }: AskOptions): Promise<Answered<Q>> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const over = new AbortController()
      let showing = 0
      const end = (state: InboxItem['state'], more: Partial<InboxItem> = {}): void => {
        over.abort(new McpError('CANCELLED', 'The question was settled'))
        signal.removeEventListener('abort', withdraw)
        this.#waiting.delete(question.id)
        this.#become({ ...item, state, ...more })
      }
      const withdraw = (): void => {
        end('withdrawn', { reason: 'the answer is no longer wanted' })
        reject(signal.reason)
      }
      const fail = (error: unknown): void => {
        if (over.signal.aborted) return
        end('withdrawn', { reason: 'it could not be shown' })
        reject(error)
      }
      const settle = (answer: unknown, by: string): void => {
        if (over.signal.aborted) return
        if (!fitsQuestion(question, answer)) throw new McpError('INVALID', `${by} gave no valid answer`)
        end('answered', { answer: { value: answer, by, at: new Date().toISOString() } })
        resolve({ answer, by })
      }
      const show = (surface: Surface): void => {
        if (!canShow(surface, question)) return
        showing++
        Promise.resolve()
          .then(() => showOn(surface, question, AbortSignal.any([signal, over.signal])))
          .then((answer) => {
            if (answer !== undefined) settle(answer, surface.name)
          })
          .catch((error: unknown) => {
            if (--showing === 0) fail(error)
          })
      }
      const item: InboxItem = {
        id: question.id,
        question,
        state: 'open',
        at: new Date().toISOString(),
        activity,
        resumable: false,
      }
      this.#waiting.set(question.id, { item, settle, show })
      this.#become(item)
      signal.addEventListener('abort', withdraw, { once: true })
      for (const surface of this.#surfaces) show(surface)
      if (showing === 0) fail(new Nobody(`nobody can be asked here (${this.names})`))
    })
  }

  list: Inbox['list'] = ({ state = 'open', server, limit = 1_000 } = {}) =>
    [...this.#items.values()]
      .filter((item) => state === 'all' || item.state === state)
      .filter((item) => server === undefined || item.question.cause.server === server)
      .slice(-limit)

  get(id: string): InboxItem | undefined {
    return this.#items.get(id)
  }

  answer(id: string, answer: HostAnswers[QuestionKind], by: string): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) throw new McpError('INVALID', `There is no open question ${id}`)
    waiting.settle(answer, by)
  }

  #become(item: InboxItem): void {
    this.#items.set(item.id, item)
    this.#told(item)
  }
}
