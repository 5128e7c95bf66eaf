import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { McpError, type Root } from '@jackfield/sdk'
import { rootProblem } from '../../config/root-uri.ts'
import type { RootsTable } from '../../log/store/roots-table.ts'
import type { ServerConfig } from '../../types/index.ts'
import type { Given } from './look.ts'

/** Refuses roots that are no plain local folders. */
export function checkRoots(roots: readonly Root[] = []): void {
  for (const { uri } of roots) {
    const problem = rootProblem(uri)
    if (problem !== undefined) throw new McpError('INVALID', `A root ${problem}`)
  }
}

/** The URI of a folder that a person names: a path, absolute or from `~`, or a `file:` URI. */
export function uriOf(folder: string, home: string): string {
  const inHome = folder === '~' || folder.startsWith('~/')
  const path = inHome ? join(home, folder.slice(1)) : folder
  const uri = isAbsolute(path) ? pathToFileURL(resolve(path)).href : folder
  checkRoots([{ uri }])
  return uri
}

/** Whether two URIs name one folder, with or without a `/` at the end. */
export function sameFolder(one: string, other: string): boolean {
  const path = (uri: string): string => resolve(fileURLToPath(uri))
  return path(one) === path(other)
}

export interface OpenFoldersDeps {
  table: RootsTable
  roots: readonly Root[] | undefined
  workspace: string | undefined
  home: string
}

/** The folders that are open, from wherever they come. */
export class OpenFolders {
  /** What decisions about folders are kept for. */
  readonly workspace: string
  readonly #deps: OpenFoldersDeps
  readonly #fixed: readonly Given[]

  constructor(deps: OpenFoldersDeps) {
    const { roots = [], workspace, home } = deps
    this.#deps = deps
    this.workspace = workspace ?? ''
    const repository = workspace === undefined ? undefined : repositoryOf(workspace, home)
    this.#fixed = [
      // What was named comes first, since many servers work in the first folder they hear of.
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

  /** Those that one server may be told of, if the person agrees. */
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

/** The repository around a folder, unless it is as wide as the home folder. */
function repositoryOf(workspace: string, home: string): string | undefined {
  for (let at = workspace; at !== dirname(at); at = dirname(at)) {
    if (home === at || home.startsWith(`${at}/`)) return undefined
    if (existsSync(join(at, '.git'))) return at === workspace ? undefined : at
  }
  return undefined
}
