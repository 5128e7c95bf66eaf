import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Context, type Root, ToolError } from '@jackfield/sdk'
import type { Git, GitOutput } from './git.ts'
import { environment, safeConfig, withoutUserConfig } from './hardening.ts'
import { count, decode, oneLine } from './text.ts'

/*
 * Which repositories a request may use, and how one is opened. A repository lies in an allowed folder with everything that it
 * consists of: its working tree, its Git directory, and the object stores that it borrows from. Git never searches for one.
 */

/** A repository that a request may name. */
export interface KnownRepository {
  /** How a request names it: relative to the parent of its folder, or the whole path if that is ambiguous. */
  name: string
  /** The working tree, an absolute path without links. */
  path: string
}

/** A folder whose repositories may be used. */
interface Folder {
  /** Absolute, without links. */
  path: string
}

export interface RepositoriesOptions {
  git: Git
  /** Allowed folders. Empty: the client's roots. */
  folders: readonly string[]
}

/** The Git directory of a working tree, and the one that linked working trees share. */
interface GitDirectories {
  gitDirectory: string
  commonDirectory: string
}

/** Options of a command on a repository, as in `Invocation`. */
export interface RunOptions {
  signal: AbortSignal
  input?: string | Buffer
  skip?: number
  limit?: number
  allow?: readonly number[]
  /** Whether the command changes the repository, and may take its locks. Default false. */
  writes?: boolean
}

const maxFolderDepth = 4
const maxFoldersRead = 5_000
const maxRepositories = 200
const maxGitEntries = 50_000
const maxAlternatesDepth = 5
const maxAlternatesBytes = 65_536
const skippedFolders: ReadonlySet<string> = new Set(['node_modules', 'vendor', 'target', 'dist', 'build'])

/** An opened repository: commands run on it with its configuration made harmless. */
export class Repository {
  readonly name: string
  readonly path: string
  /** Its Git directory, and the one that linked working trees share. */
  readonly gitDirectory: string
  readonly commonDirectory: string
  /** Keys of its configuration that name programs and have no effect. */
  readonly ignored: readonly string[]
  /** Filters that git itself would run for this user. */
  readonly filters: ReadonlySet<string>
  readonly #git: Git
  readonly #env: Readonly<Record<string, string>>

  constructor(git: Git, known: KnownRepository, directories: GitDirectories, listed: Buffer) {
    const config = safeConfig(listed)
    this.name = known.name
    this.path = known.path
    this.gitDirectory = directories.gitDirectory
    this.commonDirectory = directories.commonDirectory
    this.ignored = config.ignored
    this.filters = config.filters
    this.#git = git
    this.#env = {
      ...environment(config.values),
      ...withoutUserConfig,
      GIT_DIR: directories.gitDirectory,
      // Takes precedence over core.worktree, which could name any folder.
      GIT_WORK_TREE: known.path,
    }
  }

  /** Runs a git command. @throws GitError, ToolError */
  run(args: readonly string[], options: RunOptions): Promise<GitOutput> {
    const { writes = false, ...rest } = options
    const env = writes ? this.#env : { ...this.#env, GIT_OPTIONAL_LOCKS: '0' }
    return this.#git.run({ args, cwd: this.path, env, ...rest })
  }

  /** The output of a command as text, without the line break at its end. */
  async text(args: readonly string[], options: RunOptions): Promise<string> {
    const { stdout } = await this.run(args, options)
    return decode(stdout).replace(/\n$/, '')
  }
}

/** The repositories of one server. */
export class Repositories {
  readonly #git: Git
  readonly #configuredFolders: readonly string[]
  /** The roots of the only client, for completions, which cannot ask for roots. */
  #lastRootFolders: readonly Folder[] = []
  /** Working trees whose Git directory is their `.git`, as git confirmed: their identity by path. */
  readonly #verifiedTrees = new Map<string, string>()

  constructor({ git, folders }: RepositoriesOptions) {
    this.#git = git
    this.#configuredFolders = folders
  }

  /** All repositories that the request may use. `complete` is false if the search ended at a limit. */
  async list(ctx: Context): Promise<{ repositories: KnownRepository[]; complete: boolean }> {
    return findAll(await this.#folders(ctx))
  }

  /**
   * Opens the repository that a request names; without a name, the only one.
   * @throws ToolError if there is none of this name, or if it may not be used
   */
  async open(ctx: Context, name: string | undefined): Promise<Repository> {
    return this.#open(await this.#folders(ctx), name, ctx.signal)
  }

  /** The repositories that completions may show: of the given folders, or of the roots that the only client sent last. */
  async listForCompletion(): Promise<KnownRepository[]> {
    return (await findAll(await this.#completionFolders())).repositories
  }

  /** As `open`, for a completion. Undefined if there is no such repository. */
  async openForCompletion(name: string | undefined, signal: AbortSignal): Promise<Repository | undefined> {
    try {
      return await this.#open(await this.#completionFolders(), name, signal)
    } catch (error) {
      if (error instanceof ToolError) return undefined
      throw error
    }
  }

  async #completionFolders(): Promise<readonly Folder[]> {
    return this.#configuredFolders.length > 0
      ? existingFolders(this.#configuredFolders)
      : this.#lastRootFolders
  }

  async #folders(ctx: Context): Promise<readonly Folder[]> {
    if (this.#configuredFolders.length > 0) return existingFolders(this.#configuredFolders)
    if (!ctx.can('roots')) {
      throw new ToolError(
        'There is no repository to use: the server was started without a folder, and this client has no roots. Start the server with the folders of the repositories as arguments.',
      )
    }
    const folders = await existingFolders(pathsOf(await ctx.roots()))
    if (folders.length === 0) {
      throw new ToolError(
        'There is no repository to use: none of the roots of this client is a folder that exists. Open a folder in the client, or start the server with folders as arguments.',
      )
    }
    // Over a pipe there is one client only, so its folders can be remembered.
    if (ctx.transport.kind === 'pipe') this.#lastRootFolders = folders
    return folders
  }

  async #open(
    folders: readonly Folder[],
    name: string | undefined,
    signal: AbortSignal,
  ): Promise<Repository> {
    const known = name === undefined ? await singleRepository(folders) : await findByName(folders, name)
    const directories = await this.#allowedGitDirectories(known, folders, signal)
    const listed = await this.#git.run({
      args: ['config', '--list', '--show-scope', '-z'],
      cwd: known.path,
      env: {
        ...environment([]),
        GIT_DIR: directories.gitDirectory,
        GIT_WORK_TREE: known.path,
      },
      signal,
    })
    if (listed.truncated) throw new ToolError(`The configuration of "${known.name}" is too large to check.`)
    return new Repository(this.#git, known, directories, listed.stdout)
  }

  /** The Git directories of a working tree. @throws ToolError if one leads out of the allowed folders */
  async #allowedGitDirectories(
    known: KnownRepository,
    folders: readonly Folder[],
    signal: AbortSignal,
  ): Promise<GitDirectories> {
    const { name } = known
    const directories = await this.#gitDirectories(known, signal)
    for (const directory of new Set([directories.gitDirectory, directories.commonDirectory])) {
      if (!isWithin(folders, directory)) {
        throw new ToolError(
          `"${name}" cannot be used: its Git directory ${oneLine(directory)} lies outside of the allowed folders. If that is as intended (a linked working tree, a submodule), allow its folder too.`,
        )
      }
      await requireWithin(directory, folders, name)
      await requireAlternatesWithin(join(directory, 'objects'), folders, name, maxAlternatesDepth)
    }
    return directories
  }

  /** The Git directories of a working tree. Git finds them and checks their owner once, and again when they were replaced. */
  async #gitDirectories(known: KnownRepository, signal: AbortSignal): Promise<GitDirectories> {
    const { path } = known
    const own = join(path, '.git')
    const identity = await plainIdentity(path)
    if (identity !== undefined && this.#verifiedTrees.get(path) === identity) {
      return { gitDirectory: own, commonDirectory: own }
    }
    const directories = await this.#askGit(known, signal)
    const isPlain = directories.gitDirectory === own && directories.commonDirectory === own
    if (this.#verifiedTrees.size >= maxRepositories) this.#verifiedTrees.clear()
    if (identity !== undefined && isPlain) this.#verifiedTrees.set(path, identity)
    return directories
  }

  async #askGit({ name, path }: KnownRepository, signal: AbortSignal): Promise<GitDirectories> {
    const { stdout } = await this.#git.run({
      args: ['rev-parse', '--absolute-git-dir', '--git-common-dir'],
      cwd: path,
      env: { ...environment([]), GIT_CEILING_DIRECTORIES: dirname(path) },
      signal,
    })
    const [gitDirectory = '', commonDirectory = ''] = await Promise.all(
      decode(stdout)
        .split('\n')
        .slice(0, 2)
        .map((line) =>
          realpath(resolve(path, line)).catch(() => {
            throw new ToolError(`"${name}" cannot be used: its Git directory was not found.`)
          }),
        ),
    )
    if (gitDirectory === path || commonDirectory === path) {
      throw new ToolError(`"${name}" is a bare repository. This server needs one with a working tree.`)
    }
    return { gitDirectory, commonDirectory }
  }
}

/** The paths that exist, without links. */
async function existingFolders(paths: readonly string[]): Promise<Folder[]> {
  const found = await Promise.all(
    paths.map((path) =>
      realpath(path).then(
        (real) => [{ path: real }],
        () => [],
      ),
    ),
  )
  return found.flat()
}

function pathsOf(roots: readonly Root[]): string[] {
  return roots.flatMap(({ uri }) => {
    if (!uri.startsWith('file:')) return []
    try {
      const path = fileURLToPath(uri)
      return path.includes('\0') ? [] : [path]
    } catch {
      return []
    }
  })
}

/** Whether a path without links is one of the folders or lies in one. */
function isWithin(folders: readonly Folder[], path: string): boolean {
  return folders.some((folder) => {
    const relativePath = relative(folder.path, path)
    return (
      relativePath === '' ||
      !(relativePath === '..' || relativePath.startsWith(`..${sep}`) || isAbsolute(relativePath))
    )
  })
}

async function isWorkingTree(path: string): Promise<boolean> {
  return lstat(join(path, '.git')).then(
    (found) => found.isDirectory() || found.isFile() || found.isSymbolicLink(),
    () => false,
  )
}

/**
 * Identifies a working tree whose `.git` is a directory of its own and belongs, as the tree does, to the user of this process:
 * git accepts that owner whatever is configured. Undefined for any other, which git has to look at each time.
 */
async function plainIdentity(path: string): Promise<string | undefined> {
  const user = process.geteuid?.()
  if (user === undefined) return undefined
  const gitDirectory = join(path, '.git')
  const [tree, git, shared] = await Promise.all(
    [path, gitDirectory, join(gitDirectory, 'commondir')].map((file) => lstat(file).catch(() => undefined)),
  )
  if (tree === undefined || git === undefined || shared !== undefined) return undefined
  if (!git.isDirectory() || tree.uid !== user || git.uid !== user) return undefined
  return [tree, git].map(({ dev, ino }) => `${dev}:${ino}`).join()
}

/** Searches the folders, nearest first. Does not search within repositories. */
async function findAll(
  folders: readonly Folder[],
): Promise<{ repositories: KnownRepository[]; complete: boolean }> {
  const found: KnownRepository[] = []
  const seen = new Set<string>()
  let remaining = maxFoldersRead
  let complete = true
  for (const folder of folders) {
    const queue = [{ path: folder.path, depth: 0 }]
    for (const { path, depth } of queue) {
      if (seen.has(path)) continue
      seen.add(path)
      if (remaining-- <= 0 || found.length >= maxRepositories) {
        complete = false
        break
      }
      if (await isWorkingTree(path)) {
        found.push({ name: relative(dirname(folder.path), path).split(sep).join('/'), path })
        continue
      }
      if (depth === maxFolderDepth) continue
      const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
      for (const entry of entries) {
        if (!entry.isDirectory() || entry.name.startsWith('.') || skippedFolders.has(entry.name)) continue
        queue.push({ path: join(path, entry.name), depth: depth + 1 })
      }
    }
  }
  const nameCounts = new Map<string, number>()
  for (const { name } of found) nameCounts.set(name, (nameCounts.get(name) ?? 0) + 1)
  const repositories = found.map(({ name, path }) => ({
    name: nameCounts.get(name) === 1 && name !== '' ? name : path,
    path,
  }))
  return { repositories, complete }
}

async function singleRepository(folders: readonly Folder[]): Promise<KnownRepository> {
  const { repositories, complete } = await findAll(folders)
  const [only] = repositories
  if (only === undefined) throw await noRepositoryError(folders)
  if (repositories.length > 1 || !complete) {
    throw new ToolError(
      `Which repository? There are ${repositories.length}${complete ? '' : ' or more'}: ${namesOf(repositories)}. Name one in "repository".`,
    )
  }
  return only
}

async function noRepositoryError(folders: readonly Folder[]): Promise<ToolError> {
  for (const { path } of folders) {
    for (let up = dirname(path); up !== dirname(up); up = dirname(up)) {
      if (await isWorkingTree(up)) {
        return new ToolError(
          `The folder ${path} is a part of the repository ${up}, which lies outside of the allowed folders. Allow ${up} to use it.`,
        )
      }
    }
  }
  const where = folders.map(({ path }) => path).join(', ')
  return new ToolError(
    `There is no Git repository in ${where}. Create one with "git init", or allow another folder.`,
  )
}

/** The repository of a name from the list, or at a path: absolute, or relative to an allowed folder. */
async function findByName(folders: readonly Folder[], name: string): Promise<KnownRepository> {
  if (name.includes('\0')) throw new ToolError('"repository" must not contain NUL.')
  const { repositories } = await findAll(folders)
  const known = repositories.find((repository) => repository.name === name)
  if (known !== undefined) return known
  for (const folder of folders) {
    const path = await realpath(resolve(folder.path, name)).catch(() => undefined)
    if (path === undefined || !isWithin(folders, path) || !(await isWorkingTree(path))) continue
    return repositories.find((repository) => repository.path === path) ?? { name, path }
  }
  throw new ToolError(
    repositories.length === 0
      ? (await noRepositoryError(folders)).message
      : `There is no repository "${oneLine(name)}" in the allowed folders. There ${repositories.length === 1 ? 'is' : 'are'} ${namesOf(repositories)}.`,
  )
}

function namesOf(repositories: readonly KnownRepository[]): string {
  const shown = repositories.slice(0, 20).map(({ name }) => oneLine(name))
  const more = repositories.length - shown.length
  return shown.join(', ') + (more > 0 ? ` and ${count(more, 'other')}` : '')
}

/**
 * Rejects links in a Git directory that lead out of the allowed folders, where git would read and write through them. Of the
 * objects only the first level is looked at, since git gives them their names.
 */
async function requireWithin(directory: string, folders: readonly Folder[], name: string): Promise<void> {
  let remaining = maxGitEntries
  const queue = [{ path: directory, depth: 0 }]
  for (const { path, depth } of queue) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    remaining -= entries.length
    if (remaining < 0) {
      throw new ToolError(
        `The Git directory of "${name}" has more than ${maxGitEntries} files besides objects. Run "git pack-refs --all" and "git gc" there first.`,
      )
    }
    for (const entry of entries) {
      const at = join(path, entry.name)
      if (entry.isSymbolicLink()) {
        const target = await realpath(at).catch(() => undefined)
        if (target === undefined || !isWithin(folders, target)) {
          throw new ToolError(
            `"${name}" cannot be used: ${oneLine(at)} is a link to something outside of the allowed folders.`,
          )
        }
        continue
      }
      // Git would wait for another process to write into a pipe. The socket is that of the file system monitor.
      if (entry.isFIFO() || entry.isCharacterDevice() || entry.isBlockDevice()) {
        throw new ToolError(`"${name}" cannot be used: ${oneLine(at)} is neither a file nor a folder.`)
      }
      if (!entry.isDirectory()) continue
      const inObjects = basename(path) === 'objects' && depth === 1
      // Other repositories, which are checked when they are opened.
      const separate = depth === 0 && (entry.name === 'modules' || entry.name === 'worktrees')
      if (!inObjects && !separate) queue.push({ path: at, depth: depth + 1 })
    }
  }
}

/** Rejects object stores outside of the allowed folders, whose contents git would show. */
async function requireAlternatesWithin(
  objects: string,
  folders: readonly Folder[],
  name: string,
  depth: number,
): Promise<void> {
  const file = join(objects, 'info', 'alternates')
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile() || found.size > maxAlternatesBytes) {
    throw new ToolError(
      `"${name}" cannot be used: ${oneLine(file)} is not a file of at most ${maxAlternatesBytes} bytes.`,
    )
  }
  const text = await readFile(file, 'utf8')
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    // Git also accepts paths in quotes, which no program writes.
    const path = line.startsWith('"')
      ? undefined
      : await realpath(resolve(objects, line)).catch(() => undefined)
    if (path === undefined || depth === 0 || !isWithin(folders, path)) {
      throw new ToolError(
        `"${name}" cannot be used: it borrows objects from ${oneLine(line)}, which lies outside of the allowed folders. Allow the folder of that repository too, or run "git repack -a -d" and remove objects/info/alternates.`,
      )
    }
    await requireAlternatesWithin(path, folders, name, depth - 1)
  }
}
