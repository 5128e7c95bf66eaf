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

/** Answers whose secrets are remembered, for calls that are taken up once more. */
const remembered = 64

/** An answer on its way through the store. */
export interface KeptAnswer {
  /** What anybody may read. */
  value: unknown
  /** Set where that is not all of it: the whole, sealed for the program that waits; empty where none does. */
  sealed?: string
}

/** Keeps secrets out of questions and answers in the store and on faces. */
export class InboxDiscretion {
  readonly #redactor: Redactor
  /** Whole answers that were given in this program and must not be kept, by question. */
  readonly #given = new Map<string, unknown>()
  #addressee: Addressee | undefined

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Where others send what only this program may read. */
  get address(): string {
    this.#addressee ??= createAddressee()
    return this.#addressee.address
  }

  /** The question as faces show it and the store keeps it. */
  shown<Q extends HostQuestion>(question: Q): Q {
    return this.#redactor.value(question)
  }

  /** An answer as the store may have it. `waits`: the address of the program that waits for it. */
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

  /** An answer as it was given; undefined where what of it was secret is gone. */
  whole(id: string, { value, sealed }: KeptAnswer): { value: unknown } | undefined {
    if (sealed === undefined) return { value }
    if (this.#given.has(id)) return { value: this.#given.get(id) }
    const text = sealed === '' ? undefined : this.#addressee?.open(sealed, id)
    return text === undefined ? undefined : { value: readJson(text) }
  }

  /** What the answer means for the call: where the person left a secret as it was shown, it is that secret. */
  meant<A>(question: HostQuestion, answer: A): A {
    if (question.kind !== 'approval' || this.shown(question) === question) return answer
    return putBack(answer, marksIn(question.arguments, this.#redactor))
  }
}
