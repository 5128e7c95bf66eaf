import type { Round } from '@jackfield/sdk/client'
import { isRecord } from '../json.ts'
import type { ParkedCall, Store } from '../store/index.ts'

/** Calls that are kept at once. */
const maxCalls = 200
/** Characters of one call with its round, as JSON. */
const maxChars = 1_048_576

/** What is known of a call before it goes out. */
export type ParkedStart = Pick<ParkedCall, 'call' | 'identity' | 'request'>

/** One call on its way: each round its server asks back is kept, so that any program can go on with it. */
export interface Parked {
  keep(round: Round): void
  /** The answers of the round go out: nobody else may send them. */
  sending(): void
  /** The call ended here. True where it was left for another program to go on with. */
  end(): boolean
}

/** Keeps calls whose servers asked back. */
export class Parking {
  readonly #store: Pick<Store, 'inbox' | 'parked' | 'owners'>

  constructor(store: Pick<Store, 'inbox' | 'parked' | 'owners'>) {
    this.#store = store
  }

  begin(start: ParkedStart, isKept = false): Parked {
    const { parked, owners } = this.#store
    const { me } = owners
    let kept = isKept
    return {
      keep: (asked) => {
        if (!canWait(asked) || JSON.stringify({ ...start, asked }).length > maxChars) {
          if (kept) parked.end(start.call, me)
          kept = false
          return
        }
        owners.hold()
        if (!kept) this.#makeRoom()
        parked.keep({ ...start, asked }, me)
        kept = true
      },
      sending: () => {
        if (kept) parked.sending(start.call, me)
      },
      end: () => kept && !parked.end(start.call, me) && parked.get(start.call) !== undefined,
    }
  }

  #makeRoom(): void {
    const { parked, inbox } = this.#store
    while (parked.count() >= maxCalls) {
      const oldest = parked.forgetOldest()
      if (oldest === undefined) return
      inbox.lose(oldest.call, oldest.round, `more than ${maxCalls} calls waited for an answer`)
    }
  }
}

/** Whether a round holds only what a person answers: what a model answered is not asked for twice. */
function canWait({ inputRequests = {} }: Round): boolean {
  const questions = Object.values(inputRequests)
  return (
    questions.length > 0 &&
    questions.every(
      (question) =>
        isRecord(question) &&
        (question['method'] === 'elicitation/create' || question['method'] === 'roots/list'),
    )
  )
}
