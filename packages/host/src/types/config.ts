/** How far a configuration file is trusted, and its precedence: named over project over user over discovered. */
export type ConfigLayer =
  /** A file that the user named for this run. */
  | 'named'
  /** A file in the working folder. Its author is not trusted, so its servers start only after consent. */
  | 'project'
  /** The user's own file. */
  | 'user'
  /** A file of another application of the user, read on request. */
  | 'discovered'

/** A value that the user enters once: `${input:id}`. */
export interface ConfigInput {
  /** The name in `${input:id}`. */
  id: string
  /** The prompt, from the file. */
  description?: string
  /** Hidden during input, and redacted everywhere afterwards. Default false. */
  password?: boolean
  /** The value if nothing is entered. */
  default?: string
  /** The allowed values. Default any. */
  options?: string[]
}

/** The file of a server's configuration, and the values of its variables. */
export interface ServerSource {
  /** The file, absolute. */
  file: string
  /** How far the file is trusted, and its precedence. */
  layer: ConfigLayer
  /** The value of `${workspaceFolder}`. Default: the folder of the file. */
  workspace?: string
  /** The inputs of the file that the server uses. */
  inputs?: ConfigInput[]
  /** The user's own file whose server this server of the working folder overrides. */
  replaces?: string
}

/** One value of a server's configuration with its position. */
export interface FieldOrigin {
  /** `command`, `args[0]`, `env.TOKEN`. */
  field: string
  /** The absolute path of the file. */
  file: string
  /** The path in the file, in its own format: `mcp_servers.github.env_vars[0]`. */
  path: string
  /** The line in the file, counted from 1; absent if unknown. */
  line?: number
}

/** Where one server's configuration comes from. */
export interface ServerOrigin {
  /** The absolute path of the file. */
  file: string
  /** The format of the file: `mcpServers`, `VS Code`, `Codex` and so on. */
  format: string
  /** How far the file is trusted, and its precedence. */
  layer: ConfigLayer
  /** The path of the entry in the file: `mcpServers.github`. */
  path: string
  /** The line in the file, counted from 1; absent if unknown. */
  line?: number
  /** The positions of its values. */
  fields: FieldOrigin[]
  /** Definitions of the same name in files with lower precedence. They are not used. */
  overridden: { file: string; format: string; layer: ConfigLayer; line?: number }[]
}

/** A problem in a configuration file. */
export interface ConfigProblem {
  /** The file, or `config` where the text came from elsewhere. */
  file: string
  /** Where in the file: `mcpServers.github.env.TOKEN`. */
  path: string
  /** The line in the file, counted from 1; absent if unknown. */
  line?: number
  /** An `error` leaves the entry out; a `warning` does not. */
  severity: 'error' | 'warning'
  /** What is wrong and what to do about it. */
  message: string
}

/** A configuration value with its position. A secret is shown as its name in brackets. */
export interface ExplainedField extends FieldOrigin {
  /** The value as the file has it, with variables unexpanded. */
  value: string
}

/** One server of the configuration, with the position of each of its values. */
export interface ExplainedServer extends ServerOrigin {
  /** The name of the server in the configuration. */
  name: string
  /** Its values with their positions. */
  fields: ExplainedField[]
}

/** A file of the configuration, in the order of precedence: the first wins. */
export interface ConfigFileState {
  /** The absolute path. */
  file: string
  /** How far the file is trusted, and its precedence. */
  layer: ConfigLayer
  /** The application it belongs to, if not this one. */
  app?: string
  /** Whether the file is on disk. */
  exists: boolean
  /** Whether changes are written to this file, unless they belong to another one. */
  isOwn: boolean
  /** Whether it is invalid, and therefore not used. */
  isBroken: boolean
  /** Whether it is never written: it belongs to another application, or is TOML. */
  isReadOnly: boolean
}

/** A rule of the policy in its file. */
export interface RulePlace {
  /** As in `PolicyRule.author`. */
  author: string
  /** The absolute path of the file. */
  file: string
  /** The index in `jackfield.rules`. */
  index: number
  /** The line in the file, counted from 1; absent if unknown. */
  line?: number
}

/** The configuration of a host: files, servers with the place of each value, rules and problems. */
export interface ConfigView {
  /** Changes with every change of a file. */
  version: number
  /** The files in order of precedence, including those that do not exist yet. */
  files: ConfigFileState[]
  /** Every server, including disabled ones. */
  servers: (ExplainedServer & { disabled: boolean })[]
  /** Settings for all servers. */
  settings: ExplainedField[]
  /** The positions of the policy rules in their files. */
  rules: RulePlace[]
  /** Ids of the configured models, the default first. */
  models: readonly string[]
  /** Problems of all files. */
  problems: ConfigProblem[]
}

/** The text of a configuration file, with secrets as names in brackets. */
export interface ConfigText {
  /** The absolute path. */
  file: string
  /** The contents; empty if the file does not exist. */
  text: string
  /** Whether the file is on disk. */
  exists: boolean
}

/** A change of the configuration. Marks of secrets (`[TOKEN]`) refer to the values in the file. */
export type ConfigChange =
  /** Replaces a whole file. */
  | { kind: 'text'; file: string; text: string }
  /** Adds a rule to the user's own file, or replaces or removes (null) the one at a place. */
  | { kind: 'rule'; at?: { file: string; index: number }; rule: Record<string, unknown> | null }
  /** Replaces the entry of a server where it is defined, adds one to the user's own file, or removes (null) one. */
  | { kind: 'server'; name: string; entry: Record<string, unknown> | null }
  /** Switches a server on or off. */
  | { kind: 'enable'; server: string; enabled: boolean }
  /** Makes a model the default. */
  | { kind: 'model'; model: string }
  /** Copies servers of other applications into the user's own file. Their secrets are moved to the secret store. */
  | { kind: 'import'; servers: { file: string; name: string }[] }

/** A previewed change of one file. */
export interface ConfigPlan {
  /** For `config.write`; valid for 15 minutes. */
  id: string
  /** The absolute path of the file to be written. */
  file: string
  /** The text before the change, with secrets as names in brackets. */
  before: string
  /** The text after the change, with secrets as names in brackets. */
  after: string
  /** SHA-256 of the current file; null if there is none. The change is rejected if the file has changed by then. */
  hash: string | null
  /** Servers that the change adds, removes or restarts. */
  effect: { added: string[]; removed: string[]; changed: string[] }
  /** Problems of the file that the change introduces. */
  problems: ConfigProblem[]
  /** Secrets that are put into the secret store. */
  secrets: string[]
}

/** A server in another application's configuration. */
export interface FoundServer {
  /** The application, such as `Claude Desktop`. */
  app: string
  /** The absolute path of the application's configuration file. */
  file: string
  /** The name of the server in that file. */
  name: string
  /** The command line or the URL. */
  origin: string
  /** Whether the configuration has a server with this name already. */
  isKnown: boolean
}
