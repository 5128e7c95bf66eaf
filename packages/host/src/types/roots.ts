import type { Root } from '@jackfield/sdk'

/** A finding about a folder that may be offered to a server. */
export interface RootFinding {
  /** The kind of finding, for programs. */
  code:
    | 'missing'
    | 'unreadable'
    | 'no-folder'
    | 'link'
    | 'escape'
    | 'duplicate'
    | 'nested'
    | 'excluded'
    | 'home'
    | 'everything'
    | 'keys'
    | 'environment'
  /** `refused`: the folder is offered to no server while the finding applies. */
  severity: 'refused' | 'danger' | 'warning' | 'note'
  /** One sentence for a person. */
  message: string
}

/** A folder that may be offered to servers, if the user agrees. */
export interface OpenFolder extends Root {
  /**
   * Where it comes from: the working folder, its repository, the configuration or command line, the user (`add`), or
   * the server's own configuration.
   */
  from: 'workspace' | 'repository' | 'configured' | 'added' | 'server'
  /** The path with links resolved; absent if the folder is missing. */
  real?: string
  /** Warnings, and why it is refused. */
  findings: readonly RootFinding[]
}

/** The contents of a folder as a server would see them. */
export interface FolderPreview extends OpenFolder {
  /** The number of folders directly in it. */
  folders: number
  /** The number of files directly in it. */
  files: number
  /** Whether counting stopped early, because there are more entries. */
  more: boolean
  /** Some names in it; folders end with `/`. */
  names: readonly string[]
  /** Whether the user was not asked about it before. */
  isNew: boolean
}

/** The roots of one server. */
export interface ServerRoots {
  /** The configured server name. */
  server: string
  /** `off`: its configuration allows none. `ask`: the user is asked when the server requests roots. */
  state: 'off' | 'ask' | 'allowed' | 'denied'
  /** The folders it gets without asking. */
  roots: readonly Root[]
  /** The folders that the user would be asked about. */
  asks: readonly Root[]
  /** How often it requested roots, and when last (ISO 8601). */
  asked?: { at: string; count: number; era: 'session' | 'stateless' }
}

/**
 * Roots: the folders offered to servers. Roots are information only; a server without a sandbox can access other
 * folders as well. Decisions are stored per working folder.
 */
export interface RootsService {
  /** Every open folder, including refused ones, with the findings. */
  list(): Promise<OpenFolder[]>
  /**
   * Opens a folder: a path, absolute or from `~`, or a `file:` URI.
   * @throws McpError 'INVALID' if it is not a folder of this machine, or a link out of an open folder
   */
  add(folder: string, name?: string): Promise<OpenFolder>
  /** Closes a folder: an added folder is removed, any other is excluded. Returns false if it is not open. */
  remove(folder: string): Promise<boolean>
  /** Patterns of excluded folders. */
  excluded(): string[]
  /** Excludes folders: a path, or a pattern of paths or names with `*`, `**` and `?`. */
  exclude(pattern: string): void
  /** Removes a pattern; returns false if there is none. */
  include(pattern: string): boolean
  /** The roots of each server. */
  servers(): Promise<ServerRoots[]>
  /** The contents that a server would see if everything were allowed. */
  preview(server: string): Promise<FolderPreview[]>
  /** Allows a server these of its folders, by URI or path; default all. `by` names the surface. */
  allow(server: string, by: string, folders?: readonly string[]): Promise<Root[]>
  /** Denies a server all folders. */
  deny(server: string, by: string): Promise<void>
  /** Removes the decision about a server, which is asked again. Returns false if there was none. */
  forget(server: string): boolean
}
