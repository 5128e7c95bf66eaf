import { invalid, kindOf } from '../../jsonrpc/error.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import { requireKnown } from '../../request/known-members.ts'
import { limits } from '../../request/limits.ts'
import type { Server } from '../../server/server.ts'

/** All limits by name. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

const names = Object.keys(limits)

/**
 * The default limits with overrides.
 * @throws McpError 'INVALID' for a limit that does not exist
 */
export function bounds(changed?: Partial<Bounds>): Bounds {
  if (changed === undefined) return limits
  requireKnown('"limits"', changed, names)
  return { ...limits, ...changed }
}

/** Reports an error whose text is not sent to the client. Errors of the reporter are ignored. */
export function report(server: Server, error: unknown, method: string, name?: string): void {
  try {
    server.report(error, name === undefined ? { method } : { method, name })
  } catch {
    // The report has no other destination.
  }
}

/** Requires a server as an argument. @throws TypeError naming the function and the type it got */
export function requireServer(server: unknown, where: string): void {
  if (isObject(server) && typeof server['handle'] === 'function' && isObject(server['info'])) return
  throw new TypeError(
    `${where} needs a server as its first argument, made by defineServer, not ${kindOf(server)}`,
  )
}

/** @throws McpError 'INVALID' for what is not the number of a port */
export function requirePort(where: string, port: unknown): void {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return
  const shown = typeof port === 'string' ? `the string "${port}"` : String(port)
  throw invalid(`${where}: "port" must be a whole number from 0 to 65535, not ${shown}`)
}

/** Does not keep the process alive for a timer, on runtimes with processes. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref()
  return timer
}
