import type { Fix } from '@jackfield/host'

/** Server warnings, without repetition. */
export interface Warnings {
  /** Shows a line about a server and what the user can do, unless it was shown before. */
  show(server: string, line: string, fixes?: readonly Fix[]): void
  /** Prints how often lines were repeated. */
  end(): void
}

/** Distinct lines that are remembered; later ones are always shown. */
const maxKnown = 1_000

export function createWarnings(write: (line: string, fixes: readonly Fix[]) => void): Warnings {
  const known = new Map<string, { line: string; repeats: number }>()
  return {
    show(server, line, fixes = []) {
      const key = JSON.stringify([server, line, fixes])
      const before = known.get(key)
      if (before !== undefined) {
        before.repeats += 1
        return
      }
      if (known.size < maxKnown) known.set(key, { line, repeats: 0 })
      write(line, fixes)
    },
    end() {
      for (const { line, repeats } of known.values())
        if (repeats > 0) write(`${line} (repeated ${repeats === 1 ? 'once' : `${repeats} times`})`, [])
      known.clear()
    },
  }
}
