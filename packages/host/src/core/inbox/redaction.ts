import { readJson } from '@jackfield/sdk/internal'
import {
  createSealRecipient,
  marksIn,
  restoreMarks,
  type SealRecipient,
  type SecretRedactor,
  sealFor,
} from '../../config/secrets/redactor.ts'
import type { HostQuestion } from '../../types/index.ts'
import { withoutSecretFields } from '../forms/form.ts'
import { isAnswerTo } from './answers.ts'

/** Maximum answers with secrets held in memory, for calls that are resumed again. */
const maxRetained = 64

/** An answer as it is stored. */
export interface StoredAnswer {
  /** The redacted answer. */
  value: unknown
  /** Set if parts were redacted: the whole answer, sealed for the waiting program; empty if none waits. */
  sealed?: string
}

/** Redacts questions and answers for the store and surfaces. */
export class InboxRedaction {
  readonly #redactor: SecretRedactor
  /** Unredacted answers given in this program, by question; not stored. */
  readonly #unredacted = new Map<string, unknown>()
  #recipient: SealRecipient | undefined

  constructor(redactor: SecretRedactor) {
    this.#redactor = redactor
  }

  /** The public key to which others seal answers for this program. */
  get address(): string {
    this.#recipient ??= createSealRecipient()
    return this.#recipient.address
  }

  /** The redacted question, for surfaces and the store. */
  redacted<Q extends HostQuestion>(question: Q): Q {
    return this.#redactor.value(question)
  }

  /** An answer for the store. `waits`: the address of the waiting program. */
  toStored(
    question: HostQuestion,
    answer: unknown,
    waits: string | undefined,
    isMine: boolean,
  ): StoredAnswer {
    const value = this.#redactor.value(withoutSecretParts(question, answer))
    if (value === answer) return { value }
    if (isMine || waits === undefined) {
      this.#unredacted.set(question.id, answer)
      const [oldest] = this.#unredacted.keys()
      if (this.#unredacted.size > maxRetained && oldest !== undefined) this.#unredacted.delete(oldest)
      return { value, sealed: '' }
    }
    return { value, sealed: sealFor(waits, JSON.stringify(answer), question.id) }
  }

  /** Releases the unredacted answer to a question that is not asked again. */
  forget(id: string): void {
    this.#unredacted.delete(id)
  }

  /** The unredacted answer; undefined if its secrets are not available any more. */
  restore(id: string, { value, sealed }: StoredAnswer): { value: unknown } | undefined {
    if (sealed === undefined) return { value }
    if (this.#unredacted.has(id)) return { value: this.#unredacted.get(id) }
    const text = sealed === '' ? undefined : this.#recipient?.open(sealed, id)
    return text === undefined ? undefined : { value: readJson(text) }
  }

  /** The answer with redaction marks replaced by the secrets. */
  withSecrets<A>(question: HostQuestion, answer: A): A {
    if (question.kind !== 'approval' || this.redacted(question) === question) return answer
    return restoreMarks(answer, marksIn(question.arguments, this.#redactor))
  }
}

/** The answer without what no store may have: values of secret fields, and the value of an input. */
function withoutSecretParts(question: HostQuestion, answer: unknown): unknown {
  if (question.kind === 'elicitation' && isAnswerTo(question, answer))
    return withoutSecretFields(answer, question.params)
  if (question.kind === 'input' && isAnswerTo(question, answer) && answer.verdict === 'allow')
    return { verdict: answer.verdict }
  return answer
}
