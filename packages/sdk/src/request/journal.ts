import type { InputRequests } from '../protocol/server-requests.ts'

/** The state of a request between its rounds. It is sent encrypted through the client, as `requestState`. */
export interface Journal {
  /** Identifies the request across its rounds; the prefix of its idempotency keys. */
  flow: string
  /** Number of completed rounds. */
  round: number
  /** Identities of the questions of the last round, by their key on the wire. */
  asked: Record<string, string>
  /** Checked answers, by the identity of their question. */
  answers: Record<string, unknown>
  /** Results of finished steps, by name with a number. */
  steps: Record<string, { value?: unknown }>
  /** How often the question of a key was answered and then differed in the next run. */
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
