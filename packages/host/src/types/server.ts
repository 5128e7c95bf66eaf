import type { Implementation, McpErrorCode, Root, ServerCapabilities } from '@jackfield/sdk'
import type { ServerSource } from './config.ts'
import type { Fix } from './fix.ts'

/** What a person may say about any server besides where it is. */
export interface ServerSettings {
  /** Left out of everything. Default false. */
  disabled?: boolean
  /** `modern` speaks 2026-07-28 only, `legacy` the revisions before it. Default `auto`: whatever the server speaks. */
  era?: 'auto' | 'modern' | 'legacy'
  /** Started when something of it is first needed; until then its lists are those seen last. Default false. */
  lazy?: boolean
  /**
   * Milliseconds without use after which a lazy server is ended again, once the conversations that used it are over.
   * Default 600 000.
   */
  sleepAfterMs?: number
  /** Milliseconds to ready or a typed failure. Default the host's. */
  connectTimeoutMs?: number
  /** Milliseconds a request may go without an answer or progress. Default the host's. */
  callTimeoutMs?: number
  /** Folders it may be told of: the host's (default), none (`false`), or these. */
  roots?: false | Root[]
  /** Labels of the data it gives, such as `private`; policy can hold labelled data back from other servers. */
  labels?: string[]
  /** Its tools by their own names or globs: `only` these, `without` those, and those `always` shown to a model in full. */
  tools?: { only?: string[]; without?: string[]; always?: string[] }
  /**
   * Where this was read. Its texts then hold variables (`${NAME}`, `${input:id}`, `${secret:name}` and so on), which
   * are looked up when the server is started. Without it every text means itself.
   */
  from?: ServerSource
}

/**
 * What a server's process may reach, on Linux. It reads the system's programs, its own and the roots that the person
 * agreed to tell it of; it writes in memory. Approvals stay as they are.
 */
export interface Sandbox {
  /** Further folders and files it may read: absolute, from `~`, or from the folder of the config. */
  read?: string[]
  /** Folders and files it may write. Default none. */
  write?: string[]
  /**
   * Hosts it may reach through a proxy on ports 80 and 443 (`example.org`, `*.example.org`) or others
   * (`example.org:8080`, `example.org:*`), the whole network of this machine (`true`), or none. Default none.
   */
  network?: boolean | string[]
  /**
   * Processes and threads that may run in it at once. Default 1024 where it can be enforced (not as root, and from
   * Linux 5.14 with prlimit); where it is set and cannot be, the server is not started.
   */
  maxProcesses?: number
  /**
   * Bytes of each of its folders in memory: `/tmp`, its home folder and `/dev/shm`. Default 1 GiB, or an eighth of the
   * memory of the machine where that is less (from bubblewrap 0.7); where it is set and cannot be enforced, the server is
   * not started.
   */
  maxTemporaryBytes?: number
}

/** A server that is started as a child process. */
export interface StdioServerConfig extends ServerSettings {
  command: string
  args?: string[]
  env?: Record<string, string>
  /** A file of `NAME=value` lines, read when the server is started; those of `env` win. */
  envFile?: string
  cwd?: string
  /** Runs the process where it sees only what is named; `true` for the defaults. Default false. */
  sandbox?: boolean | Sandbox
}

/** How to sign in where a server wants that. */
export interface SignInSettings {
  /** A client registered by hand, at `issuer` and nowhere else. Default: the host registers itself. */
  clientId?: string
  clientSecret?: string
  /** The issuer identifier of the authorization server, exactly as it writes it; needed with `clientId`. */
  issuer?: string
  /** Scopes to ask for at first. Default: those the server wants. */
  scopes?: string[]
}

/** A server at an address. */
export interface HttpServerConfig extends ServerSettings {
  url: string
  headers?: Record<string, string>
  /** How to sign in. Default: as the server says, with a browser. `false` never signs in. */
  auth?: false | SignInSettings
}

/** One server as the person configured it, in the field's own form (`mcpServers`). */
export type ServerConfig = StdioServerConfig | HttpServerConfig

/** A failure with its code, as data: a server's JSON-RPC error (a number), or one of this side (a word). */
export interface Failure {
  code: number | McpErrorCode
  message: string
  /** What the server sent along, or facts such as an HTTP status. */
  data?: unknown
  /** What the person can do about it, where that is known. Never from a server. */
  fixes?: readonly Fix[]
}

/** What a connected server says about itself, and the facts of its connection. */
export interface ServerDetails {
  /** Its name and version; absent where it gave none. */
  readonly info?: Implementation
  /** The protocol revision of the connection. */
  readonly revision: string
  readonly era: 'session' | 'stateless'
  /** With the extensions that it supports as `extensions`. */
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  /** The process id of a server that is a program. */
  readonly pid?: number
}

/** How a connection stands, since when, and, where that is not plain, why. */
export type ConnectionState = {
  /** When the state began, in milliseconds since 1970. */
  sinceMs: number
  /** Its process runs in a sandbox. */
  sandboxed?: true
} & (
  | { state: 'connecting'; reason: string }
  | { state: 'ready'; era: 'session' | 'stateless'; revision: string }
  /** Connected, but a list could not be fetched; what was listed before still is. */
  | { state: 'degraded'; reason: string; error?: Failure }
  /** It was there; its lists still stand, and calls wait for it. */
  | { state: 'reconnecting'; attempt: number; reason: string; inMs: number }
  /** It wants the person signed in. */
  | { state: 'needs-sign-in'; reason: string; fixes: readonly Fix[]; error?: Failure }
  /** The person has not agreed to start it. */
  | { state: 'needs-approval'; reason: string; fixes: readonly Fix[]; error?: Failure }
  /** Lazy, and not running: its lists are those of `listedMs` (milliseconds since 1970). Calls start it. */
  | { state: 'asleep'; reason: string; listedMs: number }
  /** `fixes`: what the person can do, the most likely first. */
  | { state: 'failed'; reason: string; fixes: readonly Fix[]; error?: Failure }
  | { state: 'disabled'; reason: string }
)
