import type { Readable, Writable } from 'node:stream'
import { requireKnown } from '../../request/object-members.ts'
import type { Server } from '../../server/server.ts'
import { LineConnection } from './line-connection.ts'
import { bounds, requireServer, type StateOptions, type StdioLimits, stateOptionNames } from './options.ts'

/**
 * Reserves stdout for protocol messages: other writes of this process go to stderr until `restore`. Child processes with an
 * inherited stdout are not affected.
 */
function guardStdout(): { write(text: string, done: () => void): void; restore(): void } {
  const { stdout } = process
  const original = stdout.write
  stdout.write = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ) => {
    const stderr = stderrWithoutErrors()
    return typeof encoding === 'function'
      ? stderr.write(chunk, encoding)
      : stderr.write(chunk, encoding, done)
  }
  // Creating stderr is slow, so it is done after the first response.
  setImmediate(stderrWithoutErrors)
  return {
    write: (text, done) => original.call(stdout, text, 'utf8', done),
    restore: () => {
      stdout.write = original
    },
  }
}

/** stderr, with its errors ignored: logging must not crash the server when the client no longer reads it. */
function stderrWithoutErrors(): NodeJS.WriteStream {
  const { stderr } = process
  if (!stderr.listeners('error').includes(ignore)) stderr.on('error', ignore)
  return stderr
}

function ignore(): void {}

/** Options of `serveStdio`. */
export interface ServeStdioOptions extends StateOptions {
  /** Overrides of the default limits. */
  limits?: Partial<StdioLimits>
  /** Called with the error of a broken connection. Default: ignored, because clients may disconnect. */
  onError?: (error: Error) => void
  /**
   * Whether the process continues when its client disconnected, for processes with other tasks. Default false: if something
   * (a timer, a database) still keeps it alive a second later, it exits. With `input`, or after `close`, it does not exit.
   */
  outlives?: boolean
  /** The stream to read from. Default: stdin. */
  input?: Readable
  /** The stream to write to. Default: stdout. */
  output?: Writable
}

/** A server on stdin and stdout. */
export interface StdioServer {
  /** Resolves when the connection is closed and all handlers ended, or after 0.9 s. */
  readonly closed: Promise<void>
  /** Closes the connection: ends open subscriptions, and sends responses within 0.9 s. */
  close(): Promise<void>
}

/**
 * Serves one client on stdin and stdout, in every revision. Meanwhile other writes to stdout (`console.log`, libraries) go to
 * stderr. When stdin ends, handlers are aborted; the process exits if one still runs after 1 s, if the client stopped reading,
 * or if something else keeps it alive for another second and `outlives` is not set.
 * @throws McpError 'INVALID' for an unknown option or limit, TypeError for what is not a server
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
export function serveStdio(server: Server, options: ServeStdioOptions = {}): StdioServer {
  requireServer(server, 'serveStdio')
  requireKnown('The options object of serveStdio', options, optionNames)
  // The global: importing `node:process` creates all of its members, which takes milliseconds.
  const { input = process.stdin, output = process.stdout } = options
  const guard = options.output === undefined ? guardStdout() : undefined
  return new LineConnection(server, {
    ...options,
    input,
    output,
    transport: 'pipe',
    write: guard?.write,
    limits: bounds(options.limits),
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
  ...stateOptionNames,
  limits: true,
  onError: true,
  outlives: true,
  input: true,
  output: true,
} satisfies Record<keyof ServeStdioOptions, true>)

/** Milliseconds for a process to exit by itself after its client disconnected. */
const outliveMs = 1_000

/** Exits when the output is flushed, at the latest after 100 ms. */
function exitSoon(output: Writable): void {
  const timer = setTimeout(() => process.exit(), 100)
  if (output.writableLength === 0) process.exit()
  output.once('drain', () => {
    clearTimeout(timer)
    process.exit()
  })
}
