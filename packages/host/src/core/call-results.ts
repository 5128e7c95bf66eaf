import { type CallToolResult, McpError, RpcError } from '@jackfield/sdk'
import { failureFrom, reasonWithFixes } from '../shared/failures.ts'
import { frozenCopy, isRecord } from '../shared/json.ts'
import { reasonOf } from '../shared/text.ts'
import type { CatalogTool, Failure } from '../types/index.ts'

/** A result of one text. */
export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

/** A result for the model that states a failure. */
export function failure(text: string): CallToolResult {
  return { ...textResult(text), isError: true }
}

/** A call that was not made. A model is also asked not to evade the decision. */
export function denial({ tool, server }: CatalogTool, reason: string, isForModel: boolean): CallToolResult {
  const advice = isForModel ? ' Do not try it again or another way around it.' : ''
  return failure(`${tool.name} of ${server} was not called: ${sentence(reason)}${advice}`)
}

function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

/** A call that was not made because its arguments do not match the input schema. */
export function invalidArguments({ tool, server }: CatalogTool, problem: string): CallToolResult {
  return failure(
    `${tool.name} of ${server} was not called: its arguments do not match its input schema: ${problem}. Call it again with arguments that match.`,
  )
}

/** A call whose result is withheld from its caller. */
export function withheldResult({ tool, server }: CatalogTool, reason: string): CallToolResult {
  return failure(
    `${tool.name} of ${server} was called, and its result is held back: ${reason}. Do not call it again for that.`,
  )
}

/** A frozen copy of a result written by the user. Throws if it is not a tool result. */
export function checkedResult(value: CallToolResult, by: string): CallToolResult {
  const result = frozenCopy(value)
  const blocks = isRecord(result) ? result.content : undefined
  if (Array.isArray(blocks) && blocks.every((block) => isRecord(block) && typeof block.type === 'string')) {
    return result
  }
  throw new Error(`${by} gave a result that is no tool result: it needs "content", a list of blocks`)
}

/** The outcome of a call without a result. */
export interface CallFailure {
  outcome: 'error' | 'cancelled' | 'unknown' | 'changed' | 'suspended'
  result: CallToolResult
  error?: Failure
}

/** Failures after which it is unknown whether the tool ran. */
const ambiguousCodes = new Set([
  'CONNECTION_CLOSED',
  'OUTCOME_UNKNOWN',
  'TIMEOUT',
  'HTTP',
  'PROTOCOL',
  'LIMIT',
])

/** The outcome of a failed call, which may have had an effect. */
export function failedCall(server: string, tool: string, error: unknown): CallFailure {
  return { ...describeFailure(server, tool, error), error: failureOf(error) }
}

/** A suspended call: its question stays in the inbox, and answering it resumes the call. */
export function suspendedCall(server: string, tool: string): CallFailure {
  const message = `The call of ${tool} of ${server} waits in the inbox for an answer`
  return { outcome: 'suspended', result: failure(message), error: { code: 'CANCELLED', message } }
}

/** A call that continues as a task of its server, which the next program on the store follows. */
export function detachedTask(server: string, tool: string): CallFailure {
  const message = `${tool} of ${server} continues as a task of its server; it is followed again once the host runs`
  return { outcome: 'suspended', result: failure(message), error: { code: 'CANCELLED', message } }
}

/** The failure as data; an unknown error counts as a protocol error. */
export function failureOf(error: unknown): Failure {
  return failureFrom(error) ?? { code: 'PROTOCOL', message: reasonOf(error) }
}

function describeFailure(server: string, tool: string, error: unknown): CallFailure {
  const reason = reasonWithFixes(error)
  if (error instanceof RpcError) {
    return {
      outcome: 'error',
      result: failure(`The call of ${tool} of ${server} ended with an error: ${reason}`),
    }
  }
  if (error instanceof McpError && error.code === 'CANCELLED') {
    return {
      outcome: 'cancelled',
      result: failure(`The call of ${tool} was cancelled. It may have had an effect before that.`),
    }
  }
  if (error instanceof McpError && !ambiguousCodes.has(error.code)) {
    return { outcome: 'error', result: failure(`The call of ${tool} of ${server} failed: ${reason}`) }
  }
  return {
    outcome: 'unknown',
    result: failure(
      `The answer of ${tool} was lost, so it is unknown whether it had its effect (${reason}). ` +
        'Find out before calling it again.',
    ),
  }
}

/** Failures that a lost connection can cause. */
export function isTransportError(error: unknown): boolean {
  return (
    error instanceof McpError &&
    ['CONNECTION_CLOSED', 'CONNECT_FAILED', 'HTTP', 'OUTCOME_UNKNOWN', 'TIMEOUT', 'UNAUTHORIZED'].includes(
      error.code,
    )
  )
}
