import { excerpt, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { InvalidInput } from '../../jsonrpc/invalid-input.ts'
import type { JsonRpcMessage, RequestId } from '../../jsonrpc/message.ts'
import { classify, isObject, parseJson } from '../../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { limits } from '../../request/limits.ts'

/** What is reported of bytes that no text can be made of. */
export const notUtf8 = 'Ignored output that is not a message (not valid UTF-8)'

/** Why a connection is closed whose server sends nothing but what holds no message. */
export function tooMuchInvalid(sent: InvalidInput): McpError {
  return new McpError('LIMIT', `The server sent ${sent}, so the connection was closed`)
}

const maxWarnings = 20

/** Reports what was tolerated, and falls silent before a noisy peer becomes a flood. */
export class Tolerance {
  readonly #warn: (text: string) => void
  #left = maxWarnings

  constructor(warn: (text: string) => void) {
    this.#warn = warn
  }

  report(text: string): void {
    if (this.#left === 0) return
    this.#left--
    this.#warn(this.#left === 0 ? `${text} (further messages of this kind are not shown)` : text)
  }
}

/** What becomes of a text that is not, or not all, made of messages. */
export interface Reception {
  readonly version: ProtocolVersion | undefined
  readonly tolerance: Tolerance
  /** Takes what was meant as the answer to a request and is none; false when nobody waits for it. */
  readonly failed: (id: RequestId, error: McpError) => boolean
}

/** The messages in one JSON text; what is none of them fails the request it was to answer, or is reported and left out. */
export function messagesIn(text: string, reception: Reception): JsonRpcMessage[] {
  const { version, tolerance } = reception
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    const why = error instanceof RpcError ? error.message : 'Parse error'
    tolerance.report(`Ignored output that is not a message (${why}): ${excerpt(text)}`)
    return []
  }
  if (!Array.isArray(value)) return accept(value, text, reception)
  if (version !== undefined && version > '2025-03-26') {
    tolerance.report(`Ignored a batch: revision ${version} has none`)
    return []
  }
  if (value.length > limits.batch) {
    tolerance.report(`Ignored a batch of ${value.length} messages; at most ${limits.batch} are taken`)
    return []
  }
  return value.flatMap((item) => accept(item, text, reception))
}

function accept(value: unknown, text: string, { tolerance, failed }: Reception): JsonRpcMessage[] {
  const classified = classify(value)
  if (classified.kind !== 'invalid') return [classified.message]
  const { id, error } = classified
  // Without the version it may be a line of a log that happens to have the same members.
  if (id !== undefined && isObject(value) && value['jsonrpc'] === '2.0' && !('method' in value)) {
    const why = new McpError(
      'PROTOCOL',
      `The server's answer is no response (${error.message}): ${excerpt(text)}`,
    )
    if (failed(id, why)) return []
  }
  tolerance.report(`Ignored output that is not a message (${error.message}): ${excerpt(text)}`)
  return []
}
