import type { RpcError } from '../jsonrpc/error.ts'

/** The wire form of an error under another code. */
export function withCode(error: RpcError, code: number): ReturnType<RpcError['toObject']> {
  return { ...error.toObject(), code }
}
