import { constants, existsSync } from 'node:fs'
import { access, opendir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { McpError, type Root } from '@jackfield/sdk'
import { rootProblem } from '../../config/jackfield-section.ts'
import type { RootsTable } from '../../log/store/roots-table.ts'
import { expandHome, isWithin } from '../../shared/files.ts'
import type { FolderPreview, OpenFolder, RootFinding, ServerConfig } from '../../types/index.ts'

/** A folder before inspection. */
type NamedRoot = Root & Pick<OpenFolder, 'from'>

/** Inputs of folder inspection. */
interface Surroundings {
  home: string
  excluded: readonly string[]
}

const maxEntries = 10_000
const shownNames = 8

/** Inspects folders in their current state. Folders with the same location are listed once, by the first name. */
export async function inspectFolder(
  given: readonly NamedRoot[],
  surroundings: Surroundings,
): Promise<OpenFolder[]> {
  const homes = [surroundings.home, await realpath(surroundings.home).catch(() => surroundings.home)]
  const inspected = await Promise.all(given.map(async (root) => ({ root, ...(await inspectRoot(root)) })))
  const accepted: InspectedRoot[] = []
  return inspected.map((place) => {
    const { root, real } = place
    const refusal = place.refusal ?? refusalFor(place, inspected, accepted, surroundings.excluded)
    if (refusal !== undefined) return { ...root, ...(real !== undefined && { real }), findings: [refusal] }
    const others = inspected.filter((other) => other !== place && other.refusal === undefined)
    accepted.push(place)
    return { ...root, ...(real !== undefined && { real }), findings: warningsFor(place, others, homes) }
  })
}

interface InspectedRoot {
  root: NamedRoot
  path: string
  real?: string
  refusal?: RootFinding
}

function refusalFor(
  { path, real }: InspectedRoot,
  inspected: readonly InspectedRoot[],
  earlier: readonly InspectedRoot[],
  excluded: readonly string[],
): RootFinding | undefined {
  const refused = (code: RootFinding['code'], message: string): RootFinding => ({
    code,
    severity: 'refused',
    message,
  })
  const pattern = excluded.find((excludedPattern) =>
    [path, real ?? path].some((name) => matchesPattern(name, excludedPattern)),
  )
  if (pattern !== undefined) return refused('excluded', `it is excluded by "${pattern}"`)
  if (real === undefined) return undefined
  const linkOwner = inspected.find(
    (other) => other.real !== undefined && isBelow(path, other.path) && !isWithin(real, other.real),
  )
  if (linkOwner !== undefined)
    return refused('escape', `it is in ${linkOwner.path}, but is a link out of it to ${real}`)
  const duplicate = earlier.find((other) => other.real === real)
  return duplicate === undefined
    ? undefined
    : refused('duplicate', `it is the same folder as ${duplicate.root.uri}`)
}

function warningsFor(
  { path, real }: InspectedRoot,
  others: readonly InspectedRoot[],
  homes: readonly string[],
): RootFinding[] {
  if (real === undefined) return []
  const outerRoot = others.find((other) => other.real !== undefined && isBelow(real, other.real))
  const findings: (RootFinding | false | undefined)[] = [
    real !== path && { code: 'link', severity: 'note', message: `it is a link to ${real}` },
    outerRoot && {
      code: 'nested',
      severity: 'note',
      message: `it is inside ${outerRoot.path}, which is open too`,
    },
    real === dirname(real)
      ? { code: 'everything', severity: 'danger', message: 'it is everything on this machine' }
      : homes.some((home) => isWithin(home, real)) && {
          code: 'home',
          severity: 'danger',
          message: homes.includes(real) ? 'it is your whole home folder' : 'your home folder is inside it',
        },
  ]
  return findings.flatMap((finding) => finding || [])
}

/** Whether a folder may be offered to servers now. */
export function isAvailable({ findings }: OpenFolder): boolean {
  return !findings.some(({ severity }) => severity === 'refused')
}

/** Whether a folder may be offered to servers once it exists. */
export function canBeOffered({ findings }: OpenFolder): boolean {
  return findings.every(
    ({ code, severity }) => severity !== 'refused' || code === 'missing' || code === 'unreadable',
  )
}

/** The direct contents of a folder, as names and counts, with warnings. */
export async function previewOf(folder: OpenFolder): Promise<Omit<FolderPreview, 'isNew'>> {
  const counts = { folders: 0, files: 0, more: false }
  const names: string[] = []
  const findings = [...folder.findings]
  const warn = (code: RootFinding['code'], severity: RootFinding['severity'], message: string): void => {
    if (!findings.some((finding) => finding.code === code)) findings.push({ code, severity, message })
  }
  const entries = folder.real === undefined ? undefined : await opendir(folder.real).catch(() => undefined)
  if (entries !== undefined) {
    for await (const entry of entries) {
      if (counts.folders + counts.files === maxEntries) {
        counts.more = true
        break
      }
      const { name } = entry
      if (entry.isDirectory()) counts.folders++
      else counts.files++
      if (!name.startsWith('.')) names.push(entry.isDirectory() ? `${name}/` : name)
      if (
        /^(?:\.ssh|\.gnupg|\.aws|\.kube)$|^id_(?:rsa|ed25519|ecdsa|dsa)$|\.(?:pem|key|p12|pfx)$/i.test(name)
      )
        warn('keys', 'danger', `it contains keys (${name})`)
      if (/^\.env(?:\.|$)/.test(name) && !/\.(?:example|sample|template)$/.test(name))
        warn('environment', 'warning', `it contains settings that may be secret (${name})`)
    }
  }
  names.sort((a, b) => (a < b ? -1 : 1))
  return { ...folder, ...counts, names: names.slice(0, shownNames), findings }
}

async function inspectRoot({ uri }: Root): Promise<Omit<InspectedRoot, 'root'>> {
  const written = fileURLToPath(uri)
  const path = written.length > 1 && written.endsWith(sep) ? written.slice(0, -1) : written
  const refused = (code: RootFinding['code'], message: string): Omit<InspectedRoot, 'root'> => ({
    path,
    refusal: { code, severity: 'refused', message },
  })
  let real: string
  try {
    real = await realpath(path)
  } catch {
    return refused('missing', 'it does not exist')
  }
  try {
    if (!(await stat(real)).isDirectory()) return refused('no-folder', 'it is a file, not a folder')
    await access(real, constants.R_OK)
  } catch {
    return refused('unreadable', 'you are not allowed to read it')
  }
  return { path, real }
}

function isBelow(path: string, parent: string): boolean {
  return path !== parent && isWithin(path, parent)
}

/** Whether a pattern matches a folder or a parent of it. A pattern with a `/` matches whole paths, any other one single names. */
export function matchesPattern(path: string, pattern: string): boolean {
  const test = expressionOf(pattern)
  for (let current = path; ; current = dirname(current)) {
    if (test.test(pattern.includes('/') ? current : nameOf(current))) return true
    if (current === dirname(current)) return false
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function expressionOf(pattern: string): RegExp {
  const text = pattern.length > 1 ? pattern.replace(/\/+$/, '') : pattern
  const parts = text.split(/(\*+|\?)/).map((part) => {
    if (part === '?') return '[^/]'
    if (part === '*') return '[^/]*'
    if (/^\*+$/.test(part)) return '.*'
    return part.replace(/[\\^$.+()[\]{}|]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`)
}

/** Rejects roots that are no plain local folders. */
export function checkRoots(roots: readonly Root[] = []): void {
  for (const { uri } of roots) {
    const problem = rootProblem(uri)
    if (problem !== undefined) throw new McpError('INVALID', `A root ${problem}`)
  }
}

/** The URI of a folder given as a path, absolute or from `~`, or as a `file:` URI. */
export function uriOf(folder: string, home: string): string {
  const path = expandHome(folder, home)
  const uri = isAbsolute(path) ? pathToFileURL(resolve(path)).href : folder
  checkRoots([{ uri }])
  return uri
}

/** Whether two URIs name one folder, with or without a trailing `/`. */
export function sameFolder(one: string, other: string): boolean {
  const path = (uri: string): string => resolve(fileURLToPath(uri))
  return path(one) === path(other)
}

interface OpenFoldersDeps {
  table: RootsTable
  roots: readonly Root[] | undefined
  workspace: string | undefined
  home: string
}

/** All open folders, from every source. */
export class OpenFolders {
  /** The working folder, for which decisions are stored. */
  readonly workspace: string
  readonly #deps: OpenFoldersDeps
  readonly #fixed: readonly NamedRoot[]

  constructor(deps: OpenFoldersDeps) {
    const { roots = [], workspace, home } = deps
    this.#deps = deps
    this.workspace = workspace ?? ''
    const repository = workspace === undefined ? undefined : repositoryOf(workspace, home)
    this.#fixed = [
      // Named folders come first, because many servers work in the first root.
      ...roots.map((root): NamedRoot => ({ ...root, from: 'configured' })),
      ...(workspace === undefined ? [] : [rootOf(workspace, 'workspace')]),
      ...(repository === undefined ? [] : [rootOf(repository, 'repository')]),
    ]
  }

  all(): NamedRoot[] {
    const added = this.#deps.table
      .added(this.workspace)
      .map(({ uri, name }): NamedRoot => ({ uri, ...(name !== null && { name }), from: 'added' }))
    return [...this.#fixed, ...added]
  }

  /** The folders that may be offered to one server. */
  of({ roots }: ServerConfig): NamedRoot[] {
    if (roots === false) return []
    if (roots === undefined) return this.all()
    return roots
      .filter(({ uri }) => rootProblem(uri) === undefined)
      .map((root): NamedRoot => ({ ...root, from: 'server' }))
  }
}

function rootOf(path: string, from: NamedRoot['from']): NamedRoot {
  return { uri: pathToFileURL(path).href, name: basename(path), from }
}

/** The repository around a folder, unless it contains the home folder. */
function repositoryOf(workspace: string, home: string): string | undefined {
  for (let current = workspace; current !== dirname(current); current = dirname(current)) {
    if (home === current || home.startsWith(`${current}/`)) return undefined
    if (existsSync(join(current, '.git'))) return current === workspace ? undefined : current
  }
  return undefined
}
