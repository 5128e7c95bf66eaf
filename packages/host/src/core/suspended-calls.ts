import type { Round } from '@jackfield/sdk/client'
import type { ParkedCall } from '../log/store/inbox-tables.ts'
import type { Store } from '../log/store/store.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { ParkedSecrets } from './suspended-secrets.ts'

/** Maximum stored calls. */
const maxCalls = 200
/** Characters of one call with its round, as JSON. */
const maxChars = 1_048_576

/** What is known of a call before it goes out. */
type ParkedStart = Pick<ParkedCall, 'call' | 'identity' | 'request'>

/** One running call: each `input_required` round is stored, so that any program can resume it. */
interface Parked {
  keep(round: Round): void
  /** The answers of the round are being sent: no other program may send them. */
  sending(): void
  /** The call ended in this program. Returns true if another program can resume it. */
  end(): boolean
}

interface ParkingDeps {
  store: Pick<Store, 'inbox' | 'parked' | 'owners'>
  safe: ParkedSecrets
}

/** Stores calls that wait for input. */
export class Parking {
  readonly #store: ParkingDeps['store']
  readonly #safe: ParkedSecrets
  /** Calls that are over and could not be removed from the store. */
  readonly #over = new Set<number>()

  constructor({ store, safe }: ParkingDeps) {
    this.#store = store
    this.#safe = safe
  }

  begin(start: ParkedStart, isKept = false): Parked {
    const { parked, owners } = this.#store
    const { me } = owners
    const { call } = start
    let kept = isKept
    this.removeOver()
    const forget = (): boolean => {
      const ended = parked.end(call, me)
      if (ended) this.#safe.forget(call)
      return ended
    }
    const end = (): boolean => {
      try {
        return kept && !forget() && parked.get(call) !== undefined
      } catch (error) {
        // The call is over: its result is not lost with a store that cannot be written. Answers are never sent twice.
        this.#over.add(call)
        process.emitWarning(`A finished call could not be removed from the store: ${reasonOf(error)}`)
        return false
      }
    }
    return {
      keep: (asked) => {
        const tooLarge = JSON.stringify({ ...start, asked }).length > maxChars
        const fit = canWait(asked) && !tooLarge ? this.#safe.without({ ...start, asked }) : undefined
        if (fit === undefined) {
          if (kept) forget()
          kept = false
          return
        }
        try {
          owners.hold()
          if (!kept) this.#makeRoom()
          parked.keep(fit, me)
          kept = true
        } catch (error) {
          process.emitWarning(
            `The call of ${oneLine(start.request.tool)} cannot be continued by another program, because it cannot be stored: ${reasonOf(error)}`,
          )
        }
      },
      sending: () => {
        try {
          if (kept) parked.sending(call, me)
        } catch (error) {
          process.emitWarning(
            `It cannot be recorded that the answers to ${oneLine(start.request.tool)} are sent: ${reasonOf(error)}`,
          )
        }
      },
      end,
    }
  }

  /** Tries once more to remove calls that are over, so that no other program continues them. */
  removeOver(): void {
    const { parked, owners } = this.#store
    for (const call of this.#over) {
      try {
        if (parked.end(call, owners.me)) this.#safe.forget(call)
        this.#over.delete(call)
      } catch {
        return
      }
    }
  }

  #makeRoom(): void {
    const { parked, inbox } = this.#store
    while (parked.count() >= maxCalls) {
      const oldest = parked.forgetOldest()
      if (oldest === undefined) return
      this.#safe.forget(oldest.call)
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
