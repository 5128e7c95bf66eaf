import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { invalid, McpError, messageOf } from '../../jsonrpc/error.ts'
import { waitAtMost } from '../../jsonrpc/promises.ts'
import { type ChannelEvents, closedByClient, DuplexTransport } from './duplex.ts'
import { LineChannel, type LineLimits } from './line-channel.ts'
import { ProcessTree, serverIdVariable, withoutInheritedDescriptors } from './process-tree.ts'
import { stderrExcerpt } from './stderr-excerpt.ts'
import type { ClientTransport, ClientTransportFactory } from './transport.ts'
import { type Launch, noSuchProgram, windowsLaunch } from './windows-launch.ts'

export type { ClientTransport, ClientTransportFactory }
export { withoutInheritedDescriptors }

/** Options of `stdio`. Only `command` is required. */
export interface StdioTransportOptions extends LineLimits {
  /** The program to start; no shell is involved. */
  command: string
  /** Arguments of the program. Default: none. */
  args?: readonly string[]
  /** Variables for the server in addition to `defaultEnvironment()`; `undefined` removes one. */
  env?: Readonly<Record<string, string | undefined>>
  /** Names of further variables to pass on from this process. Default: none. */
  inherit?: readonly string[]
  /** Working directory. Default: that of this process. */
  cwd?: string
  /**
   * Called when the process still runs one second after its input was closed; it is killed another second later. For
   * launchers that do not forward signals. `pid` is that of `command`. Default: SIGTERM to the whole process tree.
   */
  askToEnd?: (pid: number) => void
  /** Called with the process id of `command` when it was started. */
  onStart?: (pid: number) => void
  /**
   * Called with the server's stderr output, which is logging and need not be an error. Default: none. The error of a lost
   * connection has the end of it in any case.
   */
  onStderr?: (text: string) => void
}

const graceMs = 1_000
const drainMs = 100
const exitMs = 200
/** Turns of the event loop in which the rest of a pipe is read, at 64 kB per turn. */
const turnsToCatchUp = 16
/** Characters of stderr to keep: enough for an error that is followed by its details. */
const keptStderrChars = 16_384
const reportedStderrChars = 4_096

/**
 * A transport to a server that runs as a child process, for `connect`. The process leads its own session, and closing the
 * connection ends everything that it started: on Linux also processes that left the session, as long as they have a living
 * parent or the variable `JACKFIELD_SERVER_ID`; on macOS its process group. The server inherits no descriptor of this
 * process other than its three streams.
 * @throws McpError 'INVALID' without a command
 */
export function stdio(options: StdioTransportOptions): ClientTransportFactory {
  const { command, args = [] } = options
  if (typeof command !== 'string' || !Array.isArray(args))
    throw invalid(
      'stdio takes an object with "command", the program, and "args", its arguments: { command: "node", args: ["server.js"] }',
    )
  return () => new DuplexTransport('stdio', (events) => ServerProcess.start(options, events))
}

class ServerProcess extends LineChannel {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #command: string
  readonly #events: ChannelEvents
  readonly #tree: ProcessTree
  #stderr = ''
  /** The process and its streams have ended. */
  #ended = false

  static async start(options: StdioTransportOptions, events: ChannelEvents): Promise<ServerProcess> {
    const env = childEnvironment(process.env, process.platform, options.inherit ?? [], options.env ?? {})
    const serverId = randomUUID()
    if (process.platform === 'linux') env[serverIdVariable] = serverId
    const cwd = options.cwd ?? process.cwd()
    const args = options.args ?? []
    const launch: Launch =
      process.platform === 'win32'
        ? windowsLaunch(options.command, args, env, cwd)
        : { command: options.command, args: [...args], verbatim: false }
    let tree: ProcessTree | undefined
    try {
      const start = (): ChildProcess =>
        withoutInheritedDescriptors(['pipe', 'pipe', 'pipe'], (stdio) =>
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
      tree = new ProcessTree(serverId, start, options.askToEnd)
      const { child } = tree
      await once(child, 'spawn')
      if (!hasStreams(child)) throw new Error('its streams could not be opened.')
      return new ServerProcess(child, tree, options, events)
    } catch (error) {
      await tree?.end(0)
      throw startError(options, error)
    }
  }

  private constructor(
    child: ChildProcessWithoutNullStreams,
    tree: ProcessTree,
    options: StdioTransportOptions,
    events: ChannelEvents,
  ) {
    super(child.stdout, child.stdin, options, events)
    this.#child = child
    this.#tree = tree
    this.#command = options.command
    this.#events = events
    child.stdin.on('error', () => this.#loseAfterExit('closed its input'))
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => {})
    this.#keepStderr(options.onStderr)
    if (child.pid !== undefined) options.onStart?.(child.pid)
    const onLoss = (): void => this.#loseAtEnd('ended')
    child.once('exit', () => {
      waitAtMost(once(child, 'close'), drainMs)
        .then(() => this.#drainPending())
        .then(onLoss, onLoss)
    })
    child.once('close', () => {
      this.#ended = true
    })
    child.on('error', () => {})
  }

  protected onEnd(): void {
    this.#loseAfterExit('closed its output')
  }

  async close(): Promise<void> {
    this.lose(closedByClient(), false)
    const { stdin, stdout, stderr } = this.#child
    const ended = this.#tree.end(graceMs)
    stdin.end()
    await ended
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
  }

  #keepStderr(onStderr: StdioTransportOptions['onStderr']): void {
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

  /** Reads what already arrived: after a blocked event loop, timers fire before streams are read. */
  async #drainPending(): Promise<void> {
    for (let turn = 0; turn < turnsToCatchUp && !this.#ended; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Waits for the exit code, which is more specific than a closed stream and often arrives shortly after it. */
  #loseAfterExit(how: string): void {
    setTimeout(() => this.#drainPending().then(() => this.#loseAtEnd(how)), exitMs)
  }

  #loseAtEnd(how: string): void {
    this.lines.drain()
    this.lose(this.#failure(how))
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
    const quiet = exitCode === 0 ? ' A server over stdio runs until its input ends.' : ''
    const reason = excerpt === '' ? quiet : ` It wrote to stderr: ${excerpt}`
    return new McpError('CONNECTION_CLOSED', `The server process "${this.#command}" ${end}.${reason}`, {
      details: { exitCode, signal: signalCode, stderr: this.#stderr.slice(-reportedStderrChars) },
    })
  }
}

function hasStreams(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return child.stdin !== null && child.stdout !== null && child.stderr !== null
}

function startError({ command, cwd }: StdioTransportOptions, cause: unknown): McpError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return noSuchProgram(command, cwd, cause)
  const reason = code === 'EACCES' ? 'it is not executable.' : messageOf(cause)
  const details = code === undefined ? {} : { code }
  return new McpError('CONNECT_FAILED', `Could not start ${JSON.stringify(command)}: ${reason}`, {
    cause,
    details,
  })
}

const posixNames = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
]
const windowsNames = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
]

type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * The environment of a server process: the variables that programs need to run, those named in `inherit`, and `configured`.
 * No other variable is passed on, as it may hold a secret.
 */
export function childEnvironment(
  parent: EnvironmentVariables,
  platform: string,
  inherit: readonly string[],
  configured: EnvironmentVariables,
): Record<string, string> {
  const fold = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name)
  const allowed = new Set([...(platform === 'win32' ? windowsNames : posixNames), ...inherit].map(fold))
  const child: Record<string, string> = {}
  for (const [name, value] of Object.entries(parent)) {
    // An exported shell function.
    if (value !== undefined && allowed.has(fold(name)) && !value.startsWith('()')) child[name] = value
  }
  for (const [name, value] of Object.entries(configured)) {
    for (const known of Object.keys(child)) if (fold(known) === fold(name)) delete child[known]
    if (value !== undefined) child[name] = value
  }
  return child
}

/** The variables of this process that `stdio` passes to every server: PATH, HOME, LANG and similar ones. */
export function defaultEnvironment(): Record<string, string> {
  return childEnvironment(process.env, process.platform, [], {})
}
