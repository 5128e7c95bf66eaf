import type { Readable, Writable } from 'node:stream'
import type { Backplane } from '../core/backplane.ts'
import { requireKnown } from '../core/known-members.ts'
import type { Server } from '../server/server.ts'
import { type Bounds, bounds } from './bounds.ts'
import { LineConnection } from './line-connection.ts'
import { requireServer } from './require-server.ts'
import { guardStdout } from './stdout.ts'

/** How a server is mounted on stdin and stdout. All of it has defaults. */
export interface StdioOptions {
  /**
   * Secrets of at least 32 bytes that seal `requestState`; the first seals, all open. Default, also for an empty list: a random one, which
   * is enough unless a client carries a question over to another process.
   */
  keys?: readonly (string | Uint8Array)[]
  /**
   * Where state shared between requests is kept. Default: memory, so that a question of another process is not answered with the
   * same `keys` either.
   */
  backplane?: Backplane
  /**
   * Accepts a `requestState` that another process sealed, or this one before it was started anew, also without a `backplane`
   * that knows whether it was used: its answer may then count once in each process. Only for servers whose handlers may run twice
   * without harm, or hand the key of `ctx.step` on. Default false: it is refused, and the client starts its request over.
   */
  acceptUnknownStates?: boolean
  /** Hears why the connection broke. Default: says nothing, because a client that goes away is no fault. */
  onError?: (error: Error) => void
  /** Other limits than the default ones. */
  limits?: Partial<Bounds>
  /**
   * Whether the process goes on when its client went away, for one that does other things besides. Default false: where
   * something still keeps it alive a second later, a timer or a database, it is ended. Never ended is a process that was
   * given an `input`, or ended the connection itself.
   */
  outlives?: boolean
  /** Read instead of stdin. */
  input?: Readable
  /** Written instead of stdout. */
  output?: Writable
}

/** A server on stdin and stdout. */
export interface StdioServer {
  /** Settles when the connection is over and every handler let go, or 0.9 s passed. */
  readonly closed: Promise<void>
  /** Ends the connection: tells open subscriptions, sends what handlers still answer within 0.9 s. */
  close(): Promise<void>
}

/**
 * Serves one client on stdin and stdout, in every revision. While it does, whatever else is written to stdout (by
 * `console.log`, by a library) goes to stderr. When stdin ends, handlers are asked to stop; the process is ended by
 * force if one is still running after 1 s, if the client stopped reading long ago, or if something else keeps it alive
 * for another second and `outlives` is not set.
 */
export function serveStdio(server: Server, options: StdioOptions = {}): StdioServer {
  requireServer(server, 'serveStdio')
  requireKnown('The options object of serveStdio', options, optionNames)
  // The global one: to import `node:process` is to have every member of it made, at the price of milliseconds.
  const { input = process.stdin, output = process.stdout } = options
  const guard = options.output === undefined ? guardStdout() : undefined
  return new LineConnection(server, {
    input,
    output,
    transport: 'pipe',
    ...(guard === undefined ? {} : { write: guard.write }),
    limits: bounds(options.limits),
    ...(options.keys === undefined ? {} : { keys: options.keys }),
    ...(options.backplane === undefined ? {} : { backplane: options.backplane }),
    acceptUnknownStates: options.acceptUnknownStates,
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    onOver: ({ stuck, left }) => {
      guard?.restore()
      input.destroy()
      if (options.output !== undefined) output.end()
      if (options.input !== undefined) return
      if (stuck) exitSoon(output)
      else if (left && options.outlives !== true) setTimeout(() => process.exit(), outliveMs).unref()
    },
  })
}

const optionNames = Object.keys({
  keys: true,
  backplane: true,
  acceptUnknownStates: true,
  onError: true,
  limits: true,
  outlives: true,
  input: true,
  output: true,
} satisfies Record<keyof StdioOptions, true>)

/** Milliseconds in which a process whose client went away may end by itself. */
const outliveMs = 1_000

/** Ends the process once what was written is out, at the latest after 100 ms. */
function exitSoon(output: Writable): void {
  const timer = setTimeout(() => process.exit(), 100)
  if (output.writableLength === 0) process.exit()
  output.once('drain', () => {
    clearTimeout(timer)
    process.exit()
  })
}
