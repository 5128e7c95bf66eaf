import { isObject } from '../../jsonrpc/parse.ts'
import { limits } from '../../request/limits.ts'
import type { Server } from '../../server/server.ts'

/** Every limit by its name, as a number that may be changed. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

/** The default limits with some of them changed. */
export function bounds(changed?: Partial<Bounds>): Bounds {
  return changed === undefined ? limits : { ...limits, ...changed }
}

/** Reports a failure the peer is not shown. A reporter that fails itself must not take the request with it. */
export function report(server: Server, error: unknown, method: string, name?: string): void {
  try {
    server.report(error, name === undefined ? { method } : { method, name })
  } catch {
    // Nobody is left to tell.
  }
}

/** Refuses what is no server, where one is to be served. @throws TypeError naming the function and what it got */
export function requireServer(server: unknown, where: string): void {
  if (isObject(server) && typeof server['handle'] === 'function' && isObject(server['info'])) return
  throw new TypeError(
    `${where} needs a server as its first argument, made by defineServer, not ${server === undefined ? 'undefined' : server === null ? 'null' : `a ${typeof server}`}`,
  )
}

/** Lets the process end while the timer runs, where the runtime has processes. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref()
  return timer
}
