import type { Root } from '@jackfield/sdk'

/** Something to know about a folder before a server is told of it. */
export interface RootFinding {
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
  /** `refused`: no server is told of it as long as that is so. */
  severity: 'refused' | 'danger' | 'warning' | 'note'
  /** One sentence for a person. */
  message: string
}

/** A folder that is open to servers, if the person agrees. */
export interface OpenFolder extends Root {
  /**
   * Where it comes from: the folder the person works in, its repository, the configuration or command line, the person
   * (`add`), or the server's own configuration.
   */
  from: 'workspace' | 'repository' | 'configured' | 'added' | 'server'
  /** What it is in truth, once links are resolved; absent where it is missing. */
  real?: string
  findings: readonly RootFinding[]
}

/** What a server would see of a folder. */
export interface FolderPreview extends OpenFolder {
  /** Folders and files directly in it; `more` where counting stopped early. */
  folders: number
  files: number
  more: boolean
  /** Some names in it, those of folders with a `/`. */
  names: readonly string[]
  /** It was not among those that the person was asked about before. */
  isNew: boolean
}

/** What one server may know of the folders. */
export interface ServerRoots {
  server: string
  /** `off`: its configuration says none. `ask`: the person is asked when it wants to know. */
  state: 'off' | 'ask' | 'allowed' | 'denied'
  /** What it is told without asking. */
  roots: readonly Root[]
  /** What the person would be asked about. */
  asks: readonly Root[]
  /** That it ever asked, and when last (ISO 8601). */
  asked?: { at: string; count: number; era: 'session' | 'stateless' }
}

/**
 * The folders that servers may be told of. They are told only; a server that runs without a sandbox can reach others
 * all the same. What is said here is kept for the folder that the person works in.
 */
export interface RootsDesk {
  /** Every folder that is open, also those that no server is told of, with why. */
  list(): Promise<OpenFolder[]>
  /**
   * Opens a folder: a path, absolute or from `~`, or a `file:` URI.
   * @throws McpError 'INVALID' where it is no folder of this machine, or leads out of an open folder by a link
   */
  add(folder: string, name?: string): Promise<OpenFolder>
  /** Closes a folder: one that was added is forgotten, any other is excluded. False where it is not open. */
  remove(folder: string): Promise<boolean>
  /** Patterns of folders that no server is told of. */
  excluded(): string[]
  /** Leaves folders out: a path, or a pattern of paths or names with `*`, `**` and `?`. */
  exclude(pattern: string): void
  /** Takes a pattern back; false where there is none. */
  include(pattern: string): boolean
  /** What each server may know. */
  servers(): Promise<ServerRoots[]>
  /** What a server would see if the person allowed everything. */
  preview(server: string): Promise<FolderPreview[]>
  /** Lets a server know of these folders of its, by URI or path; default all. `by` names the face. */
  allow(server: string, by: string, folders?: readonly string[]): Promise<Root[]>
  /** Tells a server of none. */
  deny(server: string, by: string): Promise<void>
  /** Asks again when the server wants to know. False where nothing was decided. */
  forget(server: string): boolean
}
