import type { Fault } from '@jackfield/host/client'
import { McpError, RpcError } from '@jackfield/sdk'
import { CliError, ExitCode } from '../cli/exit.ts'

/** The error that a fault of the host stands for, so that failures read the same with and without a host process. */
export function errorOfFault({ code, message, data }: Fault): Error {
  if (typeof code === 'number') return new RpcError(code, message, data)
  const details = typeof data === 'object' && data !== null ? { details: { ...data } } : {}
  return isMcpCode(code) ? new McpError(code, message, details) : new CliError(ExitCode.usage, message)
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
  'UNVERIFIED',
  'HTTP',
  'UNAUTHORIZED',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly McpError['code'][]

function isMcpCode(code: string): code is (typeof mcpCodes)[number] {
  return mcpCodes.some((one) => one === code)
}
