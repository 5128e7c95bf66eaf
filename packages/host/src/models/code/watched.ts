import type { HostEvent } from '../../types/index.ts'
import type { Clock } from './clock.ts'

/** How calls end whose server said what became of them. */
const known: ReadonlySet<string> = new Set(['ok', 'error', 'changed'])

/** What the host tells about the calls of one program while it runs. */
export class Watched {
  readonly #row: number
  readonly #unsure = new Set<number>()
  readonly #underWay = new Map<string, number>()
  readonly #asking = new Map<string, () => void>()

  /** `row`: the program's activity. */
  constructor(row: number) {
    this.#row = row
  }

  /** Notes a call; the returned function says that it is over. */
  begin(server: string, tool: string): () => void {
    const key = keyOf(server, tool)
    this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + 1)
    return () => {
      const left = (this.#underWay.get(key) ?? 1) - 1
      if (left > 0) this.#underWay.set(key, left)
      else this.#underWay.delete(key)
    }
  }

  /** Whether the call of this activity went out to its server, and nobody can say what became of it there. */
  isUnsure(activity: number): boolean {
    return this.#unsure.has(activity)
  }

  /** While a person is asked because of one of the calls, the program's time does not run. */
  hear(event: HostEvent, clock: Clock): void {
    if (event.type === 'call' && event.state === 'ends' && event.call.cause === this.#row) {
      if (!known.has(event.outcome)) this.#unsure.add(event.call.activity)
    }
    if (event.type !== 'question') return
    const { id, state, question } = event.item
    if (state !== 'open') {
      this.#asking.get(id)?.()
      this.#asking.delete(id)
      return
    }
    const { server, tool, caller } = question.cause
    if (caller !== 'code' || tool === undefined || !this.#underWay.has(keyOf(server, tool))) return
    if (!this.#asking.has(id)) this.#asking.set(id, clock.pause())
  }
}

function keyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool])
}
