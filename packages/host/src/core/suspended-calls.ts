import type { Round } from '@jackfield/sdk/client'
import type { SuspendedCall } from '../log/store/inbox-tables.ts'
import type { Store } from '../log/store/store.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine, reasonOf } from '../shared/text.ts'
import type { SuspendedSecrets } from './suspended-secrets.ts'

/** Maximum stored calls. */
const maxCalls = 200
/** Maximum characters of one call with its round, as JSON. */
const maxChars = 1_048_576

/** A call before its first round of input requests. */
type SuspendedStart = Pick<SuspendedCall, 'call' | 'identity' | 'request'>

/** One running call: each `input_required` round is stored, so that any program can resume it. */
interface CallSuspension {
  save(round: Round): void
  /** The answers of the round are being sent: no other program may send them. */
  sending(): void
  /** The call ended in this program. Returns true if another program can resume it. */
  end(): boolean
}

interface SuspendedCallsDeps {
  store: Pick<Store, 'inbox' | 'suspendedCalls' | 'owners'>
  secrets: SuspendedSecrets
}

/** Stores calls that wait for input. */
export class SuspendedCalls {
  readonly #store: SuspendedCallsDeps['store']
  readonly #secrets: SuspendedSecrets
  /** Finished calls that could not be removed from the store. */
  readonly #ended = new Set<number>()

  constructor({ store, secrets }: SuspendedCallsDeps) {
    this.#store = store
    this.#secrets = secrets
  }

  /** Tracks one call until `end`. `wasStored`: it is resumed from the store. */
  begin(start: SuspendedStart, wasStored = false): CallSuspension {
    const { suspendedCalls, owners } = this.#store
    const { me } = owners
    const { call } = start
    let isStored = wasStored
    this.removeEnded()
    const forget = (): boolean => {
      const ended = suspendedCalls.end(call, me)
      if (ended) this.#secrets.forget(call)
      return ended
    }
    const end = (): boolean => {
      try {
        return isStored && !forget() && suspendedCalls.get(call) !== undefined
      } catch (error) {
        // The call ended: its result is returned even if the store cannot be written. Answers are never sent twice.
        this.#ended.add(call)
        process.emitWarning(`A finished call could not be removed from the store: ${reasonOf(error)}`)
        return false
      }
    }
    return {
      save: (round) => {
        const tooLarge = JSON.stringify({ ...start, asked: round }).length > maxChars
        const storable =
          canSuspend(round) && !tooLarge ? this.#secrets.without({ ...start, asked: round }) : undefined
        if (storable === undefined) {
          if (isStored) forget()
          isStored = false
          return
        }
        try {
          owners.lock()
          if (!isStored) this.#makeRoom()
          suspendedCalls.put(storable, me)
          isStored = true
        } catch (error) {
          process.emitWarning(
            `The call of ${oneLine(start.request.tool)} cannot be continued by another program, because it cannot be stored: ${reasonOf(error)}`,
          )
        }
      },
      sending: () => {
        try {
          if (isStored) suspendedCalls.sending(call, me)
        } catch (error) {
          process.emitWarning(
            `It cannot be recorded that the answers to ${oneLine(start.request.tool)} are sent: ${reasonOf(error)}`,
          )
        }
      },
      end,
    }
  }

  /** Retries removing finished calls, so that no other program continues them. */
  removeEnded(): void {
    const { suspendedCalls, owners } = this.#store
    for (const call of this.#ended) {
      try {
        if (suspendedCalls.end(call, owners.me)) this.#secrets.forget(call)
        this.#ended.delete(call)
      } catch {
        return
      }
    }
  }

  #makeRoom(): void {
    const { suspendedCalls, inbox } = this.#store
    while (suspendedCalls.count() >= maxCalls) {
      const oldest = suspendedCalls.forgetOldest()
      if (oldest === undefined) return
      this.#secrets.forget(oldest.call)
      inbox.markLost(oldest.call, oldest.round, `more than ${maxCalls} calls waited for an answer`)
    }
  }
}

/** Whether a round has only input requests for the user: a sampling request is not repeated. */
function canSuspend({ inputRequests = {} }: Round): boolean {
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
