import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { root, run } from './run.ts'

interface Manifest {
  name: string
  version: string
  private?: boolean
  workspaces?: string[]
  bin?: Record<string, string>
  exports?: Record<string, { types?: string; default?: string } | string>
}

/** What a workspace package looks like to somebody who installed it: its tarball, checked and unpacked. */
interface Packed {
  manifest: Manifest
  tarball: string
  folder: string
}

// Inside node_modules, so that unpacked packages find the dependencies the workspace installed.
const shelf = join(root, 'node_modules', '.cache', 'jackfield-packages')
const limitMs = 60_000

const faults: string[] = []
rmSync(shelf, { recursive: true, force: true })
mkdirSync(join(shelf, 'node_modules'), { recursive: true })

const packed: Packed[] = []
for (const folder of readManifest(root).workspaces?.flatMap((glob) => globSync(glob, { cwd: root })) ?? []) {
  const manifest = readManifest(join(root, folder))
  if (manifest.private !== true) packed.push(await pack(manifest, folder))
}
for (const one of packed) {
  const known = faults.length
  await checkManifest(one)
  checkFiles(one)
  if (faults.length > known) continue
  await checkTypes(one)
  await checkImports(one)
}
rmSync(shelf, { recursive: true, force: true })

for (const fault of faults) console.log(fault)
if (faults.length > 0) process.exit(1)
console.log(`${packed.length} packages: ${packed.map(({ manifest }) => manifest.name).join(', ')}`)

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

async function pack(manifest: Manifest, folder: string): Promise<Packed> {
  const before = new Set(readdirSync(shelf))
  await must(['npm', 'pack', '--ignore-scripts', '--pack-destination', shelf, `./${folder}`])
  const file = readdirSync(shelf).find((name) => name.endsWith('.tgz') && !before.has(name))
  if (file === undefined) throw new Error(`npm pack wrote no tarball for ${manifest.name}`)
  const tarball = join(shelf, file)
  const unpacked = join(shelf, 'node_modules', manifest.name)
  mkdirSync(unpacked, { recursive: true })
  await must(['tar', '-xzf', tarball, '-C', unpacked, '--strip-components=1'])
  return { manifest, tarball, folder: unpacked }
}

/** Whether package.json says what is there, and says it in the right order. */
async function checkManifest({ manifest, tarball }: Packed): Promise<void> {
  const bytes = readFileSync(tarball)
  const { messages } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    level: 'suggestion',
    strict: true,
  })
  for (const message of messages) {
    faults.push(
      `${manifest.name}: ${message.type}: ${formatMessage(message, { ...manifest }, { color: false })}`,
    )
  }
}

/** Whether TypeScript finds the right types for every way in. */
async function checkTypes({ manifest, tarball }: Packed): Promise<void> {
  const typed = Object.values(manifest.exports ?? {}).some((to) => typeof to === 'object' && to.types)
  if (!typed) return
  const command = ['attw', tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-color', '--no-emoji']
  const { code, output } = await run(command, { limitMs })
  if (code !== 0) faults.push(`${manifest.name}: types are wrong for some way of importing it\n${output}`)
}

/** Whether the tarball holds what runs, and nothing that only this repository needs. */
function checkFiles({ manifest, folder }: Packed): void {
  const files = globSync('**/*', { cwd: folder })
  const stray = files.filter((file) => /(^|\/)(test|node_modules)(\/|$)|\.test\.|\.tsbuildinfo$/.test(file))
  if (stray.length > 0)
    faults.push(`${manifest.name}: these files should not be published: ${stray.join(', ')}`)
  for (const path of Object.values(manifest.bin ?? {})) {
    const text = files.includes(path.replace(/^\.\//, ''))
      ? readFileSync(join(folder, path), 'utf8')
      : undefined
    if (text === undefined) faults.push(`${manifest.name}: the command ${path} is not in the tarball`)
    else if (!text.startsWith('#!/usr/bin/env node')) {
      faults.push(`${manifest.name}: the command ${path} does not begin with #!/usr/bin/env node`)
    }
  }
}

/** Whether every way in can be imported from the published files. */
async function checkImports({ manifest }: Packed): Promise<void> {
  const ways = Object.entries(manifest.exports ?? {}).flatMap(([path, to]) =>
    typeof to === 'object' ? [path.replace(/^\./, manifest.name)] : [],
  )
  for (const way of ways) {
    const source = `await import(${JSON.stringify(way)})`
    const command = ['node', '--input-type=module', '--eval', source]
    const { code, output } = await run(command, { limitMs, cwd: shelf })
    if (code !== 0)
      faults.push(`${manifest.name}: import of ${way} fails from the tarball: ${reason(output)}`)
  }
}

function reason(output: string): string {
  return /^\w*Error.*$/m.exec(output)?.[0] ?? output
}

async function must(command: string[]): Promise<void> {
  const { code, output } = await run(command, { limitMs })
  if (code !== 0) throw new Error(`${command.join(' ')} failed with exit code ${code}\n${output}`)
}
