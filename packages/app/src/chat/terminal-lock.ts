import type { MessageTyping } from '../surface/key-gate.ts'

/** The message line, while questions need the terminal. */
export interface Typist extends MessageTyping {
  /** Called when a question locks the terminal. */
  aside(): void
}

/** Lets the input line and server questions share one terminal: one of them has the lock at a time. */
export interface TerminalLock extends MessageTyping {
  /** Whether a question has the lock. */
  readonly isLocked: boolean
  /** Locks the terminal for a question, or releases it. The input line is hidden meanwhile. */
  asking(begins: boolean): void
  /** Resolves when no question has the lock. */
  whenFree(): Promise<void>
  /** Sets the message line, until the returned function is called. */
  typing(typist: Typist): () => void
}

export function createTerminalLock(): TerminalLock {
  const waiting = new Set<() => void>()
  let questions = 0
  let typist: Typist | undefined
  return {
    get isLocked() {
      return questions > 0
    },
    get isTyping() {
      return typist?.isTyping === true
    },
    type(keys) {
      typist?.type(keys)
    },
    asking(begins) {
      questions += begins ? 1 : -1
      if (begins) typist?.aside()
      if (questions > 0) return
      for (const go of waiting) go()
      waiting.clear()
    },
    whenFree() {
      return questions === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve))
    },
    typing(next) {
      typist = next
      return () => {
        if (typist === next) typist = undefined
      }
    },
  }
}
