/** How far a configuration file is trusted, and which one wins: named over project over user over discovered. */
export type ConfigLayer =
  /** A file that the person named for this run. */
  | 'named'
  /** A file in the folder that is worked in. It may come from anybody, so what it starts is agreed to first. */
  | 'project'
  /** The person's own file. */
  | 'user'
  /** A file of another application of the person, read because they asked for it. */
  | 'discovered'

/** A value that a file wants the person to type once: `${input:id}`. */
export interface ConfigInput {
  id: string
  /** What to type, in the file's words. */
  description?: string
  /** It is shown to nobody while it is typed, and blanked wherever it turns up later. Default false. */
  password?: boolean
  /** What stands there where nothing is typed. */
  default?: string
  /** The only values there are. Default any. */
  options?: string[]
}

/** Where the configuration of a server was read, and what its variables mean there. */
export interface ServerSource {
  /** The file, absolute. */
  file: string
  layer: ConfigLayer
  /** What `${workspaceFolder}` stands for. Default: the folder of the file. */
  workspace?: string
  /** Those of the file's inputs that the server uses. */
  inputs?: ConfigInput[]
  /** A file of the person's own with another server of this name, whose place this one of the working folder takes. */
  replaces?: string
}

/** One value of a server's configuration, and where it stands. */
export interface FieldOrigin {
  /** `command`, `args[0]`, `env.TOKEN`. */
  field: string
  file: string
  /** Where in the file, by its own names: `mcp_servers.github.env_vars[0]`. */
  path: string
  /** Counted from 1. */
  line?: number
}

/** Where one server's configuration comes from. */
export interface ServerOrigin {
  file: string
  /** The form of the file: `mcpServers`, `VS Code`, `Codex` and so on. */
  format: string
  layer: ConfigLayer
  path: string
  line?: number
  fields: FieldOrigin[]
  /** Definitions of the same name in files that come after this one. They are not used. */
  overridden: { file: string; format: string; layer: ConfigLayer; line?: number }[]
}

/** Something in a config file that a person should put right. */
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
