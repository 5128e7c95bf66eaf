import { limits } from '../core/limits.ts'
import { RpcError } from '../jsonrpc/error.ts'
import type { JsonRpcMessage } from '../jsonrpc/message.ts'
import { type Classified, classify, parseJson } from '../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'

/** What is reported of bytes that no text can be made of. */
export const notUtf8 = 'Ignored output that is not a message (not valid UTF-8)'

const shownChars = 120
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

/** The messages in one JSON text; what is none of them is reported and left out. */
export function messagesIn(
  text: string,
  version: ProtocolVersion | undefined,
  tolerance: Tolerance,
): JsonRpcMessage[] {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    const why = error instanceof RpcError ? error.message : 'Parse error'
    tolerance.report(`Ignored output that is not a message (${why}): ${shown(text)}`)
    return []
  }
  if (!Array.isArray(value)) return accept(classify(value), text, tolerance)
  if (version !== undefined && version > '2025-03-26') {
    tolerance.report(`Ignored a batch: revision ${version} has none`)
    return []
  }
  if (value.length > limits.batch) {
    tolerance.report(`Ignored a batch of ${value.length} messages; at most ${limits.batch} are taken`)
    return []
  }
  return value.flatMap((item) => accept(classify(item), text, tolerance))
}

function accept(classified: Classified, text: string, tolerance: Tolerance): JsonRpcMessage[] {
  if (classified.kind !== 'invalid') return [classified.message]
  tolerance.report(`Ignored output that is not a message (${classified.error.message}): ${shown(text)}`)
  return []
}

/** The beginning of a text, fit for one line of a log. */
export function shown(text: string): string {
  const start = text.slice(0, shownChars).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
  return text.length > shownChars ? `${start}…` : start
}
