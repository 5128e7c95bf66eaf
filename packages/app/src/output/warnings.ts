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
/** Repeated lines that are written again with their number. */
const maxRepeated = 3

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
      const repeated = [...known.values()].filter(({ repeats }) => repeats > 0)
      if (repeated.length > maxRepeated) write(`${repeated.length} of these lines were repeated.`, [])
      else
        for (const { line, repeats } of repeated)
          write(`${line} (repeated ${repeats === 1 ? 'once' : `${repeats} times`})`, [])
      known.clear()
    },
  }
}
