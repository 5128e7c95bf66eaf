import type { Terminal } from '../scripts/terminal/terminal.ts'

/** The command lines that are compared; ours is the first. */
export type Cli = 'jackfield' | 'inspector' | 'mcpdo' | 'mcporter' | 'mcp-use' | 'wong2'

/** How one command line did in one script. */
export type Verdict = { kind: 'yes'; note?: string } | { kind: 'no'; note: string } | Absent

/** The command line does not offer the feature. */
export interface Absent {
  kind: 'absent'
  /** The help text or page that was read, and what it lacks. */
  source: string
}

/** Runs one command line, or states that there is nothing to run. */
export type Check = ((workspace: Workspace) => Promise<Verdict>) | Absent

/** One task of a user, and how each command line is checked for it. */
export interface Script {
  /** For example `tools-of-many-servers`. */
  id: string
  /** From `C1` to `C14`. */
  capability: `C${number}`
  /** The task, as an imperative sentence without a full stop. */
  title: string
  /** What is run and what decides the verdict, in one or two sentences. */
  how: string
  checks: Readonly<Record<Cli, Check>>
}

/** Settings of one start of a command line. */
export interface RunOptions {
  /** Written to standard input, which is then closed. Default: empty. */
  input?: string
  /** Added to the environment of the workspace. */
  env?: Record<string, string>
  /** After it, the process and all processes that it started are killed. Default 15,000 ms. */
  timeoutMs?: number
}

/** An empty home folder and working folder, with the processes that a script starts there. */
export interface Workspace {
  home: string
  cwd: string
  /** Writes a file below `cwd` and returns its path. */
  write(name: string, text: string): Promise<string>
  /** Runs a command line until it exits. */
  run(cli: Cli, args: string[], options?: RunOptions): Promise<ProcessResult>
  /** Starts a command line that keeps running: a gateway, a subscription, a conversation. */
  start(cli: Cli, args: string[], options?: RunOptions): RunningProcess
  /** Starts a command line in a pseudo-terminal. */
  terminal(cli: Cli, args: string[]): Promise<Terminal>
  /** The server `scorecard/fixtures/<name>.ts`, with a record file of its own. */
  fixture(name: string, ...args: string[]): Promise<FixtureServer>
}

/** How a process ended. */
export interface ProcessResult {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
  timedOut: boolean
}

/** A process that was started and may still run. */
export interface RunningProcess {
  /** The output so far. */
  readonly stdout: string
  readonly stderr: string
  /** Writes to standard input. */
  write(text: string): void
  /** Closes standard input. */
  end(): void
  /** Waits until standard output or standard error contains `expected`; the error quotes both. */
  waitFor(expected: string | RegExp, timeoutMs?: number): Promise<void>
  /** Sends a signal to this process alone, as Ctrl+C in a script does. */
  signal(signal: NodeJS.Signals): void
  /** Closes standard input, sends SIGTERM, and kills the process group after a second. */
  stop(): Promise<ProcessResult>
  /** Settles when the process has exited. */
  readonly exit: Promise<ProcessResult>
}

/** A server of a script: the command line starts it (stdio), or the workspace did (HTTP). */
export interface FixtureServer {
  command: string
  args: string[]
  /** Present if the server is served over HTTP; then it is running. */
  url?: string
  /** The messages that the server received so far, in order. */
  received(): Promise<ReceivedMessage[]>
}

/** One message, as a fixture server received it. */
export interface ReceivedMessage {
  /** Absent in responses of the client. */
  method?: string
  id?: string | number
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
  /** The line or the HTTP body. */
  raw: string
}
