import type { Failure } from '@jackfield/host'
import type { Fault } from '@jackfield/host/client'
import { FixableError } from '@jackfield/host/config'
import { McpError, RpcError } from '@jackfield/sdk'
import { CliError, ExitCode } from '../cli/exit.ts'

/** Converts a host fault to an error, so that failures read the same with and without a host process. */
export function errorOfFault({ code, message, data, fixes = [] }: Fault): Error {
  if (typeof code === 'number') return new RpcError(code, message, data)
  if (code === 'STORE')
    return new CliError(ExitCode.usage, storeFailure(message, isDamagedStore(data)), { code })
  if (isMcpCode(code)) return errorOf({ code, message, data, fixes })
  return code === 'MODEL'
    ? new CliError(ExitCode.toolError, message, { code: modelErrorKind(data), fixes })
    : new CliError(ExitCode.usage, message, { fixes })
}

/** The error for a failure reported by the host. */
export function errorOf({ code, message, data, fixes = [] }: Failure): Error {
  if (typeof code === 'number') return new RpcError(code, message, data)
  const details = typeof data === 'object' && data !== null ? { details: { ...data } } : {}
  return fixes.length > 0
    ? new FixableError(code, message, fixes, details)
    : new McpError(code, message, details)
}

/** Advice for an unusable store. */
export function storeFailure(message: string, isDamaged: boolean): string {
  const setAside = isDamaged ? ' To rename it and start a new store: jackfield store set-aside.' : ''
  return `${message}${setAside} To run without a store, where a command offers it: --no-store.`
}

/** The kind of a model failure, which is its code in messages. */
function modelErrorKind(data: unknown): string {
  return typeof data === 'object' && data !== null && 'kind' in data ? String(data.kind) : 'MODEL'
}

function isDamagedStore(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'fault' in data && data.fault === 'damaged'
}

const mcpCodes = [
  'CONNECTION_CLOSED',
  'CONNECT_FAILED',
  'TIMEOUT',
  'CANCELLED',
  'PROTOCOL',
  'VERSION_MISMATCH',
  'CAPABILITY',
  'CANNOT_ASK',
  'TOO_MANY_ROUNDS',
  'LIMIT',
  'INVALID',
  'NOT_FOUND',
  'CONFLICT',
  'REFUSED',
  'UNVERIFIED',
  'HTTP',
  'UNAUTHORIZED',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly McpError['code'][]

function isMcpCode(code: string): code is (typeof mcpCodes)[number] {
  return mcpCodes.some((one) => one === code)
}
