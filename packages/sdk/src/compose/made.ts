import type { Outcome } from '../core/exchange.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { Member } from './members.ts'

const maxKept = 10_000
const maxOfOne = 16
const maxChars = 256

/**
 * Which member made what an extension goes on with, such as a task, as far as this process saw it made: no other member
 * is told its id, or what it is answered.
 */
export class Made {
  readonly #makers = new Map<string, Member>()

  /** Takes note of what a member names in a result of an extension; what another one named before stays with that one. */
  learn(member: Member, outcome: Outcome): void {
    if (outcome.type !== 'extension') return
    for (const key of namesIn(outcome.result)) if (!this.#makers.has(key)) this.#makers.set(key, member)
    for (const oldest of this.#makers.keys()) {
      if (this.#makers.size <= maxKept) break
      this.#makers.delete(oldest)
    }
  }

  /** Who made what a request is about, which stands under `named` in its params. */
  makerOf(params: Readonly<JsonObject>, named: string | undefined): Member | undefined {
    const id = named === undefined ? undefined : params[named]
    return named === undefined || typeof id !== 'string' ? undefined : this.#makers.get(keyOf(named, id))
  }
}

function namesIn(result: JsonObject): string[] {
  const inner = Object.values(result).filter(isObject)
  return [result, ...inner]
    .flatMap((part) => Object.entries(part))
    .flatMap(([name, value]) =>
      typeof value === 'string' && value.length <= maxChars ? [keyOf(name, value)] : [],
    )
    .slice(0, maxOfOne)
}

function keyOf(name: string, id: string): string {
  return JSON.stringify([name, id])
}
