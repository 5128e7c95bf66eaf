import { access, constants } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Root } from '@jackfield/sdk'

/** Milliseconds between two looks at the folders a server was told of. */
const lookMs = 2_000

/** Looks whether folders can be read, and goes on looking once a server was told of them. */
export class RootWatch {
  readonly #roots: readonly Root[]
  readonly #changed: () => void
  readonly #signal: AbortSignal
  #told: readonly Root[] | undefined

  constructor(roots: readonly Root[], changed: () => void, signal: AbortSignal) {
    this.#roots = roots
    this.#changed = changed
    this.#signal = signal
  }

  /** The folders that can be read now, to tell a server of. */
  async readable(): Promise<Root[]> {
    const readable = await this.#look()
    if (this.#told === undefined) this.#goOn()
    this.#told = readable
    return [...readable]
  }

  async #look(): Promise<Root[]> {
    const seen = await Promise.all(this.#roots.map(async (root) => ((await isReadable(root)) ? [root] : [])))
    return seen.flat()
  }

  #goOn(): void {
    const timer = setInterval(async () => {
      const readable = await this.#look()
      if (this.#signal.aborted || sameRoots(readable, this.#told ?? [])) return
      this.#told = readable
      this.#changed()
    }, lookMs)
    timer.unref()
    this.#signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }
}

async function isReadable({ uri }: Root): Promise<boolean> {
  try {
    await access(fileURLToPath(uri), constants.R_OK)
    return true
  } catch {
    return false
  }
}

function sameRoots(some: readonly Root[], others: readonly Root[]): boolean {
  return some.length === others.length && some.every((root) => others.includes(root))
}
