import type { Dirent } from 'node:fs'
import { type Directory, entriesOf } from '../access/directory.ts'
import { errnoOf } from '../access/file-error.ts'
import { Gitignore } from './gitignore.ts'

/** An entry that a walk visits. */
export interface WalkEntry {
  readonly directory: Directory
  readonly entry: Dirent
  /** The path below the directory in which the walk began, with `/`. */
  readonly path: string
  /** The names of `path`. */
  readonly names: readonly string[]
}

/** Options and limits of a walk. */
export interface WalkOptions {
  readonly excludes: (path: string) => boolean
  /** The `.gitignore` rules that hold in the first directory, and its depth below the allowed one; undefined to ignore them. */
  readonly gitignore: { readonly rules: Gitignore; readonly above: readonly string[] } | undefined
  /** Maximum depth. */
  readonly depth: number
  /** Maximum number of visited entries. */
  readonly visited: number
  readonly signal: AbortSignal
  /** Ends the walk when it returns true. */
  readonly isOver?: () => boolean
  /** Called for each entry, before the contents of a directory. */
  readonly visit: (found: WalkEntry) => Promise<void>
}

/** The result of a walk. */
export interface WalkResult {
  visited: number
  /** Whether `visited`, `depth` or `isOver` ended it early. */
  truncated: boolean
  /** Directories that could not be read, by their path. */
  unreadable: string[]
}

const maxUnreadable = 20
/** Time in milliseconds after which the walk yields to the event loop. */
const yieldAfterMs = 10

/**
 * Visits everything below a directory in depth-first order, sorted by name. Links are visited but not followed. Of each directory,
 * at most as many entries are read as may still be visited.
 */
export async function walk(start: Directory, options: WalkOptions): Promise<WalkResult> {
  const { excludes, gitignore, depth, signal, isOver, visit } = options
  const result: WalkResult = { visited: 0, truncated: false, unreadable: [] }
  let lastYieldAt = performance.now()

  const enter = async (directory: Directory, names: readonly string[], rules: Gitignore): Promise<void> => {
    const entries: Dirent[] = []
    for await (const entry of entriesOf(directory)) {
      if (entries.length + result.visited >= options.visited) {
        result.truncated = true
        break
      }
      entries.push(entry)
      if (entries.length % 1000 === 0) signal.throwIfAborted()
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (performance.now() - lastYieldAt > yieldAfterMs) {
        await new Promise<void>((resolve) => setImmediate(resolve))
        lastYieldAt = performance.now()
      }
      signal.throwIfAborted()
      if (isOver?.() === true || result.visited >= options.visited) {
        result.truncated = true
        return
      }
      result.visited++
      const found = {
        directory,
        entry,
        names: [...names, entry.name],
        path: [...names, entry.name].join('/'),
      }
      if (excludes(found.path)) continue
      if (gitignore !== undefined && rules.ignores([...gitignore.above, ...found.names], entry.isDirectory()))
        continue
      await visit(found)
      if (!entry.isDirectory()) continue
      if (found.names.length >= depth) result.truncated = true
      else await descend(directory, found, rules)
    }
  }

  const descend = async (
    parent: Directory,
    { entry, names, path }: WalkEntry,
    rules: Gitignore,
  ): Promise<void> => {
    let directory: Directory | undefined
    try {
      directory = await parent.openDirectory(entry.name)
      const inner =
        gitignore === undefined
          ? rules
          : await rules.enter(directory, gitignore.above.length + names.length, signal)
      await enter(directory, names, inner)
    } catch (error) {
      // The directory is not readable, or was removed or replaced. The walk continues with the others.
      if (errnoOf(error) === undefined) throw error
      if (result.unreadable.length < maxUnreadable) result.unreadable.push(path)
    } finally {
      await directory?.close()
    }
  }

  await enter(start, [], gitignore?.rules ?? Gitignore.none)
  return result
}
