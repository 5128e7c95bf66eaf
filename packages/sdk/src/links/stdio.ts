import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { limits } from '../core/limits.ts'
import { McpError } from '../jsonrpc/error.ts'

import { LineSource } from '../jsonrpc/line-source.ts'

import { type Channel, type ChannelEvents, DuplexLink } from './duplex.ts'
import { withoutInheritedDescriptors } from './inherited-descriptors.ts'
import { LineSender } from './line-sender.ts'
import type { Link, LinkFactory } from './link.ts'
import { serverIdVariable } from './process-descendants.ts'
import { ProcessTree, within } from './process-tree.ts'
import { stderrExcerpt } from './stderr-excerpt.ts'
import { childEnvironment } from './stdio-environment.ts'
import { type Launch, noSuchProgram, windowsLaunch } from './stdio-windows.ts'

export { defaultEnvironment } from './stdio-environment.ts'
export type { Link, LinkFactory }
export { withoutInheritedDescriptors }

/** The program to start, with its arguments, variables and folder. Only `command` is needed. */
export interface StdioOptions {
  /** The program to start; never a shell line. */
  command: string
  args?: readonly string[]
  /** Variables for the server besides those of `defaultEnvironment()`: PATH, HOME, LANG and the few like them. */
  env?: Readonly<Record<string, string | undefined>>
  /** Names of further variables to hand on from this process. Default none. */
  inherit?: readonly string[]
  /** Working directory. Default: this process's. */
  cwd?: string
  /**
   * Asks the process to end where its input was closed and it goes on; a second later it is killed. `pid` is that of
   * `command`. Default: SIGTERM to the process and all it started. For a launcher that passes no signals on.
   */
  askToEnd?: (pid: number) => void
  /** Hears what the server writes to stderr, which says nothing about errors. */
  onStderr?: (text: string) => void
  /** Bytes of one message. Default 4 MiB. */
  maxFrameBytes?: number
  /** Bytes that may wait while the server does not read. Default 16 MiB. */
  maxQueuedBytes?: number
}

const graceMs = 1_000
const drainMs = 100
const exitMs = 200
/** Each reads 64 kB of a stream; pipes hold a few times that. */
const turnsToCatchUp = 16
/** Enough for an error that comes before its own details. */
const keptStderrChars = 16_384
const reportedStderrChars = 4_096

/**
 * A server that runs as a child process and speaks on its standard streams. Give it to `connect`.
 * The process leads its own session, and closing the connection ends everything that it started: on Linux also what left
 * the session, as long as it has a living parent or the variable `JACKFIELD_SERVER_ID`; on macOS its process group.
 * The server gets its three streams and no descriptor that this process has open.
 */
export function stdio(options: StdioOptions): LinkFactory {
  return () => new DuplexLink('stdio', (events) => ServerProcess.start(options, events))
}

class ServerProcess implements Channel {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #command: string
  readonly #events: ChannelEvents
  readonly #tree: ProcessTree
  readonly #sender: LineSender
  readonly #lines: LineSource
  #stderr = ''
  #over: McpError | undefined
  /** Whether nothing more can come: the process ended and its streams too. */
  #ended = false

  static async start(options: StdioOptions, events: ChannelEvents): Promise<ServerProcess> {
    const env = childEnvironment(process.env, process.platform, options.inherit ?? [], options.env ?? {})
    const serverId = randomUUID()
    if (process.platform === 'linux') env[serverIdVariable] = serverId
    const cwd = options.cwd ?? process.cwd()
    const args = options.args ?? []
    const launch: Launch =
      process.platform === 'win32'
        ? windowsLaunch(options.command, args, env, cwd)
        : { command: options.command, args: [...args], verbatim: false }
    try {
      const child = withoutInheritedDescriptors(['pipe', 'pipe', 'pipe'], (stdio) =>
        spawn(launch.command, launch.args, {
          cwd,
          env,
          shell: false,
          detached: process.platform !== 'win32',
          windowsHide: true,
          windowsVerbatimArguments: launch.verbatim,
          stdio,
        }),
      )
      await once(child, 'spawn')
      if (!hasStreams(child)) throw new Error('its streams could not be opened.')
      return new ServerProcess(child, serverId, options, events)
    } catch (error) {
      throw notStarted(options, error)
    }
  }

  private constructor(
    child: ChildProcessWithoutNullStreams,
    serverId: string,
    options: StdioOptions,
    events: ChannelEvents,
  ) {
    this.#child = child
    this.#command = options.command
    this.#events = events
    this.#sender = new LineSender(child.stdin, options.maxQueuedBytes ?? 4 * limits.messageBytes)
    this.#tree = new ProcessTree(child, serverId, options.askToEnd)
    const maxBytes = options.maxFrameBytes ?? limits.messageBytes
    this.#lines = new LineSource(child.stdout, {
      maxBytes,
      onLine: (text) => events.text(text),
      onTooLong: () => this.#tooLong(maxBytes),
      onNotUtf8: (bytes) => events.unreadable(bytes.length),
      onEnd: () => this.#lostSoon('closed its output'),
    })
    child.stdin.on('error', () => this.#lostSoon('closed its input'))
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => {})
    this.#keepStderr(options.onStderr)
    child.once('exit', () => this.#exited())
    child.once('close', () => {
      this.#ended = true
    })
    child.on('error', () => {})
  }

  send(text: string): Promise<void> {
    return this.#sender.send(text)
  }

  async close(): Promise<void> {
    this.#lose(new McpError('CONNECTION_CLOSED', 'The connection was closed by this client'))
    const { stdin, stdout, stderr } = this.#child
    const ended = this.#tree.end(graceMs)
    stdin.end()
    await ended
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
  }

  #keepStderr(onStderr: StdioOptions['onStderr']): void {
    const decoder = new TextDecoder()
    this.#child.stderr.on('data', (chunk: Uint8Array) => {
      const text = decoder.decode(chunk, { stream: true })
      this.#stderr = (this.#stderr + text).slice(-keptStderrChars)
      try {
        onStderr?.(text)
      } catch (error) {
        this.#events.warning(`onStderr threw: ${String(error)}`)
      }
    })
  }

  #exited(): void {
    const lose = (): void => this.#loseAtEnd('ended')
    within(once(this.#child, 'close'), drainMs)
      .then(() => this.#catchUp())
      .then(lose, lose)
  }

  /** Lets everything in that came already: an event loop that stood still hears of timers first. */
  async #catchUp(): Promise<void> {
    for (let turn = 0; turn < turnsToCatchUp && !this.#ended; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** How the process ended says more than which of its streams did, and is often heard of a moment later. */
  #lostSoon(how: string): void {
    setTimeout(() => this.#catchUp().then(() => this.#loseAtEnd(how)), exitMs)
  }

  #loseAtEnd(how: string): void {
    this.#lines.drain()
    this.#lose(this.#failure(how), true)
  }

  #tooLong(maxBytes: number): void {
    const why = `The server sent a message of more than ${maxBytes} bytes, so the connection was closed`
    this.#lose(new McpError('LIMIT', why), true)
  }

  #lose(error: McpError, tell = false): void {
    if (this.#over !== undefined) return
    this.#over = error
    this.#lines.stop()
    this.#sender.fail(error)
    if (tell) this.#events.lost(error)
  }

  #failure(how: string): McpError {
    const { exitCode, signalCode } = this.#child
    const end =
      exitCode !== null
        ? `exited with code ${exitCode}`
        : signalCode !== null
          ? `was ended by ${signalCode}`
          : how
    const excerpt = stderrExcerpt(this.#stderr)
    const why = excerpt === '' ? '' : ` It wrote to stderr: ${excerpt}`
    return new McpError('CONNECTION_CLOSED', `The server process "${this.#command}" ${end}.${why}`, {
      details: { exitCode, signal: signalCode, stderr: this.#stderr.slice(-reportedStderrChars) },
    })
  }
}

function hasStreams(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return child.stdin !== null && child.stdout !== null && child.stderr !== null
}

function notStarted({ command, cwd }: StdioOptions, cause: unknown): McpError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return noSuchProgram(command, cwd, cause)
  const why =
    code === 'EACCES'
      ? 'it is not allowed to be executed.'
      : cause instanceof Error
        ? cause.message
        : String(cause)
  const details = code === undefined ? {} : { code }
  return new McpError('CONNECT_FAILED', `Could not start ${JSON.stringify(command)}: ${why}`, {
    cause,
    details,
  })
}
