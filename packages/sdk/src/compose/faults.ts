import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'

/** Codes that speak of the hop between this proxy and its upstream server, which a client would take for its own. */
const ofOneHop: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.UnsupportedProtocolVersion,
  ErrorCode.ParseError,
])

/** The error to answer a client with when its request failed upstream. An upstream error is passed on as it is. */
export function relayedError(error: unknown): RpcError {
  if (error instanceof RpcError) {
    return ofOneHop.has(error.code) ? internal('The upstream server refused the request') : error
  }
  if (!(error instanceof McpError)) return internal('Internal error')
  switch (error.code) {
    case 'CAPABILITY':
      return new RpcError(ErrorCode.MethodNotFound, 'Method not found: the upstream server does not offer it')
    case 'TIMEOUT':
      return internal('The upstream server did not answer in time. Whether the request ran is not known.')
    case 'CONNECTION_CLOSED':
    case 'OUTCOME_UNKNOWN':
      return internal(
        'The connection to the upstream server broke off. Whether the request ran is not known: look before you repeat it.',
      )
    case 'CONNECT_FAILED':
    case 'VERSION_MISMATCH':
      return internal('The upstream server cannot be reached now. Try again later.')
    case 'UNAUTHORIZED':
      return internal('The upstream server does not let this proxy in')
    case 'PROTOCOL':
    case 'HTTP':
      return internal('The upstream server gave an answer that cannot be used')
    default:
      return internal('The request could not be passed on to the upstream server')
  }
}

/** Whether a failure is this side's to know about: an upstream error that was passed on is not. */
export function isOwnFault(error: unknown): boolean {
  return !(error instanceof RpcError) && !(error instanceof McpError && error.code === 'CANCELLED')
}

function internal(message: string): RpcError {
  return new RpcError(ErrorCode.InternalError, message)
}
