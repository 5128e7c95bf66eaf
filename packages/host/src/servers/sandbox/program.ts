import { open, readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { exists, findProgram, isFile, isWithin } from '../../shared/files.ts'
import { systemFolders } from './mounts.ts'

const maxShebangBytes = 200
const manifests = ['package.json', 'pyproject.toml', 'deno.json', 'deno.jsonc', 'Cargo.toml', 'go.mod']
/** Programs whose first non-option argument is the actual program. */
const interpreters = /^(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby|perl|php|bash|sh)$/
const subcommands = ['run']

/**
 * The files and folders of a program, besides those of the system: its installation, its interpreter, and the interpreted script.
 * Never the home folder or a parent of it.
 */
export async function programFolders(
  program: string,
  args: readonly string[],
  context: { path: string; cwd: string; home: string },
): Promise<string[]> {
  const { path, cwd, home } = context
  const wanted = await installationFolders(program, home)
  const interpreter = await interpreterOf(program)
  if (interpreter !== undefined) {
    const interpreterFile = await findProgram(interpreter, { path, cwd })
    if (interpreterFile !== undefined) wanted.push(...(await installationFolders(interpreterFile, home)))
  }
  if (interpreters.test(basename(program))) {
    const script = args.find((arg) => !arg.startsWith('-') && !subcommands.includes(arg))
    const file = script === undefined ? undefined : resolve(cwd, script)
    if (file !== undefined && (await isFile(file))) wanted.push(...(await installationFolders(file, home)))
  }
  return [...new Set(wanted)]
}

/** Whether a folder is too broad to be opened only because it contains a program. */
export function isTooBroad(folder: string, home: string): boolean {
  return folder.split(sep).filter(Boolean).length < 2 || isWithin(home, folder) || folder === '/var/tmp'
}

async function installationFolders(file: string, home: string): Promise<string[]> {
  const names = new Set([file, await realpath(file).catch(() => file)])
  const folders = await Promise.all([...names].map((name) => foldersOfInstallation(name, home)))
  return folders.flat()
}

async function foldersOfInstallation(file: string, home: string): Promise<string[]> {
  if (systemFolders.some((folder) => isWithin(file, folder))) return []
  const parts = file.split(sep)
  const modules = parts.indexOf('node_modules')
  if (modules !== -1) return [parts.slice(0, modules + 1).join(sep)]
  const folder = dirname(file)
  if (basename(folder) === 'bin') return foldersOfBin(folder, home)
  for (let parent = folder; !isTooBroad(parent, home); parent = dirname(parent)) {
    if (await containsAny(parent, manifests)) {
      return [parent, ...(await modulesAbove(parent)), ...(await linkedDependencies(parent, home))]
    }
  }
  return [isTooBroad(folder, home) ? file : folder, ...(await modulesAbove(folder))]
}

/** The folders that belong to a `bin` folder: its libraries, and all of a virtual environment. */
async function foldersOfBin(bin: string, home: string): Promise<string[]> {
  const parent = dirname(bin)
  if (isTooBroad(parent, home)) return [bin]
  if (await exists(join(parent, 'pyvenv.cfg'))) return [parent]
  const lib = join(parent, 'lib')
  return (await exists(lib)) ? [bin, lib] : [bin]
}

async function modulesAbove(folder: string): Promise<string[]> {
  const folders: string[] = []
  for (let parent = folder; parent !== dirname(parent); parent = dirname(parent)) {
    const modules = join(parent, 'node_modules')
    if (await exists(modules)) folders.push(modules)
  }
  return folders
}

/**
 * Dependency folders that are links out of `node_modules` within the same project, as in workspaces, and those of their
 * dependencies. Links out of the project are not followed: a project could open any folder with one.
 */
async function linkedDependencies(
  folder: string,
  home: string,
  found: Set<string> = new Set(),
): Promise<string[]> {
  const modules = await modulesAbove(folder)
  for (const name of await dependenciesOf(folder)) {
    const links = await Promise.all(
      modules.map(async (at) => ({ at, real: await realpath(join(at, name)).catch(() => undefined) })),
    )
    // Resolved as in Node: the nearest folder that contains it.
    const nearest = links.find(({ real }) => real !== undefined)
    if (nearest?.real === undefined || found.has(nearest.real)) continue
    const { at, real } = nearest
    const project = await realpath(dirname(at))
    if (modules.some((one) => isWithin(real, one)) || !isWithin(real, project)) continue
    if (real === project || isTooBroad(real, home) || !(await exists(join(real, 'package.json')))) continue
    found.add(real)
    await linkedDependencies(real, home, found)
  }
  return [...found]
}

/** The names of the dependencies in a `package.json`; none if it cannot be read. */
async function dependenciesOf(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '')
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch {
    return []
  }
  return ['dependencies', 'optionalDependencies', 'peerDependencies']
    .flatMap((key) => Object.keys(Object(Object(manifest)[key])))
    .filter((name) => packageName.test(name))
}

const packageName = /^(?:@[a-z\d~-][\w.~-]*\/)?[a-z\d~-][\w.~-]*$/i

async function containsAny(folder: string, names: readonly string[]): Promise<boolean> {
  const exist = await Promise.all(names.map((name) => exists(join(folder, name))))
  return exist.includes(true)
}

/** The interpreter in a script's first line: a path, or a name if it uses `env`. */
async function interpreterOf(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r').catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxShebangBytes), 0, maxShebangBytes, 0)
    const line = /^#!([^\n]*)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
    const [first, ...rest] = line?.trim().split(/\s+/) ?? []
    return first?.endsWith('/env') === true ? rest.find((word) => !word.startsWith('-')) : first
  } finally {
    await handle.close()
  }
}
