import { constants, existsSync } from 'node:fs'
import { access, opendir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { McpError, type Root } from '@jackfield/sdk'
import { rootProblem } from '../../config/jackfield-section.ts'
import type { RootsTable } from '../../log/store/roots-table.ts'
import type { FolderPreview, OpenFolder, RootFinding, ServerConfig } from '../../types/index.ts'

/** A folder before inspection. */
type Given = Root & Pick<OpenFolder, 'from'>

/** Inputs of folder inspection. */
interface Surroundings {
  home: string
  excluded: readonly string[]
}

const maxEntries = 10_000
const shownNames = 8

/** Inspects folders in their current state. Folders with the same location are listed once, by the first name. */
export async function inspectFolder(given: readonly Given[], around: Surroundings): Promise<OpenFolder[]> {
  const homes = [around.home, await realpath(around.home).catch(() => around.home)]
  const places = await Promise.all(given.map(async (root) => ({ root, ...(await placeOf(root)) })))
  const open: Place[] = []
  return places.map((place) => {
    const { root, real } = place
    const refusal = place.refusal ?? refusalOf(place, places, open, around.excluded)
    if (refusal !== undefined) return { ...root, ...(real !== undefined && { real }), findings: [refusal] }
    const others = places.filter((other) => other !== place && other.refusal === undefined)
    open.push(place)
    return { ...root, ...(real !== undefined && { real }), findings: remarksOn(place, others, homes) }
  })
}

interface Place {
  root: Given
  path: string
  real?: string
  refusal?: RootFinding
}

function refusalOf(
  { path, real }: Place,
  places: readonly Place[],
  earlier: readonly Place[],
  excluded: readonly string[],
): RootFinding | undefined {
  const refused = (code: RootFinding['code'], message: string): RootFinding => ({
    code,
    severity: 'refused',
    message,
  })
  const pattern = excluded.find((each) => [path, real ?? path].some((name) => isMeant(name, each)))
  if (pattern !== undefined) return refused('excluded', `it is excluded by "${pattern}"`)
  if (real === undefined) return undefined
  const left = places.find(
    (other) => other.real !== undefined && isBelow(path, other.path) && !isIn(real, other.real),
  )
  if (left !== undefined)
    return refused('escape', `it is in ${left.path}, but is a link out of it to ${real}`)
  const same = earlier.find((other) => other.real === real)
  return same === undefined ? undefined : refused('duplicate', `it is the same folder as ${same.root.uri}`)
}

function remarksOn({ path, real }: Place, others: readonly Place[], homes: readonly string[]): RootFinding[] {
  if (real === undefined) return []
  const outer = others.find((other) => other.real !== undefined && isBelow(real, other.real))
  const findings: (RootFinding | false | undefined)[] = [
    real !== path && { code: 'link', severity: 'note', message: `it is a link to ${real}` },
    outer && { code: 'nested', severity: 'note', message: `it is inside ${outer.path}, which is open too` },
    real === dirname(real)
      ? { code: 'everything', severity: 'danger', message: 'it is everything on this machine' }
      : homes.some((home) => isIn(home, real)) && {
          code: 'home',
          severity: 'danger',
          message: homes.includes(real) ? 'it is your whole home folder' : 'your home folder is inside it',
        },
  ]
  return findings.flatMap((finding) => finding || [])
}

/** Whether a folder may be offered to servers now. */
export function isReported({ findings }: OpenFolder): boolean {
  return !findings.some(({ severity }) => severity === 'refused')
}

/** Whether a folder may be offered to servers once it exists. */
export function isOffered({ findings }: OpenFolder): boolean {
  return findings.every(
    ({ code, severity }) => severity !== 'refused' || code === 'missing' || code === 'unreadable',
  )
}

/** The direct contents of a folder, as names and counts, with warnings. */
export async function previewOf(folder: OpenFolder): Promise<Omit<FolderPreview, 'isNew'>> {
  const seen = { folders: 0, files: 0, more: false }
  const names: string[] = []
  const findings = [...folder.findings]
  const warn = (code: RootFinding['code'], severity: RootFinding['severity'], message: string): void => {
    if (!findings.some((finding) => finding.code === code)) findings.push({ code, severity, message })
  }
  const entries = folder.real === undefined ? undefined : await opendir(folder.real).catch(() => undefined)
  if (entries !== undefined) {
    for await (const entry of entries) {
      if (seen.folders + seen.files === maxEntries) {
        seen.more = true
        break
      }
      const { name } = entry
      if (entry.isDirectory()) seen.folders++
      else seen.files++
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
  return { ...folder, ...seen, names: names.slice(0, shownNames), findings }
}

async function placeOf({ uri }: Root): Promise<Omit<Place, 'root'>> {
  const written = fileURLToPath(uri)
  const path = written.length > 1 && written.endsWith(sep) ? written.slice(0, -1) : written
  const refused = (code: RootFinding['code'], message: string): Omit<Place, 'root'> => ({
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

function isIn(path: string, folder: string): boolean {
  return path === folder || isBelow(path, folder)
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

/** Whether a pattern matches a folder or a parent of it. A pattern with a `/` matches whole paths, any other one single names. */
export function isMeant(path: string, pattern: string): boolean {
  const test = expressionOf(pattern)
  for (let at = path; ; at = dirname(at)) {
    if (test.test(pattern.includes('/') ? at : nameOf(at))) return true
    if (at === dirname(at)) return false
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
  const inHome = folder === '~' || folder.startsWith('~/')
  const path = inHome ? join(home, folder.slice(1)) : folder
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
  readonly #fixed: readonly Given[]

  constructor(deps: OpenFoldersDeps) {
    const { roots = [], workspace, home } = deps
    this.#deps = deps
    this.workspace = workspace ?? ''
    const repository = workspace === undefined ? undefined : repositoryOf(workspace, home)
    this.#fixed = [
      // Named folders come first, because many servers work in the first root.
      ...roots.map((root): Given => ({ ...root, from: 'configured' })),
      ...(workspace === undefined ? [] : [folder(workspace, 'workspace')]),
      ...(repository === undefined ? [] : [folder(repository, 'repository')]),
    ]
  }

  all(): Given[] {
    const added = this.#deps.table
      .added(this.workspace)
      .map(({ uri, name }): Given => ({ uri, ...(name !== null && { name }), from: 'added' }))
    return [...this.#fixed, ...added]
  }

  /** The folders that may be offered to one server. */
  of({ roots }: ServerConfig): Given[] {
    if (roots === false) return []
    if (roots === undefined) return this.all()
    return roots
      .filter(({ uri }) => rootProblem(uri) === undefined)
      .map((root): Given => ({ ...root, from: 'server' }))
  }
}

function folder(path: string, from: Given['from']): Given {
  return { uri: pathToFileURL(path).href, name: basename(path), from }
}

/** The repository around a folder, unless it contains the home folder. */
function repositoryOf(workspace: string, home: string): string | undefined {
  for (let at = workspace; at !== dirname(at); at = dirname(at)) {
    if (home === at || home.startsWith(`${at}/`)) return undefined
    if (existsSync(join(at, '.git'))) return at === workspace ? undefined : at
  }
  return undefined
}
