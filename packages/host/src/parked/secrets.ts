import { McpError } from '@jackfield/sdk'
import type { CredentialStore } from '@jackfield/sdk/client/auth'
import { readJson } from '@jackfield/sdk/internal'
import { fill, type Redactor, withhold } from '../secrets/index.ts'
import type { ParkedCall } from '../store/index.ts'
import { oneLine, reasonOf } from '../text.ts'

type Kept = Pick<ParkedCall, 'call' | 'identity' | 'request' | 'asked'>

export interface ParkedSecretsDeps {
  redactor: Redactor
  /** What is kept under a name in the store of secrets. */
  secret: (name: string) => Promise<string | undefined>
  /** Where values are sealed that have no name there; undefined where nothing outlives this program. */
  sealed: CredentialStore | undefined
  /** Unlike that of any other store. */
  salt: string
  /** The host's end waits for this. */
  follow: (going: Promise<unknown>) => void
}

/** Keeps the secrets of parked calls out of the store, and has them back when a call is taken up. */
export class ParkedSecrets {
  readonly #deps: ParkedSecretsDeps
  /** Writes one after another, so that the last one counts. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #sealed = new Set<number>()

  constructor(deps: ParkedSecretsDeps) {
    this.#deps = deps
  }

  /** The call as the store may have it; undefined where it cannot be kept so that it could be taken up. */
  without(kept: Kept): Kept | undefined {
    const { redactor, sealed } = this.#deps
    const { request, asked } = kept
    const held = withhold({ request, asked }, redactor)
    if (held === undefined) return kept
    const { value, holes, bare } = held
    if (bare.length > 0) {
      if (sealed === undefined) return undefined
      this.#sealed.add(kept.call)
      this.#write(() => sealed.set(this.#key(kept.call), JSON.stringify(bare)))
    }
    return { ...kept, request: { ...value.request, holes }, asked: value.asked }
  }

  /** The call as it was made. @throws McpError 'INVALID' that says which secret is missing and what to do */
  async whole<T extends Kept>(kept: T): Promise<T> {
    const { holes, ...request } = kept.request
    if (holes === undefined) return kept
    const { asked } = kept
    const bare = holes.some(({ parts }) => parts === undefined) ? await this.#bare(kept) : []
    const made = await fill({ value: { request, asked }, holes, bare }, (name) => this.#named(name, kept))
    return { ...kept, ...made }
  }

  /** The call is over. */
  forget(call: number): void {
    const { sealed } = this.#deps
    if (sealed === undefined || !this.#sealed.delete(call)) return
    this.#write(() => sealed.delete(this.#key(call)))
  }

  async #named(name: string, { request }: Kept): Promise<string> {
    const value = await this.#deps.secret(name)
    if (value !== undefined) return value
    throw new McpError(
      'INVALID',
      `The call of ${oneLine(request.tool)} holds the secret "${name}", which is not kept any more. Set it with: jackfield secret set '${name}', or make the call again`,
    )
  }

  async #bare({ call, request }: Kept): Promise<unknown[]> {
    const text = await this.#deps.sealed?.get(this.#key(call))
    const bare: unknown = readJson(text ?? 'null')
    if (Array.isArray(bare)) {
      this.#sealed.add(call)
      return bare
    }
    throw new McpError(
      'INVALID',
      `The call of ${oneLine(request.tool)} holds a secret that cannot be read here. Answer it where it was made, or make the call again`,
    )
  }

  #key(call: number): string {
    return `parked ${this.#deps.salt} ${call}`
  }

  #write(work: () => Promise<void>): void {
    this.#last = this.#last.then(work).catch((error: unknown) => {
      process.emitWarning(`The secrets of a parked call could not be sealed: ${reasonOf(error)}`)
    })
    this.#deps.follow(this.#last)
  }
}
