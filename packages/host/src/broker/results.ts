import { type CallToolResult, McpError, RpcError } from '@jackfield/sdk'
import { failureFrom, reasonOf } from '../text.ts'
import type { Failure } from '../types/index.ts'

/** A result that tells the model why there is none. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** What became of a call that gave no result. */
export interface Lost {
  outcome: 'error' | 'cancelled' | 'unknown' | 'changed'
  result: CallToolResult
  error?: Failure
}

/** Failures after which nobody can say whether the tool did its work. */
const unknowable = new Set(['CONNECTION_CLOSED', 'OUTCOME_UNKNOWN', 'TIMEOUT', 'HTTP', 'PROTOCOL', 'LIMIT'])

/** Says what a failed call means, without hiding that it may have had an effect. */
export function lostCall(server: string, tool: string, error: unknown): Lost {
  return { ...meaning(server, tool, error), error: failureOf(error) }
}

/** The failure as data; one that nobody named is taken for a breach of the protocol. */
export function failureOf(error: unknown): Failure {
  return failureFrom(error) ?? { code: 'PROTOCOL', message: reasonOf(error) }
}

function meaning(server: string, tool: string, error: unknown): Lost {
  const reason = reasonOf(error)
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
  if (error instanceof McpError && !unknowable.has(error.code)) {
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
