import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root, run } from './run.ts'

/** What a package.json says, as far as these scripts read it. */
export interface Manifest {
  name: string
  version: string
  private?: boolean
  type?: string
  license?: string
  repository?: { type?: string; url?: string; directory?: string }
  homepage?: string
  bugs?: { url?: string }
  keywords?: string[]
  workspaces?: string[]
  bin?: Record<string, string>
  exports?: Record<string, { types?: string; default?: string } | string>
  engines?: { node?: string }
  dependencies?: Record<string, string>
}

/** A workspace package as its users get it: its tarball, and the folder it is installed to. */
export interface Packed {
  manifest: Manifest
  tarball: string
  folder: string
}

const limitMs = 60_000

/**
 * A project outside the workspace with every publishable package installed from its tarball. Dependencies are links to
 * what the workspace installed, only those that some package declares, so one that none declares cannot be imported.
 */
export class FreshProject {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'jackfield-packages-'))
  readonly packed: Packed[] = []

  static async create(): Promise<FreshProject> {
    const project = new FreshProject()
    try {
      await project.#install()
      return project
    } catch (error) {
      project.remove()
      throw error
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Links another installed package, such as `@types/node`, with its dependencies. `from`: the folder it lies in. */
  link(name: string, from: string = join(root, 'node_modules', name)): void {
    const to = join(this.folder, 'node_modules', name)
    if (existsSync(to)) return
    mkdirSync(dirname(to), { recursive: true })
    symlinkSync(from, to, 'junction')
    for (const next of Object.keys(readManifest(from).dependencies ?? {})) {
      // One that is nested in its dependent comes along with the link.
      if (!existsSync(join(from, 'node_modules', next))) this.link(next)
    }
  }

  async #install(): Promise<void> {
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    const folders = readManifest(root).workspaces?.flatMap((glob) => globSync(glob, { cwd: root })) ?? []
    const publishable = folders.filter((folder) => readManifest(join(root, folder)).private !== true)
    for (const folder of publishable) this.packed.push(await this.#pack(folder))
    for (const folder of publishable) {
      for (const name of Object.keys(readManifest(join(root, folder)).dependencies ?? {})) {
        const nested = join(root, folder, 'node_modules', name)
        this.link(name, existsSync(nested) ? nested : undefined)
      }
    }
  }

  async #pack(folder: string): Promise<Packed> {
    const manifest = readManifest(join(root, folder))
    const before = new Set(readdirSync(this.folder))
    await must(['npm', 'pack', '--ignore-scripts', '--pack-destination', this.folder, `./${folder}`])
    const file = readdirSync(this.folder).find((name) => name.endsWith('.tgz') && !before.has(name))
    if (file === undefined) throw new Error(`npm pack wrote no tarball for ${manifest.name}`)
    const tarball = join(this.folder, file)
    const installed = join(this.folder, 'node_modules', manifest.name)
    mkdirSync(installed, { recursive: true })
    await must(['tar', '-xzf', tarball, '-C', installed, '--strip-components=1'])
    return { manifest, tarball, folder: installed }
  }
}

/** The package.json in a folder. */
export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

async function must(command: string[]): Promise<void> {
  const { code, output } = await run(command, { limitMs })
  if (code !== 0) throw new Error(`${command.join(' ')} failed with exit code ${code}\n${output}`)
}
