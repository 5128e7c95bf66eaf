import type { JsonRpcMessage, JsonRpcRequest } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { MetaKey } from '../protocol/meta.ts'

/**
 * Tells the messages that bring one call on from those a server could send without end: its answer, and progress that
 * is more than before.
 */
export class Advance {
  readonly #id: unknown
  readonly #token: unknown
  #progress = Number.NEGATIVE_INFINITY

  constructor({ id, params }: JsonRpcRequest) {
    const meta = params?.['_meta']
    this.#id = id
    this.#token = isObject(meta) ? meta[MetaKey.progressToken] : undefined
  }

  isMadeBy(message: JsonRpcMessage): boolean {
    if (!('method' in message)) return message.id === this.#id
    if (message.method !== 'notifications/progress' || this.#token === undefined) return false
    const { progressToken, progress } = message.params ?? {}
    if (progressToken !== this.#token || typeof progress !== 'number' || !(progress > this.#progress))
      return false
    this.#progress = progress
    return true
  }
}
