import { ErrorCode, RpcError } from '@jackfield/sdk'
import type { HostAnswers, HostQuestion, QuestionKind } from '../../types/index.ts'

/** The answer type of a question. */
export type AnswerTo<Q extends HostQuestion> = HostAnswers[Q['kind']]

/** An answer, and the surface that gave it. */
export interface GivenAnswer<Q extends HostQuestion> {
  answer: AnswerTo<Q>
  by: string
}

export interface AskOptions {
  /** Aborted when the answer is no longer needed; the question is then withdrawn. */
  signal: AbortSignal
  /** The activity row of the question. */
  activity: number | null
}

/** Asks the user questions. */
export interface QuestionQueue {
  /** The names of the attached surfaces, for messages. */
  readonly names: string
  /** Whether an attached surface can show this kind of question. */
  canAsk(kind: QuestionKind): boolean
  /** Whether an attached surface can show URL elicitations. */
  readonly canOpenUrls: boolean
  /**
   * Asks a question and waits for the answer without a time limit. Rejects with the signal's reason when it is aborted,
   * with a NoSurfaceError if no surface can show the question, and with the error of a surface if no other can show it.
   */
  ask<Q extends HostQuestion>(question: Q, options: AskOptions): Promise<GivenAnswer<Q>>
}

/** No surface can show the question. The message starts with `no-surface`. */
export class NoSurfaceError extends Error {
  override readonly name: string = 'NoSurfaceError'

  /** `names`: the attached surfaces. */
  constructor(names: string) {
    super(`no-surface: ${cannotAsk(names)}`)
  }
}

/** Why no person can be asked, as a clause. `names`: those of the attached surfaces, or `nobody` if there is none. */
export function cannotAsk(names: string): string {
  return names === 'nobody' ? 'no person can be asked here' : `no person can be asked here (${names})`
}

/**
 * The error for the server's request when its question could not be shown. Its data names the kind of request, so that a client of
 * the host can explain how to answer it; the reason stays here, because the server receives the error too.
 */
export function unansweredError(
  kind: 'elicitation' | 'sampling' | 'roots',
  message: string,
  cause: unknown,
): RpcError {
  const reason = cause instanceof NoSurfaceError ? 'no-surface' : 'failed'
  return new RpcError(ErrorCode.InternalError, message, { unanswered: kind, why: reason })
}
