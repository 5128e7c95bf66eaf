import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import { readJson } from '@jackfield/sdk/internal'
import type { FoundSecret, SecretRedactor } from '../config/secrets/redactor.ts'
import type { Hole, SuspendedCall } from '../log/store/inbox-tables.ts'
import { FixableError } from '../shared/failures.ts'
import { isRecord } from '../shared/json.ts'
import { oneLine, reasonOf } from '../shared/text.ts'

type StoredCall = Pick<SuspendedCall, 'call' | 'identity' | 'request' | 'asked'>

interface SuspendedSecretsDeps {
  redactor: SecretRedactor
  /** A stored secret. */
  secret: (name: string) => Promise<string | undefined>
  /** Seals secrets that the secret store does not have; undefined if nothing outlives this program. */
  sealed: CredentialStore | undefined
  /** Unique to the store. */
  salt: string
  /** Delays the host's close. */
  follow: (work: Promise<unknown>) => void
}

/** Removes the secrets of suspended calls before they are stored, and restores them when a call is resumed. */
export class SuspendedSecrets {
  readonly #deps: SuspendedSecretsDeps
  /** Writes are sequential, so that the last one remains. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #sealed = new Set<number>()

  constructor(deps: SuspendedSecretsDeps) {
    this.#deps = deps
  }

  /** The call without secrets, for the store; undefined if it could not be restored. */
  without(call: StoredCall): StoredCall | undefined {
    const { redactor, sealed } = this.#deps
    const { request, asked } = call
    const extracted = extractSecrets({ request, asked }, redactor)
    if (extracted === undefined) return call
    const { value, holes, bare } = extracted
    if (bare.length > 0) {
      if (sealed === undefined) return undefined
      this.#sealed.add(call.call)
      this.#write(() => sealed.set(this.#key(call.call), JSON.stringify(bare)))
    }
    return { ...call, request: { ...value.request, holes }, asked: value.asked }
  }

  /** The original call. @throws McpError 'INVALID' with the missing secret and a suggested fix */
  async restore<T extends StoredCall>(stored: T): Promise<T> {
    const { holes, ...request } = stored.request
    if (holes === undefined) return stored
    const { asked } = stored
    const bare = holes.some(({ parts }) => parts === undefined) ? await this.#readSealed(stored) : []
    const restored = await fill({ value: { request, asked }, holes, bare }, (name) =>
      this.#readSecret(name, stored),
    )
    return { ...stored, ...restored }
  }

  /** Removes the sealed secrets of a call that ended. */
  forget(call: number): void {
    const { sealed } = this.#deps
    if (sealed === undefined || !this.#sealed.delete(call)) return
    this.#write(() => sealed.delete(this.#key(call)))
  }

  async #readSecret(name: string, { request }: StoredCall): Promise<string> {
    const value = await this.#deps.secret(name)
    if (value !== undefined) return value
    throw new FixableError(
      'INVALID',
      `The call of ${oneLine(request.tool)} contains the secret "${name}", which is no longer stored. Set it, or make the call again`,
      [{ action: 'set-secret', name }],
    )
  }

  async #readSealed({ call, request }: StoredCall): Promise<unknown[]> {
    const text = await this.#deps.sealed?.get(this.#key(call))
    const bare: unknown = readJson(text ?? 'null')
    if (Array.isArray(bare)) {
      this.#sealed.add(call)
      return bare
    }
    throw new McpError(
      'INVALID',
      `The call of ${oneLine(request.tool)} contains a secret that cannot be read here. Answer it where it was made, or make the call again`,
    )
  }

  #key(call: number): string {
    return `parked ${this.#deps.salt} ${call}`
  }

  #write(work: () => Promise<void>): void {
    this.#last = this.#last.then(work).catch((error: unknown) => {
      process.emitWarning(`The secrets of a suspended call could not be sealed: ${reasonOf(error)}`)
    })
    this.#deps.follow(this.#last)
  }
}

/** A JSON value without its secrets, and the data to restore them. */
interface ExtractedSecrets<T> {
  value: T
  holes: readonly Hole[]
  /** Secrets without a name, in the order of the holes that have no parts. Must be sealed before storing. */
  bare: readonly unknown[]
}

/** Removes known secrets from a JSON value; undefined if there are none. */
export function extractSecrets<T>(value: T, redactor: SecretRedactor): ExtractedSecrets<T> | undefined {
  const shown = redactor.value(value)
  if (shown === value) return undefined
  const holes: Hole[] = []
  const bare: unknown[] = []
  const extract = (item: unknown, path: readonly (string | number)[]): void => {
    if (redactor.value(item) === item) return
    if (Array.isArray(item)) {
      for (const [index, inner] of item.entries()) extract(inner, [...path, index])
      return
    }
    // A redacted member name could not be used to find the member again.
    if (isRecord(item) && Object.keys(item).every((name) => redactor.text(name) === name)) {
      for (const [name, inner] of Object.entries(item)) {
        if (redactor.value({ [name]: inner })[name] === inner) continue
        if (redactor.value(inner) === inner) addHole(inner, [...path, name])
        else extract(inner, [...path, name])
      }
      return
    }
    addHole(item, path)
  }
  const addHole = (item: unknown, path: readonly (string | number)[]): void => {
    const parts = typeof item === 'string' ? secretParts(redactor.pieces(item)) : undefined
    if (parts !== undefined) holes.push({ at: path, parts })
    else {
      holes.push({ at: path })
      bare.push(item)
    }
  }
  extract(value, [])
  return { value: shown, holes, bare }
}

/** The value with all secrets restored. `secret` reads a stored secret by name. */
export async function fill<T>(
  { value, holes, bare }: ExtractedSecrets<T>,
  secret: (name: string) => Promise<string>,
): Promise<T> {
  const restored: T = structuredClone(value)
  const remainingBare = [...bare]
  for (const { at, parts } of holes) {
    const item =
      parts === undefined
        ? remainingBare.shift()
        : (
            await Promise.all(parts.map((part) => (typeof part === 'string' ? part : secret(part.secret))))
          ).join('')
    setMember(restored, at, item)
  }
  return restored
}

function setMember(target: unknown, path: readonly (string | number)[], item: unknown): void {
  const [last] = path.slice(-1)
  const holder = path.slice(0, -1).reduce<unknown>((inner, name) => memberOf(inner, name), target)
  if (last === undefined || typeof holder !== 'object' || holder === null) return
  Object.defineProperty(holder, last, { value: item, enumerable: true, configurable: true, writable: true })
}

function memberOf(holder: unknown, name: string | number): unknown {
  if (Array.isArray(holder)) return holder[Number(name)]
  return isRecord(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined
}

function secretParts(pieces: readonly (string | FoundSecret)[]): Hole['parts'] {
  const parts: (string | { secret: string })[] = []
  for (const piece of pieces) {
    if (typeof piece === 'string') parts.push(piece)
    else if (piece.plain && piece.storedName !== undefined) parts.push({ secret: piece.storedName })
    else return undefined
  }
  return parts.some((part) => typeof part !== 'string') ? parts : undefined
}
