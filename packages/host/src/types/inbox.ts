import type { BrokeredCall } from './host.ts'
import type { HostAnswers, HostQuestion, QuestionKind } from './questions.ts'

/**
 * A question to the user, stored until it is answered. `lost`: the program that asked ended and its call cannot be
 * resumed, or the server no longer accepts the answer. `withdrawn`: the answer is no longer needed.
 */
export interface InboxItem {
  /** The question's id. */
  readonly id: string
  /** The question, with secrets redacted. */
  readonly question: HostQuestion
  /** `open` until it is answered, withdrawn or lost. */
  readonly state: 'open' | 'answered' | 'withdrawn' | 'lost'
  /** When it was asked, ISO 8601. */
  readonly at: string
  /** The activity row of the question. */
  readonly activity: number | null
  /** Whether answering resumes the call after the program that asked has ended. */
  readonly resumable: boolean
  /** Whether a program is waiting for the answer. */
  readonly waits: boolean
  /** The answer, the surface that gave it, and when (ISO 8601). */
  readonly answer?: { readonly value: HostAnswers[QuestionKind]; readonly by: string; readonly at: string }
  /** Why it was withdrawn or lost. */
  readonly reason?: string
}

/** Questions to the user, of this program and of others on the same store. */
export interface Inbox {
  /** Oldest first. Default: open questions. */
  list(filter?: { state?: InboxItem['state'] | 'all'; server?: string; limit?: number }): InboxItem[]
  /** One question by id; undefined if there is none. */
  get(id: string): InboxItem | undefined
  /**
   * Answers one question, exactly once. `by` names the surface.
   * @throws McpError 'NOT_FOUND' if there is no such question, 'CONFLICT' if it is not open (the message names when and on
   * which surface it was answered), 'INVALID' if the answer is not valid for the question, or its call must be resumed and
   * this host does not have the server that asked; the question then stays open.
   */
  answer(id: string, answer: HostAnswers[QuestionKind], by: string): void
  /**
   * Why this host cannot resume the call of an open question whose program ended; undefined if it can, or if a program
   * is waiting. Check it before a person fills in a form.
   */
  refusal(id: string): string | undefined
  /**
   * The resumed call, if its program ended and all its questions are answered. `answer` resumes it; this does if that
   * did not happen. Undefined while a program is waiting for the answer or another question of the call is open.
   */
  resumed(id: string): Promise<BrokeredCall> | undefined
}
