import type { MessageTyping } from '../surface/key-gate.ts'

/** The message line, while questions need the terminal. */
export interface MessageLine extends MessageTyping {
  /** Called when a question locks the terminal. */
  suspend(): void
}

/** Lets the input line and server questions share one terminal: one of them has the lock at a time. */
export class TerminalLock implements MessageTyping {
  readonly #waiting = new Set<() => void>()
  #questions = 0
  #messageLine: MessageLine | undefined

  /** Whether a question has the lock. */
  get isLocked(): boolean {
    return this.#questions > 0
  }

  get isTyping(): boolean {
    return this.#messageLine?.isTyping === true
  }

  get isJustSent(): boolean {
    return this.#messageLine?.isJustSent === true
  }

  type(keys: string): void {
    this.#messageLine?.type(keys)
  }

  /** Locks the terminal for a question, or releases it. The input line is hidden meanwhile. */
  setAsking(begins: boolean): void {
    this.#questions += begins ? 1 : -1
    if (begins) this.#messageLine?.suspend()
    if (this.isLocked) return
    for (const go of this.#waiting) go()
    this.#waiting.clear()
  }

  /** Resolves when no question has the lock. */
  whenFree(): Promise<void> {
    return this.isLocked ? new Promise((resolve) => this.#waiting.add(resolve)) : Promise.resolve()
  }

  setMessageLine(line: MessageLine): void {
    this.#messageLine = line
  }
}
