import { type Directory, statIn } from '../access/directory.ts'
import { readBytes } from '../files/read.ts'
import { type Glob, parseGlob } from './glob.ts'

/** One line of a `.gitignore`. */
interface Rule {
  readonly glob: Glob
  readonly negated: boolean
  readonly directoriesOnly: boolean
}

/** The rules of one directory, and the number of names from the allowed directory to it. */
interface Level {
  readonly depth: number
  readonly rules: readonly Rule[]
}

/**
 * The rules of the `.gitignore` files from the allowed directory down to one directory. Rules of inner directories, and later rules
 * of one file, win. As in git, nothing below an ignored directory can be included again: a search does not enter it.
 */
export class Gitignore {
  static readonly none: Gitignore = new Gitignore([])
  readonly #levels: readonly Level[]

  private constructor(levels: readonly Level[]) {
    this.#levels = levels
  }

  /** Adds the rules of a directory. @param depth the number of names from the allowed directory to it */
  async enter(directory: Directory, depth: number, signal: AbortSignal): Promise<Gitignore> {
    const rules = await rulesIn(directory, signal)
    return rules.length === 0 ? this : new Gitignore([...this.#levels, { depth, rules }])
  }

  /** Whether a file or directory is ignored. @param names the names from the allowed directory to it */
  ignores(names: readonly string[], isDirectory: boolean): boolean {
    if (names.at(-1) === '.git') return true
    for (const { depth, rules } of this.#levels.toReversed()) {
      const path = names.slice(depth).join('/')
      const rule = rules.findLast(
        ({ glob, directoriesOnly }) => (isDirectory || !directoriesOnly) && glob.matches(path),
      )
      if (rule !== undefined) return !rule.negated
    }
    return false
  }
}

const maxFileBytes = 1_000_000

async function rulesIn(directory: Directory, signal: AbortSignal): Promise<Rule[]> {
  try {
    const stats = await statIn(directory, '.gitignore')
    if (stats?.isFile() !== true) return []
    const file = await directory.openFile('.gitignore')
    try {
      const text = (await readBytes(file, '.gitignore', maxFileBytes, signal)).toString('utf8')
      return text.split(/\r?\n/).flatMap(ruleOf)
    } finally {
      await file.handle.close()
    }
  } catch (error) {
    signal.throwIfAborted()
    // A `.gitignore` that cannot be read ignores nothing, as for git.
    if (error instanceof Error) return []
    throw error
  }
}

/** The rule of a line; none for a comment and for a pattern that cannot be used. */
function ruleOf(line: string): Rule[] {
  let pattern = line.replace(/(?<!\\)\s+$/, '')
  if (pattern === '' || pattern.startsWith('#')) return []
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const directoriesOnly = pattern.endsWith('/')
  if (directoriesOnly) pattern = pattern.slice(0, -1)
  // A pattern with a slash is relative to the directory of its file; any other is a name at any depth.
  const isAnchored = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  try {
    // Git has no braces.
    const glob = parseGlob((isAnchored ? pattern : `**/${pattern}`).replaceAll(/(?<!\\)[{}]/g, '\\$&'))
    return pattern === '' ? [] : [{ glob, negated, directoriesOnly }]
  } catch {
    return []
  }
}
