import type { JsonObject, RequestId } from '@jackfield/sdk'
import { isObject } from '../../../../test/setup/json.ts'

/** One message as it crossed the wire. */
export interface Said {
  readonly by: 'client' | 'server'
  readonly message: Readonly<Record<string, unknown>>
  /** The request it answers, where that is known. */
  readonly answers: Readonly<Record<string, unknown>> | undefined
}

/** What both sides said, in order, and news of what comes. */
export class Transcript implements Iterable<Said> {
  readonly #said: Said[] = []
  readonly #asked = new Map<string, Readonly<Record<string, unknown>>>()
  readonly #waiting = new Set<() => void>()

  /** Keeps a message; a later change of the object it came as is not seen. */
  keep(by: Said['by'], value: unknown): void {
    const message: unknown = JSON.parse(JSON.stringify(value))
    if (!isObject(message)) throw new TypeError('A message is an object')
    // A client that tries another transport begins another conversation.
    if (message['method'] === 'initialize') this.forget()
    const requester = by === 'client' ? 'server' : 'client'
    if ('method' in message) this.#asked.set(keyOf(by, message), message)
    const answers = 'method' in message ? undefined : this.#asked.get(keyOf(requester, message))
    this.#said.push({ by, message, answers })
    for (const look of this.#waiting) look()
  }

  [Symbol.iterator](): Iterator<Said> {
    return this.#said[Symbol.iterator]()
  }

  /** Begins anew: what was said so far is left out. */
  forget(): void {
    this.#said.length = 0
  }

  get all(): readonly Said[] {
    return this.#said
  }

  /** Waits until something is so of what was said. */
  until(so: (said: readonly Said[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!so(this.#said)) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }
}

function keyOf(by: Said['by'], { id }: Readonly<Record<string, unknown>>): string {
  return `${by} ${JSON.stringify(id)}`
}

/** The requests of one side; of one method only, where that is given. */
export function requests(said: Iterable<Said>, by: Said['by'], method?: string): JsonObject[] {
  return messages(said, by).filter((one) => 'method' in one && 'id' in one && isOf(one, method))
}

/** The notices of one side; of one method only, where that is given. */
export function notices(said: Iterable<Said>, by: Said['by'], method?: string): JsonObject[] {
  return messages(said, by).filter((one) => 'method' in one && !('id' in one) && isOf(one, method))
}

/** The responses of one side. */
export function responses(said: Iterable<Said>, by: Said['by']): JsonObject[] {
  return messages(said, by).filter((one) => !('method' in one))
}

/** The results that answered requests of a method. */
export function results(said: Iterable<Said>, by: Said['by'], method?: string): JsonObject[] {
  return [...said].flatMap(({ by: who, message: { result }, answers }) =>
    who === by && isObject(result) && answers !== undefined && isOf(answers, method) ? [result] : [],
  )
}

/** The errors one side answered with. */
export function errors(said: Iterable<Said>, by: Said['by']): JsonObject[] {
  return responses(said, by).flatMap(({ error }) => (isObject(error) ? [error] : []))
}

export function messages(said: Iterable<Said>, by: Said['by']): JsonObject[] {
  return [...said].flatMap((one) => (one.by === by ? [one.message] : []))
}

function isOf(message: Readonly<Record<string, unknown>>, method: string | undefined): boolean {
  return method === undefined || message['method'] === method
}

/** A member of what may be an object, found by its path. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const name of path) {
    found = Array.isArray(found) ? found[Number(name)] : isObject(found) ? found[name] : undefined
  }
  return found
}

/** The same where it must be an object: empty where it is none. */
export function part(value: unknown, ...path: readonly (string | number)[]): JsonObject {
  const found = at(value, ...path)
  return isObject(found) ? found : {}
}

/** The id of a request. */
export function idOf({ id }: Readonly<Record<string, unknown>>): RequestId {
  if (typeof id === 'string' || typeof id === 'number') return id
  throw new TypeError(`This message has no id: ${JSON.stringify(id)}`)
}
