import { constants } from 'node:fs'
import { access, opendir, realpath, stat } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Root } from '@jackfield/sdk'
import type { FolderPreview, OpenFolder, RootFinding } from '../../types/index.ts'
import { isMeant } from './glob.ts'

/** A folder before it is looked at. */
export type Given = Root & Pick<OpenFolder, 'from'>

/** What folders are judged by. */
export interface Surroundings {
  home: string
  excluded: readonly string[]
}

const mostEntries = 10_000
const shownNames = 8

/** Looks at folders as they are now. Those of the same place are told of once, by the first name. */
export async function lookAt(given: readonly Given[], around: Surroundings): Promise<OpenFolder[]> {
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
  if (pattern !== undefined) return refused('excluded', `it is left out by "${pattern}"`)
  if (real === undefined) return undefined
  const left = places.find(
    (other) => other.real !== undefined && isBelow(path, other.path) && !isIn(real, other.real),
  )
  if (left !== undefined)
    return refused('escape', `it stands in ${left.path}, but leads out of it to ${real}`)
  const same = earlier.find((other) => other.real === real)
  return same === undefined ? undefined : refused('duplicate', `it is the same folder as ${same.root.uri}`)
}

function remarksOn({ path, real }: Place, others: readonly Place[], homes: readonly string[]): RootFinding[] {
  if (real === undefined) return []
  const outer = others.find((other) => other.real !== undefined && isBelow(real, other.real))
  const found: (RootFinding | false | undefined)[] = [
    real !== path && { code: 'link', severity: 'note', message: `it leads to ${real}` },
    outer && { code: 'nested', severity: 'note', message: `it lies in ${outer.path}, which is open too` },
    real === dirname(real)
      ? { code: 'everything', severity: 'danger', message: 'it is everything on this machine' }
      : homes.some((home) => isIn(home, real)) && {
          code: 'home',
          severity: 'danger',
          message: homes.includes(real) ? 'it is your whole home folder' : 'your home folder lies in it',
        },
  ]
  return found.flatMap((finding) => finding || [])
}

/** Whether a server may be told of a folder now. */
export function isTold({ findings }: OpenFolder): boolean {
  return !findings.some(({ severity }) => severity === 'refused')
}

/** Whether a server may be told of a folder once it is there. */
export function isOffered({ findings }: OpenFolder): boolean {
  return findings.every(
    ({ code, severity }) => severity !== 'refused' || code === 'missing' || code === 'unreadable',
  )
}

/** What lies directly in a folder, in names and numbers, with what ought not to be shown around. */
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
      if (seen.folders + seen.files === mostEntries) {
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
        warn('keys', 'danger', `it holds keys (${name})`)
      if (/^\.env(?:\.|$)/.test(name) && !/\.(?:example|sample|template)$/.test(name))
        warn('environment', 'warning', `it holds settings that may be secret (${name})`)
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
    if (!(await stat(real)).isDirectory()) return refused('no-folder', 'it is a file and no folder')
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
