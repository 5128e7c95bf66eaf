/** Lets the line that is being typed and the questions of servers share one terminal: one of them has the floor. */
export interface Floor {
  /** A question has the floor. */
  readonly taken: boolean
  /** Takes the floor for a question, or gives it back. The line being typed is put aside meanwhile. */
  asking(begins: boolean): void
  /** Resolves when no question has the floor. */
  free(): Promise<void>
  /** Calls `aside` when a question takes the floor, until the returned function is called. */
  typing(aside: () => void): () => void
}

export function createFloor(): Floor {
  const waiting = new Set<() => void>()
  let questions = 0
  let aside: (() => void) | undefined
  return {
    get taken() {
      return questions > 0
    },
    asking(begins) {
      questions += begins ? 1 : -1
      if (begins) aside?.()
      if (questions > 0) return
      for (const go of waiting) go()
      waiting.clear()
    },
    free() {
      return questions === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve))
    },
    typing(listener) {
      aside = listener
      return () => {
        if (aside === listener) aside = undefined
      }
    },
  }
}
