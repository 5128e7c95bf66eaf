import { readJson } from '@jackfield/sdk/internal'
import {
  type Addressee,
  createAddressee,
  marksIn,
  putBack,
  type Redactor,
  sealFor,
} from '../../config/secrets/redactor.ts'
import type { HostQuestion } from '../../types/index.ts'
import { withoutSecretFields } from '../forms/form.ts'
import { fitsQuestion } from './fitting.ts'

/** Maximum answers with secrets held in memory, for calls that are resumed again. */
const remembered = 64

/** An answer as it is stored. */
export interface KeptAnswer {
  /** The redacted answer. */
  value: unknown
  /** Set if parts were redacted: the whole answer, sealed for the waiting program; empty if none waits. */
  sealed?: string
}

/** Redacts questions and answers for the store and surfaces. */
export class InboxDiscretion {
  readonly #redactor: Redactor
  /** Unredacted answers given in this program, by question; not stored. */
  readonly #given = new Map<string, unknown>()
  #addressee: Addressee | undefined

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** The public key to which others seal answers for this program. */
  get address(): string {
    this.#addressee ??= createAddressee()
    return this.#addressee.address
  }

  /** The redacted question, for surfaces and the store. */
  shown<Q extends HostQuestion>(question: Q): Q {
    return this.#redactor.value(question)
  }

  /** An answer for the store. `waits`: the address of the waiting program. */
  keep(question: HostQuestion, answer: unknown, waits: string | undefined, isMine: boolean): KeptAnswer {
    const bare =
      question.kind === 'elicitation' && fitsQuestion(question, answer)
        ? withoutSecretFields(answer, question.params)
        : answer
    const value = this.#redactor.value(bare)
    if (value === answer) return { value }
    if (isMine || waits === undefined) {
      this.#given.set(question.id, answer)
      const [oldest] = this.#given.keys()
      if (this.#given.size > remembered && oldest !== undefined) this.#given.delete(oldest)
      return { value, sealed: '' }
    }
    return { value, sealed: sealFor(waits, JSON.stringify(answer), question.id) }
  }

  /** The unredacted answer; undefined if its secrets are not available any more. */
  whole(id: string, { value, sealed }: KeptAnswer): { value: unknown } | undefined {
    if (sealed === undefined) return { value }
    if (this.#given.has(id)) return { value: this.#given.get(id) }
    const text = sealed === '' ? undefined : this.#addressee?.open(sealed, id)
    return text === undefined ? undefined : { value: readJson(text) }
  }

  /** The answer with redaction marks replaced by the secrets they stand for. */
  meant<A>(question: HostQuestion, answer: A): A {
    if (question.kind !== 'approval' || this.shown(question) === question) return answer
    return putBack(answer, marksIn(question.arguments, this.#redactor))
  }
}
