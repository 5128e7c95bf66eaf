import { McpError } from '../../../jsonrpc/error.ts'
import { parseJson } from '../../../jsonrpc/parse.ts'
import type { ClientCapabilities, Implementation, LoggingLevel } from '../../../protocol/definitions.ts'
import { isCapabilities, isImplementation, isLoggingLevel } from '../../../protocol/meta.ts'
import { listOf, number, shape, text } from '../../../protocol/shapes.ts'

/**
 * A session in the backplane, read with every request: so another principal, the end of the session and its log level have an
 * effect on all nodes at once.
 */
export interface SessionRecord {
  readonly v: 1
  readonly principal: string | null
  readonly version: string
  readonly capabilities: ClientCapabilities
  readonly info: Implementation | undefined
  readonly level: LoggingLevel | undefined
  /** The resources the client subscribed to, and its URL elicitations without a completion. */
  readonly uris: readonly string[]
  readonly elicitations: readonly string[]
  /** When the record was last renewed, in milliseconds since 1970. */
  readonly renewed: number
  /** Until when the client was notified of changes, in milliseconds since 1970 by the clock of this node. */
  readonly notified: { readonly at: number; readonly node: string }
}

const isRecordShape = shape(
  {
    v: (value) => value === 1,
    principal: (value) => value === null || typeof value === 'string',
    version: text,
    capabilities: isCapabilities,
    uris: listOf(text),
    elicitations: listOf(text),
    renewed: number,
    notified: shape({ at: number, node: text }),
  },
  { info: isImplementation, level: isLoggingLevel },
)

function isRecord(value: unknown): value is SessionRecord {
  return isRecordShape(value, () => {})
}

/** @throws McpError 'PROTOCOL' for a record of a version that this one cannot read */
export function recordOf(text: string): SessionRecord {
  const value = parseJson(text)
  if (!isRecord(value)) throw unreadable()
  return value
}

export function unreadable(): McpError {
  return new McpError('PROTOCOL', 'The record of a session in the backplane was written by another version')
}
