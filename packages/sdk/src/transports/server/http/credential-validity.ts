import { unref } from '../options.ts'
import type { AuthenticatedCaller } from './options.ts'

/** For how long what a caller showed to be let in counts. */
export type CredentialValidity = Pick<AuthenticatedCaller, 'expires' | 'stillCounts'>

/** Milliseconds between two looks whether it still counts. */
const lookMs = 30_000
/** Looks in a row that may come to nothing before it counts no longer. */
const failuresBorne = 1
/** The longest a timer can wait. */
const longestMs = 2 ** 31 - 1

/** Watches the lease an open stream stands on, and says once when it is over. */
export class CredentialWatch {
  readonly #patienceMs: number
  readonly #over: () => void
  #lease: CredentialValidity
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #stopped = false

  /** @param patienceMs how much longer than the lease the stream may last, unless what was shown was revoked */
  constructor(lease: CredentialValidity, patienceMs: number, over: () => void) {
    this.#lease = lease
    this.#patienceMs = patienceMs
    this.#over = over
    this.#wait()
  }

  /** Goes on with another lease, unless it ends sooner. */
  renew(lease: CredentialValidity): void {
    if (this.#stopped || endOf(lease) < endOf(this.#lease)) return
    this.#lease = lease
    this.#failures = 0
    this.#wait()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #wait(): void {
    clearTimeout(this.#timer)
    const left = endOf(this.#lease) + this.#patienceMs - Date.now()
    const ms = Math.min(left, this.#lease.stillCounts === undefined ? left : lookMs)
    if (ms === Number.POSITIVE_INFINITY) return
    this.#timer = unref(setTimeout(() => this.#look(), Math.min(ms, longestMs)))
  }

  #look(): void {
    const lease = this.#lease
    const now = Date.now()
    if (now >= endOf(lease) + this.#patienceMs || this.#failures > failuresBorne) {
      this.#end()
      return
    }
    this.#wait()
    if (lease.stillCounts === undefined || now >= endOf(lease)) return
    // A look is a failure until it is answered, so that one which never is counts as one too.
    this.#failures++
    lease.stillCounts().then(
      (counts) => this.#answered(lease, counts),
      () => {
        if (lease === this.#lease && this.#failures > failuresBorne) this.#end()
      },
    )
  }

  #answered(lease: CredentialValidity, counts: boolean): void {
    if (lease !== this.#lease) return
    this.#failures = 0
    if (!counts && Date.now() < endOf(lease)) this.#end()
  }

  #end(): void {
    if (this.#stopped) return
    this.stop()
    this.#over()
  }
}

function endOf({ expires = Number.POSITIVE_INFINITY }: CredentialValidity): number {
  return expires
}
