import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { FreshProject, type Packed, readManifest } from './fresh-project.ts'
import { type Finished, root, run } from './run.ts'

const limitMs = 120_000
/** Characters of the longest line of published JavaScript: Node prints the source line of an uncaught error. */
const maxLineCharacters = 2_000
/** Characters that an uncaught error may print: its message, its stack and its causes. */
const maxErrorCharacters = 8_000
/**
 * The compilers that must accept the published types: the oldest that is supported, some between, and the workspace's. All
 * bring a `tsc`; the `postinstall` of the workspace makes the command that of `typescript` again.
 */
const compilers = ['typescript-5.4', 'typescript-5.6', 'typescript-5.9', 'typescript']

/** Programs that end with an uncaught error of a package, with a part of the message that must be readable. */
const uncaught: Readonly<Record<string, readonly [program: string, message: string]>> = {
  'a wrong definition': [
    `import { defineServer } from '@jackfield/sdk'
     defineServer({ name: 'one', version: '1', tools: { wrong: {} } })`,
    'McpError: "wrong"',
  ],
  'a server that cannot be reached': [
    `import { connect } from '@jackfield/sdk/client'
     await connect('http://127.0.0.1:1/mcp')`,
    'McpError: ',
  ],
  'a server that ends at its start': [
    `import { connect } from '@jackfield/sdk/client'
     import { stdio } from '@jackfield/sdk/client/stdio'
     await connect(stdio({ command: process.execPath, args: ['-e', 'throw new TypeError("no key")'] }))`,
    'TypeError: no key',
  ],
  'a wrong configuration': [
    `import { parseConfig } from '@jackfield/host'
     parseConfig('no')`,
    'ConfigError: ',
  ],
}

/** Peers that an entry needs, and that its users install with it. */
const peers = ['@opentelemetry/api', 'ai']

const faults: string[] = []
const project = await FreshProject.create()
try {
  for (const peer of peers) project.link(peer)
  for (const one of project.packed) {
    await checkManifest(one)
    checkFiles(one)
    checkReadme(one)
    checkJavaScript(one)
  }
  // Side by side: each mostly waits for one process after another.
  await Promise.all([checkTypes(), checkResolutions(), checkRuns()])
} finally {
  project.remove()
}

for (const fault of faults) console.log(fault)
if (faults.length > 0) process.exit(1)
console.log(
  `${project.packed.length} packages: ${project.packed.map(({ manifest }) => manifest.name).join(', ')}`,
)

/** Whether package.json matches the package, in the right order, with everything that a registry page shows. */
async function checkManifest({ manifest, tarball }: Packed): Promise<void> {
  const bytes = readFileSync(tarball)
  const { messages } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    level: 'suggestion',
    strict: true,
  })
  for (const message of messages) {
    const text = formatMessage(message, { ...manifest }, { color: false })
    faults.push(`${manifest.name}: ${message.type}: ${text}`)
  }
  const { name, repository, homepage, bugs, keywords, dependencies = {} } = manifest
  const missing = [
    repository?.url === undefined || repository.directory === undefined ? 'repository' : [],
    homepage === undefined ? 'homepage' : [],
    bugs?.url === undefined ? 'bugs' : [],
    keywords === undefined || keywords.length === 0 ? 'keywords' : [],
  ].flat()
  if (missing.length > 0) faults.push(`${name}: package.json lacks ${missing.join(', ')}`)
  for (const [dependency, range] of Object.entries(dependencies)) {
    // The packages of this repository are released together, and some use each other's internal entries.
    if (!/^\^\d/.test(range) && !dependency.startsWith('@jackfield/')) {
      faults.push(
        `${name}: the range of ${dependency} is "${range}": write ^${range}, so that users share one copy`,
      )
    }
  }
}

/** Whether the tarball contains the built files, the license, and nothing that only this repository needs. */
function checkFiles({ manifest, folder }: Packed): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) =>
    file.replaceAll('\\', '/'),
  )
  const stray = files.filter(
    (file) =>
      /(^|\/)(test|node_modules)(\/|$)|\.test\.|\.tsbuildinfo$|\.draft-/.test(file) &&
      // Templates have tests of their own.
      !/^templates\/(?!.*node_modules)/.test(file),
  )
  if (stray.length > 0)
    faults.push(`${manifest.name}: these files should not be published: ${stray.join(', ')}`)
  const license = files.includes('LICENSE') ? readFileSync(join(folder, 'LICENSE'), 'utf8') : undefined
  if (license !== readFileSync(join(root, 'LICENSE'), 'utf8')) {
    faults.push(`${manifest.name}: LICENSE is missing or differs from that of the repository`)
  }
  for (const path of Object.values(manifest.bin ?? {})) {
    const file = join(folder, path)
    if (!existsSync(file)) faults.push(`${manifest.name}: the command ${path} is not in the tarball`)
    else if (!readFileSync(file, 'utf8').startsWith('#!/usr/bin/env node')) {
      faults.push(`${manifest.name}: the command ${path} does not begin with #!/usr/bin/env node`)
    }
  }
}

/** Whether the README is there, and its links lead somewhere from a registry's page. */
function checkReadme({ manifest, folder }: Packed): void {
  const file = join(folder, 'README.md')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (text === '') faults.push(`${manifest.name}: README.md is missing`)
  const links = [...text.matchAll(/\]\(([^)\s]+)/g)].map(([, to = '']) => to)
  const relative = links.filter((to) => !/^(https:|#)/.test(to))
  if (relative.length > 0) {
    faults.push(
      `${manifest.name}: links of README.md that work only in the repository: ${relative.join(', ')}`,
    )
  }
  // A link into the repository must name a file that is there.
  const repository = readManifest(root).homepage ?? ''
  for (const to of links.filter((link) => link.startsWith(repository))) {
    const path = to
      .slice(repository.length)
      .replace(/^\/(blob|tree)\/main\//, '')
      .replace(/#.*$/, '')
    if (!existsSync(join(root, path)))
      faults.push(`${manifest.name}: README.md links ${path}, which does not exist`)
  }
}

/** Whether the JavaScript can be read where an error shows it, and its maps lead to sources in the tarball. */
function checkJavaScript({ manifest, folder }: Packed): void {
  const files = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })
  // The page in `dist/app` is read by browsers, whose developer tools format what is minified.
  for (const file of files.filter((name) => name.endsWith('.js') && !/^app[\\/]/.test(name))) {
    const path = join(folder, 'dist', file)
    const lines = readFileSync(path, 'utf8').split('\n')
    const longest = Math.max(...lines.map(({ length }) => length))
    if (longest > maxLineCharacters)
      faults.push(`${manifest.name}: a line of dist/${file} has ${longest} characters`)
    // The bundler's own helper has no source of ours.
    if (file.includes('rolldown-runtime')) continue
    const map = /^\/\/# sourceMappingURL=(.*)$/m.exec(lines.slice(-3).join('\n'))?.[1]
    // A chunk that only hands on exports has nothing to map.
    if (map === undefined && lines.every((line) => /^((import|export)\b.*)?$/.test(line))) continue
    if (map === undefined || !existsSync(join(dirname(path), map))) {
      faults.push(`${manifest.name}: dist/${file} has no source map`)
      continue
    }
    const { sources }: { sources: string[] } = JSON.parse(readFileSync(join(dirname(path), map), 'utf8'))
    const lost = sources.filter((source) => !existsSync(join(dirname(path), source)))
    if (lost.length > 0 || sources.length === 0) {
      faults.push(`${manifest.name}: dist/${map} names sources that are not there: ${lost.join(', ')}`)
    }
  }
}

async function checkResolutions(): Promise<void> {
  for (const one of project.packed) await checkResolution(one)
}

/** Whether TypeScript finds the right types for every entry. */
async function checkResolution({ manifest, tarball }: Packed): Promise<void> {
  const typed = Object.values(manifest.exports ?? {}).some((to) => typeof to === 'object' && to.types)
  if (!typed) return
  const command = ['attw', tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-color', '--no-emoji']
  const { code, output } = await run(command, { limitMs })
  if (code !== 0) faults.push(`${manifest.name}: types are wrong for some way of importing it\n${output}`)
}

/** Whether what was published runs. */
async function checkRuns(): Promise<void> {
  await checkImports()
  await checkRequire()
  await checkUncaught()
  await checkCommand()
  await checkWeb()
}

/** Whether every entry can be imported from the published files. */
async function checkImports(): Promise<void> {
  const entries = project.packed.flatMap(({ manifest }) => entriesOf(manifest))
  const source = `for (const entry of ${JSON.stringify(entries)}) {
    await import(entry).catch((error) => console.log(entry + ': ' + error))
  }`
  const { code, output } = await runModule(source)
  if (code !== 0 || output !== '') faults.push(`Imports from the tarballs fail:\n${output}`)
}

/**
 * Whether `require()` takes every entry on each Node that is here and that "engines" allows, and whether "engines" leaves
 * out the versions of Node that cannot `require()` an ES module: those before 20.19, and 22.0 to 22.11.
 */
async function checkRequire(): Promise<void> {
  for (const { manifest } of project.packed) {
    const range = manifest.engines?.node ?? ''
    if (range !== '^20.19.0 || >=22.12.0' && !/^>=22\.1[2-9]/.test(range)) {
      faults.push(
        `${manifest.name}: "engines" allows versions of Node without require() of ES modules: "${range}"`,
      )
    }
  }
  for (const node of await nodesHere()) {
    const fits = ({ manifest }: Packed): boolean =>
      node.major >= 22 || manifest.engines?.node?.startsWith('^20') === true
    const entries = project.packed.filter(fits).flatMap(({ manifest }) => entriesOf(manifest))
    const source = `for (const entry of ${JSON.stringify(entries)}) {
      try {
        if (Object.keys(require(entry)).length === 0) throw new Error('it exports nothing')
      } catch (error) {
        if (entry.endsWith('/sqlite') && error.code === 'ERR_UNKNOWN_BUILTIN_MODULE') continue
        console.log(entry + ': ' + error)
      }
    }`
    const file = join(project.folder, 'require.cjs')
    writeFileSync(file, source)
    const { code, output } = await run([node.path, file], { limitMs, cwd: project.folder })
    if (code !== 0 || output !== '') faults.push(`require() fails on Node ${node.version}:\n${output}`)
  }
}

/** The versions of Node on this machine's PATH that some package supports, each once. */
async function nodesHere(): Promise<{ path: string; version: string; major: number }[]> {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = new Map<string, { path: string; version: string; major: number }>()
  for (const path of [process.execPath, ...folders.map((folder) => join(folder, name)).filter(existsSync)]) {
    const { code, output } = await run([path, '--version'], { limitMs })
    const [, version = '', major = 0, minor = 0] = /^v((\d+)\.(\d+)\.\d+)/.exec(output) ?? []
    const supported =
      (Number(major) === 20 && Number(minor) >= 19) || (Number(major) === 22 && Number(minor) >= 13)
    if (code === 0 && (supported || Number(major) >= 24))
      found.set(version, { path, version, major: Number(major) })
  }
  return [...found.values()]
}

/**
 * Whether every supported compiler accepts the declarations themselves (`skipLibCheck` off): first the entries without
 * a type of Node, in a project without `@types/node`, then all of them.
 */
async function checkTypes(): Promise<void> {
  const typed = project.packed
    .filter(hasOwnTypes)
    .flatMap(({ manifest, folder }) =>
      Object.entries(manifest.exports ?? {}).flatMap(([path, to]) =>
        typeof to === 'object' && to.types !== undefined
          ? [{ entry: path.replace(/^\./, manifest.name), file: join(folder, to.types) }]
          : [],
      ),
    )
  const portable = typed.filter(({ file }) => !needsNode(file, new Set()))
  if (portable.length < 10)
    faults.push(`Only ${portable.length} entries have declarations without types of Node`)
  await compile(
    'portable',
    portable.map(({ entry }) => entry),
    [],
  )
  project.link('@types/node')
  await compile(
    'all',
    typed.map(({ entry }) => entry),
    ['node'],
  )
}

/** Whether the declarations of a package are all ours: those of the AI SDK need a newer compiler than ours. */
function hasOwnTypes({ manifest }: Packed): boolean {
  return manifest.peerDependencies?.['ai'] === undefined
}

/** Whether a declaration file, or one that it imports, names a module of Node. */
function needsNode(file: string, seen: Set<string>): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const imported = [...text.matchAll(/(?:from|import\()\s*['"]([^'"]+)['"]/g)].map(([, name = '']) => name)
  return imported.some((name) => {
    if (name.startsWith('node:')) return true
    if (name.startsWith('.')) return needsNode(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')), seen)
    const owner = project.packed.find(
      ({ manifest }) => name === manifest.name || name.startsWith(`${manifest.name}/`),
    )
    const to = owner?.manifest.exports?.[name.replace(owner.manifest.name, '.')]
    return (
      typeof to === 'object' && to.types !== undefined && needsNode(join(owner?.folder ?? '', to.types), seen)
    )
  })
}

async function compile(title: string, entries: readonly string[], types: readonly string[]): Promise<void> {
  const folder = join(project.folder, title)
  mkdirSync(folder)
  const source = entries.map((entry, at) => `export * as entry${at} from '${entry}'\n`).join('')
  writeFileSync(join(folder, 'entries.ts'), source)
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    preserveSymlinks: true,
    types,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['entries.ts'] }))
  for (const compiler of compilers) {
    const tsc = join(root, 'node_modules', compiler, 'bin', 'tsc')
    const { code, output } = await run(['node', tsc, '-p', folder], { limitMs, cwd: folder })
    const { version } = readManifest(join(root, 'node_modules', compiler))
    const lines = output.trim().split('\n')
    const first = lines.slice(0, 12).join('\n')
    if (code !== 0) {
      faults.push(
        `TypeScript ${version} refuses the declarations (${title}, ${lines.length} lines):\n${first}`,
      )
    }
  }
}

/** Whether an error that nothing catches prints its message, and no page of source. */
async function checkUncaught(): Promise<void> {
  for (const [title, [program, message]] of Object.entries(uncaught)) {
    const file = join(project.folder, 'uncaught.mjs')
    writeFileSync(file, program)
    const { code, output } = await run(['node', file], { limitMs, cwd: project.folder })
    if (code === 0 || !output.includes(message)) {
      faults.push(`Uncaught, ${title}: does not print "${message}":\n${output.slice(0, 1_000)}`)
    }
    if (output.length > maxErrorCharacters)
      faults.push(`Uncaught, ${title}: prints ${output.length} characters`)
  }
}

/** Whether the installed command runs, and reports a mistake of its user without a stack. */
async function checkCommand(): Promise<void> {
  const jackfield = join(project.folder, 'node_modules', 'jackfield', 'bin', 'jackfield.js')
  const tries: readonly [words: string[], code: number, says: string][] = [
    [['--version'], 0, readManifest(join(root, 'packages', 'app')).version],
    [['tolls'], 2, 'tolls'],
    [['tools', 'no-such-server'], 2, 'no-such-server'],
    [['tools', '--', 'no-such-program-xyz'], 3, 'no-such-program-xyz'],
    [['tools', 'http://127.0.0.1:1/mcp'], 3, '127.0.0.1:1'],
    [['tools', '--', process.execPath, '-e', 'throw new TypeError("no key")'], 3, 'TypeError: no key'],
    [['start'], 0, 'To add them: npm install @modelcontextprotocol/server-filesystem'],
    [['start'], 0, 'holds the booking'],
  ]
  for (const [words, expected, message] of tries) {
    const env = { HOME: project.folder, XDG_DATA_HOME: '', XDG_CONFIG_HOME: '', JACKFIELD_DAEMON: 'off' }
    const { code, output } = await run(['node', jackfield, ...words], { limitMs, cwd: project.folder, env })
    const shown = `jackfield ${words.join(' ')}`
    if (code !== expected)
      faults.push(`${shown}: exit code ${code} instead of ${expected}:\n${output.slice(0, 1_000)}`)
    if (!output.includes(message))
      faults.push(`${shown}: does not name "${message}":\n${output.slice(0, 1_000)}`)
    if (/^\s+at .+:\d+/m.test(output)) faults.push(`${shown}: prints a stack:\n${output.slice(0, 1_000)}`)
  }
}

/** Whether the installed `jackfield web` prints its link, serves the page with its script, and ends with a signal. */
async function checkWeb(): Promise<void> {
  const jackfield = join(project.folder, 'node_modules', 'jackfield', 'bin', 'jackfield.js')
  const data = join(project.folder, 'data')
  const env = { ...process.env, HOME: project.folder, XDG_DATA_HOME: data, JACKFIELD_DAEMON: 'off' }
  const child = spawn(process.execPath, [jackfield, 'web', '--no-open', '--json'], {
    cwd: project.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let notes = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    notes += text
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const ended = once(child, 'close')
  try {
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
    const { url }: { url: string } = JSON.parse(String(line))
    if (!/^http:\/\/127\.0\.0\.1:\d+\/#k=[\w-]{22}$/.test(url)) faults.push(`jackfield web: prints ${line}`)
    const page = await (await fetch(url)).text()
    const [, script = 'no script'] = / src="(\/assets\/[^"]+)"/.exec(page) ?? []
    const { status } = await fetch(new URL(script, url))
    if (status !== 200) faults.push(`jackfield web: ${script} of the page gives status ${status}`)
  } catch (error) {
    faults.push(`jackfield web: ${error}\n${notes.slice(0, 1_000)}`)
  }
  child.kill('SIGINT')
  const [code] = await ended
  clearTimeout(timer)
  if (code !== 130) faults.push(`jackfield web: exit code ${code} after Ctrl+C`)
}

function runModule(source: string): Promise<Finished> {
  return run(['node', '--input-type=module', '--eval', source], { limitMs, cwd: project.folder })
}

function entriesOf({ name, exports = {} }: Packed['manifest']): string[] {
  return Object.entries(exports).flatMap(([path, to]) =>
    typeof to === 'object' ? [path.replace(/^\./, name)] : [],
  )
}
