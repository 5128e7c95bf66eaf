import type { Terminal } from '../scripts/terminal/terminal.ts'

/** The command lines that are compared; Jackfield's is the first. */
export type Tool = 'jackfield' | 'inspector' | 'mcpdo' | 'mcporter' | 'mcp-use' | 'wong2'

/** What one tool did in one script. */
export type Verdict =
  | { kind: 'yes'; note?: string }
  | { kind: 'no'; note: string }
  /** `source`: the help text or page that was read. */
  | { kind: 'absent'; source: string }

/** One thing a person wants, and how each tool is put to it. */
export interface Script {
  /** For example `tools-of-many-servers`. */
  id: string
  /** From `C1` to `C14`. */
  capability: `C${number}`
  /** What a person wants, as one sentence. */
  title: string
  /** What is run and which effect decides, in one or two sentences. */
  how: string
  tools: { [T in Tool]: ((desk: Desk) => Promise<Verdict>) | { kind: 'absent'; source: string } }
}

/** Settings of one start of a tool. */
export interface RunOptions {
  /** Written to standard input, which is then closed; without it standard input is empty. */
  input?: string
  /** Added to the desk's own small environment. */
  env?: Record<string, string>
  /** Default 15,000 ms; past it the tool and all it started are killed. */
  limitMs?: number
  /** Default: the desk's `cwd`. */
  cwd?: string
}

/** A fresh home and working folder, and everything started in it; all is ended after the script. */
export interface Desk {
  home: string
  cwd: string
  /** Writes a file under `cwd` and returns its path. */
  write(name: string, text: string): Promise<string>
  /** Runs a tool to its end. */
  run(tool: Tool, args: string[], options?: RunOptions): Promise<Ran>
  /** Starts a tool that goes on: a gateway, a watch, a chat. */
  start(tool: Tool, args: string[], options?: RunOptions): Running
  /** Starts a tool in a pseudo-terminal. */
  terminal(tool: Tool, args: string[]): Promise<Terminal>
  /** The fixture server of that name (`scorecard/fixtures/<name>.ts`), with a record of its own. */
  server(name: string, ...args: string[]): Promise<Fixture>
}

/** How a tool ended. */
export interface Ran {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
  ms: number
  timedOut: boolean
}

/** A tool that was started and goes on. */
export interface Running {
  /** The process and the leader of its group. */
  readonly pid: number
  /** What it wrote so far. */
  readonly stdout: string
  readonly stderr: string
  /** Writes to its standard input. */
  write(text: string): void
  /** Closes its standard input. */
  end(): void
  /** Waits until standard output or standard error holds this; the error tells what they hold. */
  until(shown: string | RegExp, withinMs?: number): Promise<void>
  /** Sends a signal to the tool alone, as Ctrl+C in a script does. */
  signal(signal: NodeJS.Signals): void
  /** Closes standard input, asks it to end, kills its group after a second. */
  stop(): Promise<Ran>
  /** Settles when the tool ended by itself or was stopped. */
  readonly ended: Promise<Ran>
}

/** A server for a script, started by the tool (standard streams) or by the desk (a URL). */
export interface Fixture {
  command: string
  args: string[]
  /** Only where the fixture serves HTTP; then the desk started it already. */
  url?: string
  /** Every message it received so far, in order. */
  seen(): Promise<SeenMessage[]>
}

/** One message as a fixture received it. */
export interface SeenMessage {
  /** Absent on answers of the client. */
  method?: string
  id?: string | number
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
  /** The line or body as it came in. */
  raw: string
  /** Milliseconds since 1970. */
  at: number
  /** The process that received it. */
  pid: number
  /** What came with it over HTTP. */
  headers?: Record<string, string>
}
