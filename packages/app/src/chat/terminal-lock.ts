import type { MessageTyping } from '../surface/key-gate.ts'

/** The message line, as questions affect it. */
export interface Typist extends MessageTyping {
  /** Called when a question takes the floor. */
  aside(): void
}

/** Lets the line that is being typed and the questions of servers share one terminal: one of them has the floor. */
export interface TerminalLock extends MessageTyping {
  /** A question has the floor. */
  readonly isLocked: boolean
  /** Takes the floor for a question, or gives it back. The line being typed is put aside meanwhile. */
  asking(begins: boolean): void
  /** Resolves when no question has the floor. */
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
