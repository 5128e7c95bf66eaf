import { describeValue, invalid, kindOf, McpError } from '../../jsonrpc/error.ts'
import { isObject } from '../../jsonrpc/parse.ts'
import type { Backplane } from '../../request/backplane.ts'
import { limits } from '../../request/limits.ts'
import { defined, requireKnown } from '../../request/object-members.ts'
import type { Server } from '../../server/server.ts'

/** All limits by name. */
export type Bounds = { readonly [Name in keyof typeof limits]: number }

const names = Object.keys(limits)

/** The limits that only `serveHttp` has. */
type HttpLimit =
  | 'inFlightPerPrincipal'
  | 'inFlightPerNode'
  | 'httpConnections'
  | 'headersMs'
  | 'requestMs'
  | 'sessions'
  | 'sessionsPerPrincipal'
  | 'sessionIdleMs'
  | 'listenStreams'
  | 'listenStreamsPerPrincipal'
  | 'storedEvents'
  | 'storedEventChars'
  | 'storedEventsMs'
  | 'keepAliveMs'

type ClientLimit = 'eventIdChars' | 'cacheChars'

/** The limits that have an effect in `serveHttp`. */
export type HttpLimits = Omit<Bounds, 'connections' | ClientLimit>

/** The limits that have an effect in `serveSocket`. */
export type SocketLimits = Omit<Bounds, HttpLimit | ClientLimit>

/** The limits that have an effect in `serveStdio`. */
export type StdioLimits = Omit<SocketLimits, 'connections'>

/**
 * The default limits with overrides.
 * @throws McpError 'INVALID' for a limit that does not exist, or is no number of at least 0
 */
export function bounds(changed?: Partial<Bounds>): Bounds {
  if (changed === undefined) return limits
  requireKnown('"limits"', changed, names)
  // A limit that is undefined would not limit anything.
  const set = defined(changed)
  for (const [name, value] of Object.entries(set)) {
    if (typeof value === 'number' && value >= 0) continue
    throw invalid(`"limits": "${name}" must be a number of at least 0, not ${describeValue(value)}`)
  }
  return { ...limits, ...set }
}

/** Options of every server transport about the state of requests that wait for input. */
export interface StateOptions {
  /**
   * Secrets of at least 32 bytes that encrypt `requestState`: the first encrypts, all decrypt. Use the same in every process
   * that a client may retry with. Default, also for an empty list: a random one, so that states of other processes, or from
   * before a restart, are rejected.
   */
  keys?: readonly (string | Uint8Array)[]
  /**
   * Storage for state shared between requests: used states, over HTTP also stored events and changes on other nodes. Default:
   * memory of this process, so that a `requestState` of another process is rejected even with the same `keys`.
   */
  backplane?: Backplane
  /**
   * Accepts a `requestState` of another process, or of this one before a restart, without a `backplane` that records whether it
   * was used: it may then be used once in each process. Only for servers whose handlers may run twice, or whose steps are
   * idempotent by the key of `ctx.step`. Default false: it is rejected, and the client starts its request over. Over HTTP,
   * without a `backplane`, the first question then warns; an explicit `false` removes the warning.
   */
  acceptUnknownStates?: boolean
}

/** The names of `StateOptions`. */
export const stateOptionNames: Readonly<Record<keyof StateOptions, true>> = {
  keys: true,
  backplane: true,
  acceptUnknownStates: true,
}

/** Reports an error whose text is not sent to the client. Errors of `report` are ignored: no other destination exists. */
export function report(server: Server, error: unknown, method: string, name?: string): void {
  try {
    server.report(error, name === undefined ? { method } : { method, name })
  } catch {}
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

const listenFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it (EADDRINUSE). End that program, or listen on another port',
  EACCES: 'this user may not use it (EACCES). Listen on a port above 1023',
  EADDRNOTAVAIL: 'this machine does not have the address (EADDRNOTAVAIL)',
}

/** The error of a server that cannot listen on a port. */
export function listenError(host: string, port: number, cause: Error): McpError {
  const reason = 'code' in cause ? listenFailures[String(cause.code)] : undefined
  const message = `Cannot listen on ${host} port ${port}: ${reason ?? cause.message}`
  return new McpError('CONNECT_FAILED', message, { cause })
}

/** Does not keep the process alive for a timer, on runtimes with processes. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  if (typeof timer === 'object') timer.unref()
  return timer
}
