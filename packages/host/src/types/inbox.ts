import type { BrokeredCall } from './host.ts'
import type { HostAnswers, HostQuestion, QuestionKind } from './questions.ts'

/**
 * One question to the person, kept until it is answered. `lost`: the program that asked ended and its call cannot be
 * taken up again, or the server no longer takes the answer; `withdrawn`: whoever asked no longer wants the answer.
 */
export interface InboxItem {
  /** The question's id. */
  readonly id: string
  readonly question: HostQuestion
  readonly state: 'open' | 'answered' | 'withdrawn' | 'lost'
  /** When it was put, ISO 8601. */
  readonly at: string
  /** The activity row that tells of it. */
  readonly activity: number | null
  /** Whether answering it after the program that asked ended takes the call up again. */
  readonly resumable: boolean
  /** Whether a program waits for the answer now. */
  readonly waits: boolean
  /** What was answered, by which face, and when (ISO 8601). */
  readonly answer?: { readonly value: HostAnswers[QuestionKind]; readonly by: string; readonly at: string }
  /** Why it is withdrawn or lost. */
  readonly reason?: string
}

/** Every question to the person, of this program and of others on the same store. */
export interface Inbox {
  /** Oldest first. Default: those that are open. */
  list(filter?: { state?: InboxItem['state'] | 'all'; server?: string; limit?: number }): InboxItem[]
  get(id: string): InboxItem | undefined
  /**
   * Answers one question, exactly once. `by` names the face.
   * @throws McpError 'INVALID' where there is no such open question (the message says by whom and when it was
   * answered), or where the answer does not fit the question, which then stays open; so it does where its call must be
   * taken up again and this host has not the server that asked.
   */
  answer(id: string, answer: HostAnswers[QuestionKind], by: string): void
  /**
   * Why this host cannot continue the call that asked an open question, whose program ended; undefined where it can, or a
   * program waits. Check it before a person fills in a form.
   */
  refusal(id: string): string | undefined
  /**
   * The call that asked, where its program ended and every answer is there: `answer` begins to take it up, or this does
   * where that was left undone. Undefined while a program waits for the answer or another question of the call is open.
   */
  resumed(id: string): Promise<BrokeredCall> | undefined
}
