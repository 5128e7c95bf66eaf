import { type Allowed, allowedAt, uniqueByPath } from './access/boundary.ts'
import type { Lookup } from './access/directory.ts'
import { systemLookup } from './access/directory.ts'

/** Which changes a person has to confirm: every one, those that replace or delete something, or none. */
export type Confirm = 'always' | 'overwrite' | 'never'

export const confirmations: readonly Confirm[] = ['always', 'overwrite', 'never']

/** Default limits of one call. Each can be overridden. */
export const defaultLimits = {
  /** Bytes of text that one call returns; a longer file is returned in parts, each with the start of the next one. */
  readBytes: 900_000,
  /** Bytes of an image, sound or other binary file that one call returns. */
  mediaBytes: 2_900_000,
  /** Bytes of a file that can be edited. */
  editBytes: 10_000_000,
  /** Files of one `read_multiple_files`. */
  files: 100,
  /** Entries that one call lists. */
  entries: 1_000,
  /** Entries of one directory tree. */
  treeEntries: 5_000,
  /** Maximum depth of directories that a tree or a search visits. */
  depth: 64,
  /** Matches that one search returns. */
  matches: 500,
  /** Entries that one search visits. */
  visited: 1_000_000,
  /** Bytes of a file that is searched; larger ones are counted in the result. */
  searchBytes: 10_000_000,
  /** Characters of a line that are searched, and returned. */
  lineChars: 10_000,
  /** Time limit of a search in milliseconds. It then returns the matches so far. */
  searchMs: 60_000,
  /** Entries that one call deletes. */
  deleted: 10_000,
  /** Resources that clients can be subscribed to at once. */
  subscriptions: 256,
  /** Maximum files of `resources/list`, in all allowed directories together. */
  resources: 200,
} as const

export type FilesystemLimits = Readonly<Record<keyof typeof defaultLimits, number>>

/** Options of `createFilesystemServer`. */
export interface FilesystemOptions {
  /**
   * Directories that clients may use with everything below them, and single files. Default: none, and the roots of a client
   * are its boundary. With directories, a root within one of them narrows it.
   */
  directories?: readonly string[]
  /** Leaves out the tools that change something. Default false. */
  readOnly?: boolean
  /**
   * Which changes a person has to confirm by elicitation. Where the client does not support it, such changes are refused.
   * Default `overwrite`: those that replace or delete something.
   */
  confirm?: Confirm
  /** Whether the roots of a client are ignored: `directories` alone are the boundary. Default false. */
  ignoreRoots?: boolean
  /** Overrides of the default limits. */
  limits?: Partial<FilesystemLimits>
  /**
   * How paths are looked up. Default: the strongest way of this system. `path` is weaker: it checks for links before and after an
   * operation.
   */
  lookup?: Lookup
  /** Called with warnings for the operator, such as a directory that does not exist. Default: `console.warn`. */
  onWarning?: (message: string) => void
}

/** The options, with defaults and with the directories that exist. */
export interface Settings {
  readonly configured: readonly Allowed[]
  readonly readOnly: boolean
  readonly confirm: Confirm
  readonly useRoots: boolean
  readonly limits: FilesystemLimits
  readonly lookup: Lookup
}

/**
 * Checks the options and looks up the directories.
 * @throws TypeError for an invalid option; Error if directories were given and none of them can be used
 */
export async function settingsOf(options: FilesystemOptions): Promise<Settings> {
  const {
    directories = [],
    readOnly = false,
    confirm = 'overwrite',
    ignoreRoots = false,
    limits = {},
  } = options
  const { lookup = systemLookup, onWarning = (message) => console.warn(message) } = options
  if (!confirmations.includes(confirm)) {
    throw new TypeError(`confirm must be one of ${confirmations.join(', ')}, not "${String(confirm)}"`)
  }
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in defaultLimits))
      throw new TypeError(`There is no limit "${name}". Limits: ${Object.keys(defaultLimits).join(', ')}`)
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`The limit ${name} must be a whole number from 1, not ${value}`)
  }
  if (ignoreRoots && directories.length === 0) {
    throw new TypeError('Without the roots of the client, at least one directory is needed: name one')
  }
  const configured: Allowed[] = []
  for (const directory of directories) {
    try {
      configured.push(await allowedAt(directory))
    } catch (error) {
      onWarning(`${directory} is left out: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (directories.length > 0 && configured.length === 0) {
    throw new Error(`None of the directories can be used: ${directories.join(', ')}`)
  }
  if (lookup === 'path' && process.platform === 'linux') {
    onWarning(
      'Paths are checked for links before and after an operation, which is weaker than lookups by descriptor',
    )
  }
  return {
    configured: uniqueByPath(configured),
    readOnly,
    confirm,
    useRoots: !ignoreRoots,
    limits: { ...defaultLimits, ...limits },
    lookup,
  }
}
