import type { McpErrorCode, Root } from '@jackfield/sdk'

/** What a person may say about any server besides where it is. */
export interface ServerSettings {
  /** Left out of everything. Default false. */
  disabled?: boolean
  /** `modern` speaks 2026-07-28 only, `legacy` the revisions before it. Default `auto`: whatever the server speaks. */
  era?: 'auto' | 'modern' | 'legacy'
  /** Started when something of it is first needed; until then its lists are those seen last. Default false. */
  lazy?: boolean
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
}

/** What a server's process may reach. Its roots can always be read; approvals stay as they are. */
export interface Sandbox {
  /** Further folders and files it may read, besides the system's programs. */
  read?: string[]
  /** Folders it may write. Default: those of its roots that it was told of. */
  write?: string[]
  /** Hosts it may reach (`example.org`, `*.example.org`), all of them (`true`), or none. Default none. */
  network?: boolean | string[]
}

/** A server that is started as a child process. */
export interface StdioServerConfig extends ServerSettings {
  command: string
  args?: string[]
  env?: Record<string, string>
  cwd?: string
  /** Runs the process where it sees only what is named; `true` for the defaults. Default false. */
  sandbox?: boolean | Sandbox
}

/** A server at an address. */
export interface HttpServerConfig extends ServerSettings {
  url: string
  headers?: Record<string, string>
  /** How to sign in. Default: as the server says, with a browser. `false` never signs in. */
  auth?: false | { clientId?: string; clientSecret?: string; scopes?: string[] }
}

/** One server as the person configured it, in the field's own form (`mcpServers`). */
export type ServerConfig = StdioServerConfig | HttpServerConfig

/** A failure with its code, as data: a server's JSON-RPC error (a number), or one of this side (a word). */
export interface Failure {
  code: number | McpErrorCode
  message: string
  /** What the server sent along, or facts such as an HTTP status. */
  data?: unknown
}

/** The state of one connection, always with its reason. */
export type ConnectionState =
  | { state: 'connecting' }
  | { state: 'ready'; era: 'session' | 'stateless'; revision: string; sinceMs: number }
  /** Connected, but a list could not be fetched. */
  | { state: 'degraded'; reason: string; error?: Failure }
  | { state: 'reconnecting'; attempt: number; reason: string; inMs: number }
  | { state: 'failed'; reason: string; error?: Failure }
  | { state: 'disabled' }
