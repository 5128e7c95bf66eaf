import type { Implementation, McpErrorCode, Root, ServerCapabilities } from '@jackfield/sdk'
import type { ServerSource } from './config.ts'
import type { Fix } from './fix.ts'

/** Options of every server. */
export interface ServerSettings {
  /** Whether the server is never started and its definitions are not offered. Default false. */
  disabled?: boolean
  /** `modern` uses 2026-07-28 only, `legacy` the revisions before it. Default `auto`: detected. */
  era?: 'auto' | 'modern' | 'legacy'
  /** Whether it is started on first use, with its cached lists until then. Default false. */
  lazy?: boolean
  /**
   * Milliseconds without use after which a lazy server is stopped, once the conversations that used it have ended. Default 600
   * 000.
   */
  sleepAfterMs?: number
  /** Milliseconds until it is ready, else its start fails. Default the host's. */
  connectTimeoutMs?: number
  /** Milliseconds a request may take without a response or progress. Default the host's. */
  callTimeoutMs?: number
  /** Folders it may see as roots: the host's (default), none (`false`), or these. */
  roots?: false | Root[]
  /** Labels of its data, such as `private`; policy can keep labelled data from other servers. */
  labels?: string[]
  /**
   * Its tools by their own names or globs: `only` these, `without` those, and those whose full definition models `always` get.
   */
  tools?: { only?: string[]; without?: string[]; always?: string[] }
  /**
   * The source of this configuration. Its texts then contain variables (`${NAME}`, `${input:id}`, `${secret:name}` and so on),
   * which are expanded when the server starts. Without it every text is literal.
   */
  from?: ServerSource
}

/**
 * The access of a server's process, on Linux. It can read the system's programs, its own and the allowed roots; it writes to
 * memory. Approvals are unaffected.
 */
export interface Sandbox {
  /** Additional readable folders and files: absolute, from `~`, or relative to the folder of the configuration. */
  read?: string[]
  /** Writable folders and files. Default none. */
  write?: string[]
  /**
   * Hosts it may contact through a proxy on ports 80 and 443 (`example.org`, `*.example.org`) or others (`example.org:8080`,
   * `example.org:*`), the machine's whole network (`true`), or none. Default none.
   */
  network?: boolean | string[]
  /**
   * Maximum processes and threads. Default 1024 if it can be enforced (not as root, and from Linux 5.14 with prlimit); if it is
   * set and cannot be enforced, the server is not started.
   */
  maxProcesses?: number
  /**
   * Maximum bytes of each folder in memory: `/tmp`, its home folder and `/dev/shm`. Default 1 GiB, or an eighth of the machine's
   * memory if that is less (from bubblewrap 0.7); if it is set and cannot be enforced, the server is not started.
   */
  maxTemporaryBytes?: number
}

/** A server that is started as a child process. */
export interface StdioServerConfig extends ServerSettings {
  /** The program: a path, or a name that is looked up in `PATH`. */
  command: string
  /** Its arguments. Default none. */
  args?: string[]
  /** Variables for the process, besides the few that every server gets, such as `PATH` and `HOME`. */
  env?: Record<string, string>
  /** A file of `NAME=value` lines, read when the server starts; `env` takes precedence. */
  envFile?: string
  /**
   * The working folder of the process. Default: that of the host, or a separate folder for a command that
   * fetches its program, such as `npx`.
   */
  cwd?: string
  /** Runs the process in a sandbox; `true` for the defaults. Default false. */
  sandbox?: boolean | Sandbox
}

/** Settings of the login. */
export interface SignInSettings {
  /** A client registered by hand, used only at `issuer`. Default: the host registers itself. */
  clientId?: string
  /** The secret of that client; absent for a public client. */
  clientSecret?: string
  /** The issuer identifier of the authorization server, exactly as in its metadata; required with `clientId`. */
  issuer?: string
  /** Scopes that are requested first. Default: those the server requires. */
  scopes?: string[]
}

/** A server at a URL. */
export interface HttpServerConfig extends ServerSettings {
  /** The URL of its endpoint. */
  url: string
  /** Headers of every request. Default none. */
  headers?: Record<string, string>
  /** Settings of the login. Default: as the server requires, with a browser. `false` disables the login. */
  auth?: false | SignInSettings
}

/** One configured server, in the form of `mcpServers`. */
export type ServerConfig = StdioServerConfig | HttpServerConfig

/** A failure as data, with its code: a server's JSON-RPC error number, or a word for a host error. */
export interface Failure {
  /** A JSON-RPC error number of the server, or a word of `McpErrorCode`. */
  code: number | McpErrorCode
  /** What happened and why. */
  message: string
  /** Data from the server, or facts such as an HTTP status. */
  data?: unknown
  /** What the user can do about it, if that is known. Never from a server. */
  fixes?: readonly Fix[]
}

/** A connected server's information, and the facts of its connection. */
export interface ServerDetails {
  /** Its name and version; absent if it sent none. */
  readonly info?: Implementation
  /** The protocol revision of the connection. */
  readonly revision: string
  /** Whether the connection has a session (up to 2025-11-25) or not (2026-07-28). */
  readonly era: 'session' | 'stateless'
  /** With the supported extensions as `extensions`. */
  readonly capabilities: ServerCapabilities
  /** The server's instructions; absent if it sent none. Unsanitized. */
  readonly instructions?: string
  /** The process id of a server that is a program. */
  readonly pid?: number
}

/** The state of a connection, its start time and, if needed, the reason. */
export type ConnectionState = {
  /** When the state began, in milliseconds since 1970. */
  sinceMs: number
  /** Its process runs in a sandbox. */
  sandboxed?: true
} & (
  | { state: 'connecting'; reason: string }
  | { state: 'ready'; era: 'session' | 'stateless'; revision: string }
  /** Connected, but a list could not be fetched; the previous list stays valid. */
  | { state: 'degraded'; reason: string; error?: Failure }
  /** The connection was lost; its lists stay valid, and calls wait. */
  | { state: 'reconnecting'; attempt: number; reason: string; inMs: number }
  /** It requires a login. */
  | { state: 'needs-sign-in'; reason: string; fixes: readonly Fix[]; error?: Failure }
  /** The user has not consented to start it. */
  | { state: 'needs-approval'; reason: string; fixes: readonly Fix[]; error?: Failure }
  /** Lazy, and not running: its lists are those of `listedMs` (milliseconds since 1970). Calls start it. */
  | { state: 'asleep'; reason: string; listedMs: number }
  /** `fixes`: what the user can do, the most likely first. */
  | { state: 'failed'; reason: string; fixes: readonly Fix[]; error?: Failure }
  | { state: 'disabled'; reason: string }
)
