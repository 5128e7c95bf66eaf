import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const maxSteps = 512
const separator = sep === '/' ? '/' : /[/\\]/

/** Whether something is so; undefined where nobody can tell. */
export type Known = boolean | undefined

/**
 * Whether a path or `file:` URI lies in one of the folders, or is one of them, once `..` and links are resolved.
 * Relative paths count from `base`. What a server might read in two ways must be inside in both to be surely inside,
 * and in neither to be surely outside.
 */
export function isInside(value: string, folders: readonly string[], base: string | undefined): Known {
  const meant = meanings(value, base)
  if (meant === undefined) return undefined
  const answers = folders.flatMap((folder) => meant.map((path) => ({ folder, inside: within(path, folder) })))
  const surely = folders.some((folder) =>
    answers.every((answer) => answer.folder !== folder || answer.inside === true),
  )
  if (surely) return true
  return answers.every(({ inside }) => inside === false) ? false : undefined
}

/** The absolute paths that a server may take the text for; undefined where that cannot be known. */
function meanings(value: string, base: string | undefined): string[] | undefined {
  if (value === '' || value.includes('\0')) return undefined
  if (/^file:/i.test(value)) {
    try {
      return [fileURLToPath(value)]
    } catch {
      return undefined
    }
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(value)) return undefined
  if (isAbsolute(value)) return [value]
  if (base === undefined || !isAbsolute(base)) return undefined
  const below = `${base}${sep}${value}`
  return /^~(?:[/\\]|$)/.test(value) ? [below, join(homedir(), value.slice(1))] : [below]
}

function within(path: string, folder: string): Known {
  if (!isAbsolute(folder)) return undefined
  const home = real(folder)
  const [walked, flat] = [real(path), real(resolve(path))]
  if (home === undefined || walked === undefined || flat === undefined) return undefined
  const [a, b] = [below(walked, home), below(flat, home)]
  return a === b ? a : undefined
}

/** Compares by name, and by what the file system says is the same folder however it is spelled. */
function below(path: string, folder: string): boolean {
  const rest = relative(folder, path)
  if (rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest))) return true
  const home = identityOf(folder)
  for (let at = path; home !== undefined; at = dirname(at)) {
    if (identityOf(at) === home) return true
    if (at === dirname(at)) return false
  }
  return false
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

/** The path without `..` and links, taken step by step as a system does; steps that do not exist stay as written. */
function real(path: string): string | undefined {
  const { root } = parse(path)
  const todo = path.slice(root.length).split(separator).reverse()
  let at = root
  for (let steps = 0; todo.length > 0; steps += 1) {
    if (steps > maxSteps) return undefined
    const name = todo.pop()
    if (name === undefined || name === '' || name === '.') continue
    if (name === '..') {
      at = dirname(at)
      continue
    }
    const next = join(at, name)
    try {
      if (lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() !== true) {
        at = next
        continue
      }
      const target = readlinkSync(next)
      todo.push(...target.split(separator).reverse())
      if (isAbsolute(target)) at = parse(target).root
    } catch {
      return undefined
    }
  }
  return at
}
