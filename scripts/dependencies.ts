import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'

/** An entry of the lock file. */
export interface LockedPackage {
  version?: string
  license?: string
  /** It is a link to the workspace package in `resolved`. */
  link?: boolean
  resolved?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/**
 * The packages installed with workspace packages, by their path in this repository. Packages of the workspace are entries
 * with `link`; what they need is among the others.
 * @param folders the packages, from the root of the repository
 */
export function dependenciesOf(folders: readonly string[]): Map<string, LockedPackage> {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const found = new Map<string, LockedPackage>()
  const visit = (from: string): void => {
    const { dependencies, optionalDependencies } = packages[from] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = locate(packages, from, name)
      const locked = path === undefined ? undefined : packages[path]
      if (path === undefined || locked === undefined || found.has(path)) continue
      found.set(path, locked)
      visit(locked.link === true ? (locked.resolved ?? path) : path)
    }
  }
  for (const folder of folders) visit(folder.replaceAll('\\', '/'))
  return found
}

/** Where Node finds a dependency: in the nearest node_modules. */
function locate(packages: Record<string, LockedPackage>, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.replace(/(?:^|\/)[^/]*$/, '')) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === '') return undefined
  }
}
