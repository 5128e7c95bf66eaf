import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root, run } from './run.ts'

/** The members of a package.json that these scripts read. */
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
  peerDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
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
    const tarballs = await packAll(this.folder)
    for (const { manifest, tarball } of tarballs) {
      const folder = join(this.folder, 'node_modules', manifest.name)
      mkdirSync(folder, { recursive: true })
      await must(['tar', '-xzf', tarball, '-C', folder, '--strip-components=1'])
      this.packed.push({ manifest, tarball, folder })
    }
    for (const { manifest, source } of tarballs) {
      for (const name of Object.keys(manifest.dependencies ?? {})) {
        const nested = join(source, 'node_modules', name)
        this.link(name, existsSync(nested) ? nested : undefined)
      }
    }
  }
}

/** A tarball of a workspace package. */
export interface Tarball {
  manifest: Manifest
  tarball: string
  /** The package's folder in the workspace. */
  source: string
}

/** The folders of the packages that are published, from the root of the repository. */
export function publishedFolders(): string[] {
  const folders = readManifest(root).workspaces?.flatMap((glob) => globSync(glob, { cwd: root })) ?? []
  return folders.filter((folder) => readManifest(join(root, folder)).private !== true)
}

/** Packs every publishable package, as it was built, into a folder. */
export async function packAll(to: string): Promise<Tarball[]> {
  const folders = publishedFolders()
  await must([
    'npm',
    'pack',
    '--ignore-scripts',
    '--pack-destination',
    to,
    ...folders.map((folder) => `./${folder}`),
  ])
  return folders.map((folder) => {
    const source = join(root, folder)
    const manifest = readManifest(source)
    const tarball = join(to, `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`)
    if (!existsSync(tarball)) throw new Error(`npm pack wrote no tarball for ${manifest.name}`)
    return { manifest, tarball, source }
  })
}

/** The package.json in a folder. */
export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

async function must(command: string[]): Promise<void> {
  const { code, output } = await run(command, { limitMs })
  if (code !== 0) throw new Error(`${command.join(' ')} failed with exit code ${code}\n${output}`)
}
