import type { JsonObject, RequestId } from '@jackfield/sdk'
import { isObject } from '../../../../test/setup/json.ts'

/** One message as it was sent. */
export interface RecordedMessage {
  readonly by: 'client' | 'server'
  readonly message: Readonly<Record<string, unknown>>
  /** The request it answers, where that is known. */
  readonly answers: Readonly<Record<string, unknown>> | undefined
}

/** The messages of both sides, in order. */
export class Transcript implements Iterable<RecordedMessage> {
  readonly #messages: RecordedMessage[] = []
  readonly #asked = new Map<string, Readonly<Record<string, unknown>>>()
  readonly #waiting = new Set<() => void>()

  /** Records a copy of a message. */
  record(by: RecordedMessage['by'], value: unknown): void {
    const message: unknown = JSON.parse(JSON.stringify(value))
    if (!isObject(message)) throw new TypeError('A message is an object')
    // A client that tries another transport starts again.
    if (message['method'] === 'initialize') this.clear()
    const requester = by === 'client' ? 'server' : 'client'
    if ('method' in message) this.#asked.set(keyOf(by, message), message)
    const answers = 'method' in message ? undefined : this.#asked.get(keyOf(requester, message))
    this.#messages.push({ by, message, answers })
    for (const check of this.#waiting) check()
  }

  [Symbol.iterator](): Iterator<RecordedMessage> {
    return this.#messages[Symbol.iterator]()
  }

  /** Discards the messages recorded so far. */
  clear(): void {
    this.#messages.length = 0
  }

  get all(): readonly RecordedMessage[] {
    return this.#messages
  }

  /** Waits until a condition on the messages is true. */
  until(condition: (recorded: readonly RecordedMessage[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this.#messages)) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }
}

function keyOf(by: RecordedMessage['by'], { id }: Readonly<Record<string, unknown>>): string {
  return `${by} ${JSON.stringify(id)}`
}

/** The requests of one side; of one method only, where that is given. */
export function requests(
  recorded: Iterable<RecordedMessage>,
  by: RecordedMessage['by'],
  method?: string,
): JsonObject[] {
  return messages(recorded, by).filter((one) => 'method' in one && 'id' in one && isOf(one, method))
}

/** The notifications of one side; of one method only, where that is given. */
export function notifications(
  recorded: Iterable<RecordedMessage>,
  by: RecordedMessage['by'],
  method?: string,
): JsonObject[] {
  return messages(recorded, by).filter((one) => 'method' in one && !('id' in one) && isOf(one, method))
}

/** The responses of one side. */
export function responses(recorded: Iterable<RecordedMessage>, by: RecordedMessage['by']): JsonObject[] {
  return messages(recorded, by).filter((one) => !('method' in one))
}

/** The results that answered requests of a method. */
export function results(
  recorded: Iterable<RecordedMessage>,
  by: RecordedMessage['by'],
  method?: string,
): JsonObject[] {
  return [...recorded].flatMap(({ by: who, message: { result }, answers }) =>
    who === by && isObject(result) && answers !== undefined && isOf(answers, method) ? [result] : [],
  )
}

/** The errors one side answered with. */
export function errors(recorded: Iterable<RecordedMessage>, by: RecordedMessage['by']): JsonObject[] {
  return responses(recorded, by).flatMap(({ error }) => (isObject(error) ? [error] : []))
}

export function messages(recorded: Iterable<RecordedMessage>, by: RecordedMessage['by']): JsonObject[] {
  return [...recorded].flatMap((one) => (one.by === by ? [one.message] : []))
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
