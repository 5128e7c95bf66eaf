import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { basename, dirname, join } from 'node:path'
import { readManifest, type Tarball } from './fresh-project.ts'
import { root } from './run.ts'

/** A package that the registry serves in one version: a tarball, or the folder it is installed in. */
interface Served {
  version: string
  manifest: object
  tarball?: string
  folder?: string
}

/**
 * A package registry on 127.0.0.1 for installation tests without a network: the workspace's own packages as they would be
 * published, and everything else as the workspace has it installed.
 */
export class LocalRegistry {
  readonly url: string
  readonly close: () => Promise<void>

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.close = close
  }

  /** @param packed the workspace's packages */
  static async start(packed: readonly Tarball[]): Promise<LocalRegistry> {
    const packages = installedPackages()
    for (const { manifest, tarball } of packed) {
      packages.set(manifest.name, [{ version: manifest.version, manifest, tarball }])
    }
    const server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '/', 'http://127.0.0.1').pathname).slice(1)
      const [name = '', version] = path.split('/-/')
      const found = packages.get(name)
      if (request.method !== 'GET' || found === undefined) {
        response.writeHead(404).end('{"error":"not found"}')
      } else if (version === undefined) {
        response.setHeader('Content-Type', 'application/json')
        response.end(JSON.stringify(document(name, found, `http://${request.headers.host}`)))
      } else {
        sendTarball(found, version, response)
      }
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    return new LocalRegistry(`http://127.0.0.1:${port}/`, () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    })
  }
}

/** Every package that the lock file names and that is installed here. */
function installedPackages(): Map<string, Served[]> {
  const { packages }: { packages: Record<string, { version?: string; link?: boolean }> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const found = new Map<string, Served[]>()
  for (const [path, { version, link }] of Object.entries(packages)) {
    const folder = join(root, path)
    if (!path.includes('node_modules/') || link === true || version === undefined) continue
    if (!existsSync(join(folder, 'package.json'))) continue
    const manifest = readManifest(folder)
    // An alias, such as a second version of TypeScript, is served under its own name.
    const all = found.get(manifest.name) ?? []
    if (all.every((one) => one.version !== version)) all.push({ version, manifest, folder })
    found.set(manifest.name, all)
  }
  return found
}

/** A registry's metadata of a package. */
function document(name: string, served: readonly Served[], origin: string): object {
  const newest = served.reduce((a, b) =>
    a.version.localeCompare(b.version, 'en', { numeric: true }) > 0 ? a : b,
  )
  const versions = served.map(({ version, manifest, tarball }) => {
    const dist = {
      tarball: `${origin}/${name}/-/${version}.tgz`,
      ...(tarball === undefined ? {} : { integrity: integrityOf(tarball) }),
    }
    return [version, { ...manifest, version, scripts: {}, devDependencies: {}, dist }]
  })
  return { name, 'dist-tags': { latest: newest.version }, versions: Object.fromEntries(versions) }
}

function integrityOf(file: string): string {
  return `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
}

function sendTarball(served: readonly Served[], file: string, response: ServerResponse): void {
  const one = served.find(({ version }) => `${version}.tgz` === file)
  if (one?.tarball !== undefined) {
    createReadStream(one.tarball).pipe(response)
  } else if (one?.folder !== undefined) {
    // npm takes away the first part of every path, whatever it is called.
    const name = basename(one.folder)
    const args = ['-cf', '-', '--exclude', `${name}/node_modules`, '-C', dirname(one.folder), name]
    spawn('tar', args, { stdio: ['ignore', 'pipe', 'ignore'] }).stdout.pipe(response)
  } else {
    response.writeHead(404).end()
  }
}
