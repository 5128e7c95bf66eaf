import type { Dirent } from 'node:fs'
import { type Directory, entriesOf } from '../access/directory.ts'
import { errnoOf } from '../access/file-error.ts'
import { Gitignore } from './gitignore.ts'

/** A file or directory that a walk reached. */
export interface Found {
  readonly directory: Directory
  readonly entry: Dirent
  /** The path below the directory in which the walk began, with `/`. */
  readonly path: string
  /** The names of `path`. */
  readonly names: readonly string[]
}

/** How a walk visits what is below a directory. */
export interface WalkOptions {
  readonly excludes: (path: string) => boolean
  /** The `.gitignore` rules that hold in the first directory, and its depth below the allowed one; undefined to ignore them. */
  readonly gitignore: { readonly rules: Gitignore; readonly above: readonly string[] } | undefined
  /** Directories within each other that are entered. */
  readonly depth: number
  /** Entries that are visited in all. */
  readonly visited: number
  readonly signal: AbortSignal
  /** Whether the walk ends early, such as by a time limit. */
  readonly isOver?: () => boolean
  /** Called for each entry, before the contents of a directory. */
  readonly visit: (found: Found) => Promise<void>
}

/** What a walk left out, and how much it visited. */
export interface Walked {
  visited: number
  /** Whether `visited`, `depth` or `isOver` ended it early. */
  truncated: boolean
  /** Directories that could not be read, by their path. */
  unreadable: string[]
}

const maxUnreadable = 20
/** Milliseconds after which other requests, and a cancellation of this one, get a turn. */
const turnMs = 10

/**
 * Visits everything below a directory: the entries of each directory by name, its contents after it. Links are visited and not
 * followed. Of each directory, at most as many entries are read as may still be visited.
 */
export async function walk(start: Directory, options: WalkOptions): Promise<Walked> {
  const { excludes, gitignore, depth, signal, isOver, visit } = options
  const walked: Walked = { visited: 0, truncated: false, unreadable: [] }
  let turn = performance.now()

  const enter = async (directory: Directory, names: readonly string[], rules: Gitignore): Promise<void> => {
    const entries: Dirent[] = []
    for await (const entry of entriesOf(directory)) {
      if (entries.length + walked.visited >= options.visited) {
        walked.truncated = true
        break
      }
      entries.push(entry)
      if (entries.length % 1000 === 0) signal.throwIfAborted()
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (performance.now() - turn > turnMs) {
        await new Promise<void>((resolve) => setImmediate(resolve))
        turn = performance.now()
      }
      signal.throwIfAborted()
      if (isOver?.() === true || walked.visited >= options.visited) {
        walked.truncated = true
        return
      }
      walked.visited++
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
      if (found.names.length >= depth) walked.truncated = true
      else await descend(directory, found, rules)
    }
  }

  const descend = async (
    parent: Directory,
    { entry, names, path }: Found,
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
      // It may not be read, or was removed or replaced meanwhile; the rest is visited nevertheless.
      if (errnoOf(error) === undefined) throw error
      if (walked.unreadable.length < maxUnreadable) walked.unreadable.push(path)
    } finally {
      await directory?.close()
    }
  }

  await enter(start, [], gitignore?.rules ?? Gitignore.none)
  return walked
}
