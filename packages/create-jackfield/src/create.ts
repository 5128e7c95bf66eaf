import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The templates, with what each contains. */
export const templates: Readonly<Record<string, string>> = {
  stdio: 'a server over stdio, for clients that start it as a program',
  http: 'a server over HTTP with authorization by access tokens',
  host: 'a program that uses a server through @jackfield/host, with policy and questions',
}

/** An error in arguments, names or folders. Its message is printed without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A project to create. */
export interface Project {
  /** The absolute path of its folder. */
  readonly folder: string
  /** The name in its package.json. */
  readonly name: string
  readonly template: string
}

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
/** Entries of a folder that counts as empty: a new repository, and files of file managers. */
const ignoredEntries = new Set(['.git', '.DS_Store', 'Thumbs.db'])
/** Maximum length of an npm package name. */
const maxNameLength = 214

/** The version of this package, which is that of all packages of Jackfield. */
export function ownVersion(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(join(packageFolder, 'package.json'), 'utf8'),
  )
  return version
}

/**
 * Validates the options of a project. Writes nothing.
 * @param name the package name; the name of the folder unless given
 * @throws UsageError if the template is unknown, the name is not a package name, or the folder cannot be used
 */
export function planProject(options: {
  folder: string
  template: string
  name?: string | undefined
}): Project {
  const { template } = options
  if (!Object.hasOwn(templates, template)) {
    throw new UsageError(
      `There is no template "${template}". Templates: ${Object.keys(templates).join(', ')}.`,
    )
  }
  return { ...resolveTarget(options.folder, options.name), template }
}

/**
 * The absolute path of a folder, and the package name for it.
 * @throws UsageError if the name is not a package name, or the folder cannot be used
 */
export function resolveTarget(
  folderArgument: string,
  nameArgument: string | undefined,
): { folder: string; name: string } {
  const folder = resolve(folderArgument)
  const name = nameArgument ?? basename(folder)
  const problem = problemWithName(name)
  if (problem !== undefined) {
    const advice = nameArgument === undefined ? 'Choose another folder, or add --name' : 'Write --name'
    throw new UsageError(`"${name}" cannot be a package name: ${problem}. ${advice} ${suggestedName(name)}.`)
  }
  const folderProblem = problemWithFolder(folder)
  if (folderProblem !== undefined) throw new UsageError(folderProblem)
  return { folder, name }
}

/** Why npm would not accept a name for a new package; `undefined` if it would. */
export function problemWithName(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name.length > maxNameLength) return `it has more than ${maxNameLength} characters`
  if (name !== name.toLowerCase()) return 'it has capital letters'
  const [, bare = name] = /^@[^/]+\/(.+)$/.exec(name) ?? []
  if (/^[._-]/.test(bare)) return `it begins with "${bare.charAt(0)}"`
  if (!/^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name)) {
    return 'it may contain only letters a to z, digits, hyphens, dots and underscores'
  }
  if (bare === 'node_modules' || bare === 'favicon.ico') return 'npm reserves it'
  return undefined
}

/** A valid package name that resembles a name. */
function suggestedName(name: string): string {
  const suggested = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '')
    .slice(0, maxNameLength)
  return problemWithName(suggested) === undefined ? suggested : 'my-server'
}

/** Why no project can be written to a folder; `undefined` if it can. */
function problemWithFolder(folder: string): string | undefined {
  let entries: string[]
  try {
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return undefined
    entries = readdirSync(folder).filter((entry) => !ignoredEntries.has(entry))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOTDIR') return `${folder} is not a folder. Choose another name.`
    return `Cannot read ${folder}: ${error instanceof Error ? error.message : String(error)}`
  }
  if (entries.length === 0) return undefined
  const shown = entries.slice(0, 3).join(', ')
  const more = entries.length > 3 ? ` and ${entries.length - 3} more` : ''
  return `${folder} is not empty: it contains ${shown}${more}. Choose another folder, or empty this one. Nothing was changed.`
}

/**
 * Writes a project. No file is overwritten; if writing fails, the files that were written are removed.
 * @returns the paths of its files, relative to its folder
 */
export function writeProject({ folder, name, template }: Project): string[] {
  const from = join(packageFolder, 'templates', template)
  const files = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
    // Left by tests that run the template in this repository.
    .filter((file) => !/(?:^|[\\/])(?:node_modules|dist)[\\/]/.test(file))
    .sort()
  const written: string[] = []
  const created: string[] = []
  try {
    for (const file of files) {
      // npm leaves a file named .gitignore out of packages.
      const to = join(folder, file.replace(/_gitignore$/, '.gitignore'))
      const first = mkdirSync(dirname(to), { recursive: true })
      if (first !== undefined) created.push(first)
      const text = readFileSync(join(from, file), 'utf8')
        .replaceAll('{{name}}', name)
        .replaceAll('{{version}}', `^${ownVersion()}`)
      writeFileSync(to, text, { flag: 'wx' })
      written.push(to)
    }
  } catch (error) {
    for (const path of [...written, ...created]) rmSync(path, { recursive: true, force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot write the project: ${reason}. The files written to ${folder} were removed.`)
  }
  return written.map((file) => file.slice(folder.length + 1))
}
