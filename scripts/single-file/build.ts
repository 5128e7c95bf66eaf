import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { dependenciesOf } from '../dependencies.ts'
import { packAll, readManifest } from '../fresh-project.ts'
import { root, run } from '../run.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const limitMs = 240_000
/** The mark in Node's executable that postject changes: a copy without it is Node itself again. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
/** What runs; types, source maps and documents do not. */
const keptExtensions = new Set(['.js', '.cjs', '.mjs', '.json', '.wasm'])

if (process.platform !== 'linux') {
  console.error(
    'The single file is built on Linux only: on other systems its copy of Node would have to be signed again.',
  )
  process.exit(2)
}
if (!existsSync(join(here, 'node_modules/postject'))) {
  await must(['npm', 'ci', '--prefix', here, '--no-audit', '--no-fund'])
}

const desk = mkdtempSync(join(tmpdir(), 'jackfield-single-file-'))
try {
  const staged = join(desk, 'app')
  await stage(staged)
  const { version } = readManifest(join(root, 'packages/app'))
  const archive = archiveOf(staged)
  const id = `${version}-${createHash('sha256').update(archive).digest('hex').slice(0, 16)}`
  const to = join(root, 'results', 'single-file', `jackfield-${process.platform}-${process.arch}`)
  mkdirSync(join(to, '..'), { recursive: true })
  await write(to, archive, id)
  console.log(
    `${to}: ${(statSync(to).size / 1e6).toFixed(0)} MB, Node ${process.versions.node}, jackfield ${id}`,
  )
} finally {
  rmSync(desk, { recursive: true, force: true })
}

/** Lays out the command as npm would install it, with only what runs. */
async function stage(to: string): Promise<void> {
  const tarballs = join(desk, 'tarballs')
  mkdirSync(tarballs)
  const packed = await packAll(tarballs)
  const needed = dependenciesOf(['packages/app'])
  const ours = new Set(['jackfield'])
  for (const [path, { link }] of needed) {
    if (link === true) ours.add(path.replace(/^node_modules\//, ''))
  }
  for (const { manifest, tarball } of packed.filter((one) => ours.has(one.manifest.name))) {
    const folder = join(desk, 'unpacked', manifest.name)
    mkdirSync(folder, { recursive: true })
    await must(['tar', '-xzf', tarball, '-C', folder, '--strip-components=1'])
    copy(folder, join(to, 'node_modules', manifest.name))
  }
  for (const [path, { link }] of needed) {
    // An optional dependency for another system is not installed.
    if (link === true || !existsSync(join(root, path))) continue
    copy(join(root, path), join(to, installedPath(path)))
  }
  cpSync(join(here, 'start.cjs'), join(to, 'start.cjs'))
}

/** Where a package lies once it is installed: those of a workspace package lie in its own node_modules. */
function installedPath(path: string): string {
  const [, folder = '', rest = ''] = /^((?:packages|servers)\/[^/]+)\/(.*)$/.exec(path) ?? []
  return folder === '' ? path : join('node_modules', readManifest(join(root, folder)).name, rest)
}

function copy(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    dereference: true,
    filter(file) {
      if (statSync(file).isDirectory()) return file === from || basename(file) !== 'node_modules'
      return keptExtensions.has(extname(file)) || /^(?:licen[cs]e|notice|copying)/i.test(basename(file))
    },
  })
}

/** All files in one text: a line of JSON with their paths and sizes, then their contents. */
function archiveOf(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const contents = files.map((file) => readFileSync(file))
  const index = files.map((file, at) => [file.slice(folder.length + 1), contents[at]?.length ?? 0])
  return gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...contents]), { level: 9 })
}

/** Writes a copy of the Node that runs this, with the launcher and the archive in it. */
async function write(to: string, archive: Buffer, id: string): Promise<void> {
  writeFileSync(join(desk, 'archive'), archive)
  writeFileSync(join(desk, 'id'), id)
  const config = {
    main: join(here, 'launcher.cjs'),
    output: join(desk, 'blob'),
    disableExperimentalSEAWarning: true,
    assets: { archive: join(desk, 'archive'), id: join(desk, 'id') },
  }
  writeFileSync(join(desk, 'sea.json'), JSON.stringify(config))
  await must([process.execPath, '--experimental-sea-config', join(desk, 'sea.json')])
  rmSync(to, { force: true })
  cpSync(process.execPath, to, { dereference: true })
  chmodSync(to, 0o755)
  const postject = join(here, 'node_modules/postject/dist/cli.js')
  await must(['node', postject, to, 'NODE_SEA_BLOB', join(desk, 'blob'), '--sentinel-fuse', fuse])
}

async function must(command: string[]): Promise<void> {
  const { code, output } = await run(command, { limitMs })
  if (code !== 0)
    throw new Error(`${command.slice(0, 2).join(' ')} failed with exit code ${code}:\n${output}`)
}
