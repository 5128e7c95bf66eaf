import { isObject } from '../../jsonrpc/parse.ts'
import { limits } from '../../request/limits.ts'
import type { Server } from '../../server/server.ts'

/** All limits by name. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

/** The default limits with overrides. */
export function bounds(changed?: Partial<Bounds>): Bounds {
  return changed === undefined ? limits : { ...limits, ...changed }
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
    `${where} needs a server as its first argument, made by defineServer, not ${server === undefined ? 'undefined' : server === null ? 'null' : `a ${typeof server}`}`,
  )
}

/** Does not keep the process alive for a timer, on runtimes with processes. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref()
  return timer
}
