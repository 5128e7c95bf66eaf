import type { MessageTyping } from '../surface/key-gate.ts'

/** The message line, while questions need the terminal. */
export interface MessageLine extends MessageTyping {
  /** Called when a question locks the terminal. */
  suspend(): void
}

/** Lets the input line and server questions share one terminal: one of them has the lock at a time. */
export interface TerminalLock extends MessageTyping {
  /** Whether a question has the lock. */
  readonly isLocked: boolean
  /** Locks the terminal for a question, or releases it. The input line is hidden meanwhile. */
  setAsking(begins: boolean): void
  /** Resolves when no question has the lock. */
  whenFree(): Promise<void>
  setMessageLine(line: MessageLine): void
}

export function createTerminalLock(): TerminalLock {
  const waiting = new Set<() => void>()
  let questions = 0
  let messageLine: MessageLine | undefined
  return {
    get isLocked() {
      return questions > 0
    },
    get isTyping() {
      return messageLine?.isTyping === true
    },
    type(keys) {
      messageLine?.type(keys)
    },
    setAsking(begins) {
      questions += begins ? 1 : -1
      if (begins) messageLine?.suspend()
      if (questions > 0) return
      for (const go of waiting) go()
      waiting.clear()
    },
    whenFree() {
      return questions === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve))
    },
    setMessageLine(line) {
      messageLine = line
    },
  }
}
