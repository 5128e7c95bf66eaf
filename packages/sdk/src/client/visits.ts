import { limits } from '../core/limits.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'

/** The URL visits a server asked for, so that word of any other is not taken for news. */
export class Visits {
  readonly #open = new Set<string>()

  /** Remembers a visit by its `elicitationId`; the oldest one is forgotten where there are too many. */
  begin(id: unknown): void {
    if (typeof id !== 'string' || id.length > limits.uriChars) return
    const [oldest] = this.#open
    if (oldest !== undefined && this.#open.size >= limits.subscribedUris) this.#open.delete(oldest)
    this.#open.add(id)
  }

  /** Remembers the visits an error of code -32042 asks for. */
  beginAll(error: unknown): void {
    if (!(error instanceof RpcError) || error.code !== ErrorCode.UrlElicitationRequired) return
    const asked = isObject(error.data) ? error.data['elicitations'] : undefined
    if (!Array.isArray(asked)) return
    for (const visit of asked) if (isObject(visit)) this.begin(visit['elicitationId'])
  }

  /** Whether this visit was asked for and had not ended yet. */
  end(id: string): boolean {
    return this.#open.delete(id)
  }
}
