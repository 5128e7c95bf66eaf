import { excerpt, McpError, RpcError } from '../../jsonrpc/error.ts'
import type { JsonRpcMessage, RequestId } from '../../jsonrpc/message.ts'
import type { InvalidInput } from '../../jsonrpc/parse.ts'
import { classify, isObject, parseJson } from '../../jsonrpc/parse.ts'
import type { ProtocolVersion } from '../../protocol/methods.ts'
import { allowsBatches } from '../../protocol/revision.ts'
import { limits } from '../../request/limits.ts'

export const notUtf8Warning = 'Ignored output that is not a message (not valid UTF-8)'

/** The error for a server that sends too much input without a valid message. */
export function tooMuchInvalidInput(sent: InvalidInput): McpError {
  return new McpError('LIMIT', `The server sent ${sent}, so the connection was closed`)
}

const maxWarnings = 20

export type Warn = (text: string) => void

/** Reports at most 20 warnings per transport. */
export function limitedWarnings(warn: Warn): Warn {
  let left = maxWarnings
  return (text) => {
    if (left === 0) return
    left--
    warn(left === 0 ? `${text} (further messages of this kind are not shown)` : text)
  }
}

interface ParseContext {
  readonly version: ProtocolVersion | undefined
  readonly warn: Warn
  /** Fails the request that an invalid response is for; false if it is not in flight. */
  readonly failRequest: (id: RequestId, error: McpError) => boolean
}

/** Parses the messages in one JSON text. An invalid response fails its request; other invalid input is reported and ignored. */
export function parseMessages(text: string, context: ParseContext): JsonRpcMessage[] {
  const { version, warn } = context
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    const reason = error instanceof RpcError ? error.message : 'Parse error'
    warn(`Ignored output that is not a message (${reason}): ${excerpt(text)}`)
    return []
  }
  if (!Array.isArray(value)) return parseOne(value, text, context)
  if (version !== undefined && !allowsBatches(version)) {
    warn(`Ignored a batch: revision ${version} does not allow them`)
    return []
  }
  if (value.length > limits.batch) {
    warn(`Ignored a batch of ${value.length} messages; the limit is ${limits.batch}`)
    return []
  }
  return value.flatMap((item) => parseOne(item, text, context))
}

function parseOne(value: unknown, text: string, { warn, failRequest }: ParseContext): JsonRpcMessage[] {
  const classified = classify(value)
  if (classified.kind !== 'invalid') return [classified.message]
  const { id, error } = classified
  // Without "jsonrpc" it may be a log line with the same members.
  if (id !== undefined && isObject(value) && value['jsonrpc'] === '2.0' && !('method' in value)) {
    const failure = new McpError('PROTOCOL', `The response is invalid (${error.message}): ${excerpt(text)}`)
    if (failRequest(id, failure)) return []
  }
  warn(`Ignored output that is not a message (${error.message}): ${excerpt(text)}`)
  return []
}
