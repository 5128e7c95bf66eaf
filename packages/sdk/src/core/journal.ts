import type { InputRequests } from '../protocol/asking.ts'

/** What one request remembers between its rounds. It travels sealed, through the client. */
export interface Journal {
  /** Names the request across its rounds; idempotency keys are made from it. */
  flow: string
  /** Rounds that were asked so far. */
  round: number
  /** Identities of the questions of the last round, by their key on the wire. */
  asked: Record<string, string>
  /** Checked answers, by the identity of their question. */
  answers: Record<string, unknown>
  /** Results of finished steps, by name and place. */
  steps: Record<string, { value?: unknown }>
  /** How often the question under a key was answered and then asked in other words. */
  drifts: Record<string, number>
  /** Whether the explicit form was used, with the author's state and the answers so far by key. */
  carries: boolean
  state: unknown
  carried: Record<string, unknown>
  /** The explicit form's last questions, to check their answers against. */
  required: InputRequests
}

export function emptyJournal(): Journal {
  return {
    flow: crypto.randomUUID(),
    round: 0,
    asked: {},
    answers: {},
    steps: {},
    drifts: {},
    carries: false,
    state: undefined,
    carried: {},
    required: {},
  }
}
