import { McpError } from '../jsonrpc/error.ts'
import type { JsonRpcNotification } from '../jsonrpc/message.ts'
import { isRequestId } from '../jsonrpc/parse.ts'
import type { Calls } from './calls.ts'

/** Takes back the request a notice names, where the notice does that. One that is not in flight is nobody's fault. */
export function cancelCall(calls: Calls, { method, params }: JsonRpcNotification): void {
  if (method !== 'notifications/cancelled' || !isRequestId(params?.['requestId'])) return
  const reason = typeof params['reason'] === 'string' ? `: ${params['reason']}` : ''
  calls.cancel(params['requestId'], new McpError('CANCELLED', `The client cancelled the request${reason}`))
}
