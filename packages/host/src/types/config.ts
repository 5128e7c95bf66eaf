/** How far a configuration file is trusted, and which one wins: named over project over user over discovered. */
export type ConfigLayer =
  /** A file that the person named for this run. */
  | 'named'
  /** A file in the working folder. Its author is not trusted, so its servers start only after consent. */
  | 'project'
  /** The person's own file. */
  | 'user'
  /** A file of another application of the person, read because they asked for it. */
  | 'discovered'

/** A value that the person enters once: `${input:id}`. */
export interface ConfigInput {
  id: string
  /** The prompt, as the file words it. */
  description?: string
  /** Hidden during input, and redacted everywhere afterwards. Default false. */
  password?: boolean
  /** The value if nothing is entered. */
  default?: string
  /** The allowed values. Default any. */
  options?: string[]
}

/** Where the configuration of a server was read, and what its variables mean there. */
export interface ServerSource {
  /** The file, absolute. */
  file: string
  layer: ConfigLayer
  /** The value of `${workspaceFolder}`. Default: the folder of the file. */
  workspace?: string
  /** The inputs of the file that the server uses. */
  inputs?: ConfigInput[]
  /** The person's own file whose server of the same name this server of the working folder replaces. */
  replaces?: string
}

/** One value of a server's configuration, and where it is defined. */
export interface FieldOrigin {
  /** `command`, `args[0]`, `env.TOKEN`. */
  field: string
  file: string
  /** The path in the file, in its own format: `mcp_servers.github.env_vars[0]`. */
  path: string
  /** Counted from 1. */
  line?: number
}

/** Where one server's configuration comes from. */
export interface ServerOrigin {
  file: string
  /** The format of the file: `mcpServers`, `VS Code`, `Codex` and so on. */
  format: string
  layer: ConfigLayer
  path: string
  line?: number
  fields: FieldOrigin[]
  /** Definitions of the same name in files that come after this one. They are not used. */
  overridden: { file: string; format: string; layer: ConfigLayer; line?: number }[]
}

/** A problem in a configuration file. */
export interface ConfigProblem {
  /** The file, or `config` where the text came from elsewhere. */
  file: string
  /** Where in the file: `mcpServers.github.env.TOKEN`. */
  path: string
  /** Counted from 1, where it is known. */
  line?: number
  /** An `error` leaves the entry out; a `warning` does not. */
  severity: 'error' | 'warning'
  /** What is wrong and what to do about it. */
  message: string
}
