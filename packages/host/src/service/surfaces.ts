import { NoSurfaceError } from '../core/inbox/question-queue.ts'
import type { Question, QuestionKind, Show, Surface } from '../types/index.ts'
import type { SurfaceInfo, SurfaceRow } from './contract.ts'

/**
 * The surfaces of all clients as one surface of the host. It is always attached, so that servers whose session starts while no
 * client is connected can ask later; while no client can show a question, it fails at once, unless it belongs to a task of an
 * earlier process.
 */
export class Surfaces {
  readonly #clients = new Map<AbortSignal, SurfaceRow>()
  readonly #openQuestions = new Map<string, { kind: QuestionKind; defer(): void; fail(error: Error): void }>()
  readonly #failsAtOnce: (question: string) => boolean
  readonly #waitsForClient: (question: string) => boolean
  #count = 0
  readonly #listeners = new Set<() => void>()

  /**
   * `failsAtOnce`: whether a question belongs to work whose client prefers failure to waiting. `waitsForClient`: whether it belongs to work
   * without a client, and waits for one that can show it.
   */
  constructor(failsAtOnce: (question: string) => boolean, waitsForClient: (question: string) => boolean) {
    this.#failsAtOnce = failsAtOnce
    this.#waitsForClient = waitsForClient
  }

  get attached(): readonly SurfaceRow[] {
    return [...this.#clients.values()]
  }

  /** Calls `listener` when a client attaches or detaches, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Adds the surface of a client, or replaces its previous one, until the client disconnects. `closed` identifies the client. Open
   * questions stay open afterwards.
   */
  attach(info: SurfaceInfo, closed: AbortSignal): void {
    const known = this.#clients.get(closed)
    if (known === undefined) this.#count += 1
    this.#clients.set(closed, { ...info, id: known?.id ?? String(this.#count) })
    this.#changed()
    if (known !== undefined) return
    const detach = (): void => {
      if (!this.#clients.delete(closed)) return
      this.#failInputs()
      this.#changed()
    }
    if (closed.aborted) detach()
    else closed.addEventListener('abort', detach, { once: true })
  }

  /** Defers an open question, so that a conversation continues without its answer; false if it is not shown. */
  defer(question: string): boolean {
    const openQuestion = this.#openQuestions.get(question)
    openQuestion?.defer()
    return openQuestion !== undefined
  }

  /** The surface given to the host. */
  get surface(): Surface {
    const show: Surface['show'] = {
      approval: this.#show('approval'),
      result: this.#show('result'),
      elicitation: this.#show('elicitation', ({ params }) => params.mode === 'url'),
      'sampling-request': this.#show('sampling-request'),
      'sampling-result': this.#show('sampling-result'),
      roots: this.#show('roots'),
      start: this.#show('start'),
      input: this.#show('input'),
      installation: this.#show('installation'),
      drift: this.#show('drift'),
      login: this.#show('login'),
      app: this.#show('app'),
    }
    return { name: 'host', show, urlElicitation: true }
  }

  /** Answers arrive through the inbox: this promise only keeps the question open. */
  #show<K extends QuestionKind>(
    kind: K,
    opensPage: (question: Question<K>) => boolean = () => false,
  ): Show<K> {
    return (question, signal) =>
      new Promise((resolve, reject) => {
        if (!this.#canShow(kind, question.id, opensPage(question)) && !this.#waitsForClient(question.id)) {
          reject(new NoSurfaceError(this.#names))
          return
        }
        const defer = (): void => {
          this.#openQuestions.delete(question.id)
          resolve(undefined)
        }
        this.#openQuestions.set(question.id, { kind, defer, fail: reject })
        signal.addEventListener('abort', () => this.#openQuestions.delete(question.id), { once: true })
      })
  }

  #canShow(kind: QuestionKind, id: string, opensPage: boolean): boolean {
    if (this.#failsAtOnce(id)) return false
    return [...this.#clients.values()].some(
      ({ kinds, urlElicitation = false }) => kinds.includes(kind) && (!opensPage || urlElicitation),
    )
  }

  /** A server that needs a value fails when no client can ask for it any more, instead of waiting without end. */
  #failInputs(): void {
    for (const [id, { kind, fail }] of this.#openQuestions) {
      if (kind !== 'input' || this.#canShow(kind, id, false)) continue
      this.#openQuestions.delete(id)
      fail(new NoSurfaceError(this.#names))
    }
  }

  get #names(): string {
    return [...this.#clients.values()].map(({ name }) => name).join(', ') || 'nobody'
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
