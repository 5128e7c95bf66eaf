import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { ServerConfig } from '@jackfield/host'
import { CliError, ExitCode } from '../cli/exit.ts'

/** Paths of `jackfield start`. */
export interface StartFiles {
  store: string
  database: string
  folder: string
}

/** The files of `jackfield start`, in a separate folder. */
export function startFiles(home: string): StartFiles {
  return { store: join(home, 'host.db'), database: join(home, 'travel.db'), folder: join(home, 'sample') }
}

/** The server with this name as `jackfield start` runs it on a store; undefined for any other store or server. */
export async function serverOnStore(name: string, store: string): Promise<ServerConfig | undefined> {
  const home = dirname(store)
  const files = startFiles(home)
  if (basename(home) !== startFolder || store !== files.store) return undefined
  const { servers } = await bundledServers(files)
  return Object.hasOwn(servers, name) ? servers[name] : undefined
}

/** The folder of `jackfield start`, in the working folder. */
export const startFolder = '.jackfield'

/** The servers of `jackfield start`, and those that are not installed. */
export interface BundledServers {
  servers: Record<string, ServerConfig>
  /** Packages by server name. */
  missing: ReadonlyMap<string, string>
}

/**
 * Configurations of the servers of `jackfield start`: travel with a database, the file server with a folder, and the server with
 * every feature. The first is a dependency of this package, the others are used if installed.
 * @throws CliError if the travel server is not installed
 */
export async function bundledServers(options: { database: string; folder: string }): Promise<BundledServers> {
  const wanted: [name: string, entry: string, args: string[]][] = [
    ['travel', '@jackfield/server-travel', ['--db', options.database]],
    ['files', '@modelcontextprotocol/server-filesystem', [options.folder]],
    ['everything', '@modelcontextprotocol/server-everything', ['stdio']],
  ]
  const servers: Record<string, ServerConfig> = {}
  const missing = new Map<string, string>()
  for (const [name, entry, args] of wanted) {
    const program = await programOf(entry)
    if (program === undefined) missing.set(name, entry)
    else {
      const server = { command: process.execPath, args: [program, ...args] }
      // The file server gets its folder as an argument, and the other one writes no files.
      servers[name] = name === 'travel' ? server : { ...server, roots: false }
    }
  }
  const travel = missing.get('travel')
  if (travel !== undefined) {
    const why = `The travel server (${travel}), which comes with jackfield, is not installed. Install jackfield again.`
    throw new CliError(ExitCode.cannotConnect, why)
  }
  return { servers, missing }
}

/** The message about servers that are not installed; undefined if all are. */
export function missingServersNote(missing: ReadonlyMap<string, string>): string | undefined {
  if (missing.size === 0) return undefined
  const names = [...missing.keys()].join(', ')
  return `Not installed, so left out: ${names}. To add them: npm install ${[...missing.values()].join(' ')}`
}

/** The program of a package, if it is installed. */
async function programOf(name: string): Promise<string | undefined> {
  try {
    const file = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const manifest: { bin?: string | Record<string, string> } = JSON.parse(await readFile(file, 'utf8'))
    const [program] = typeof manifest.bin === 'string' ? [manifest.bin] : Object.values(manifest.bin ?? {})
    return program === undefined ? undefined : join(dirname(file), program)
  } catch {
    return undefined
  }
}

const samples: Readonly<Record<string, string>> = {
  'README.md': `# Sample folder

Jackfield opens this folder to servers, after asking you. Itineraries are saved here; the file server reads and
writes here. Nothing outside of it is open.
`,
  'packing-list.md': `# Packing list

- Passport, valid six months beyond the trip
- Swimwear and sun cream
- Light jacket for the evening
- Charger and adapter
`,
  'wishes.md': `# What I like when travelling

- Window seat, morning departure, one stop at most
- A room with sea view
- Beaches, architecture and food
`,
}

/** Creates the sample folder with a few files; existing files are kept. */
export async function createSampleFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(samples)) {
    await writeFile(join(folder, name), text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}
