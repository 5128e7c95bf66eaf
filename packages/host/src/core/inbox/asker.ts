import type { HostAnswers, HostQuestion, QuestionKind } from '../../types/index.ts'

/** What may be answered to one question. */
export type AnswerTo<Q extends HostQuestion> = HostAnswers[Q['kind']]

/** An answer, and the face that gave it. */
export interface Answered<Q extends HostQuestion> {
  answer: AnswerTo<Q>
  by: string
}

export interface AskOptions {
  /** Aborted when the answer is no longer wanted; the question is then withdrawn. */
  signal: AbortSignal
  /** The activity row that tells of the question. */
  activity: number | null
}

/** The one way to the person. */
export interface Asker {
  /** The faces that are there, for messages. */
  readonly names: string
  /** Whether a face that is there now can show this kind of question. */
  can(kind: QuestionKind): boolean
  /** Whether a face that is there now can show URL visits. */
  readonly urls: boolean
  /**
   * Puts a question and waits as long as the person thinks. Rejects with the signal's reason once it is aborted, with
   * a Nobody error where no face can show the question, and with what a face threw where no other can show it.
   */
  ask<Q extends HostQuestion>(question: Q, options: AskOptions): Promise<Answered<Q>>
}

/** No face can show the question. Its message begins with `no-surface`. */
export class Nobody extends Error {
  override readonly name: string = 'Nobody'

  /** `names`: the faces that are there all the same. */
  constructor(names: string) {
    super(`no-surface: no person can be asked here (${names})`)
  }
}
