import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { dependenciesOf } from './dependencies.ts'
import { type Manifest, packAll, publishedFolders, readManifest, type Tarball } from './fresh-project.ts'
import { root, run } from './run.ts'

const help = `npm run release -- --dry-run   builds, checks and packs every package, and prints what would be published
npm run release                publishes, with provenance: only in CI with trusted publishing

With --dry-run only:
  --skip-build    uses the packages as they were built
  --skip-checks   packs without the checks of the packages
`

/** Kilobytes (1,000 bytes) of a tarball. Above one, find what was added; raise it only with the reason in the changeset. */
const maxTarballKb: Readonly<Record<string, number>> = {
  '@jackfield/host': 1_400,
  '@jackfield/sdk': 1_100,
  jackfield: 800,
  '@jackfield/compat': 250,
  // The page, with its texts in two languages and an editor for JSON.
  '@jackfield/web': 570,
  // With the offline planner of the command line.
  '@jackfield/server-travel': 250,
}
const maxOtherTarballKb = 200

/** Licenses of dependencies that allow distribution under Apache-2.0 without conditions beyond attribution. */
const acceptedLicenses = new Set([
  ...[
    'MIT',
    'MIT-0',
    'ISC',
    'Apache-2.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    '0BSD',
    'BlueOak-1.0.0',
    'CC0-1.0',
  ],
  ...['Unlicense', 'Python-2.0'],
])

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    'skip-build': { type: 'boolean' },
    'skip-checks': { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
if (values.help === true) {
  console.log(help.trimEnd())
  process.exit(0)
}
const isDryRun = values['dry-run'] === true
if ((values['skip-checks'] === true || values['skip-build'] === true) && !isDryRun) {
  console.error(
    '--skip-build and --skip-checks are for --dry-run only: what is published is built and checked.',
  )
  process.exit(2)
}

// What stops a release, but not a rehearsal: the state of the repository and of this machine.
const obstacles = await findObstacles()
if (!isDryRun && obstacles.length > 0) {
  console.error(`Nothing was published:\n${obstacles.map((one) => `- ${one}`).join('\n')}`)
  process.exit(1)
}

if (values['skip-build'] !== true) {
  await step('build from empty folders', ['node', 'scripts/build.ts'], 300, () => {
    // A build keeps older files for programs that run; they must not be published.
    for (const dist of globSync(['packages/*/dist', 'servers/*/dist'], { cwd: root })) {
      rmSync(join(root, dist), { recursive: true, force: true })
    }
  })
}
if (values['skip-checks'] !== true) {
  await step('packages: manifests, files, types, imports', ['node', 'scripts/packages.ts'], 300)
  await step(
    'quick start, installed from tarballs on each runtime',
    ['vitest', 'run', '--reporter=verbose', 'test/runtimes/installed.test.ts', 'packages/create-jackfield'],
    400,
  )
}
const licenses = dependencyLicenses()
report(`licenses of ${licenses.count} dependencies`, licenses.faults)
report('changesets name every package', changesetFaults())
report('manifests for provenance', provenanceFaults())

const to = join(root, 'results', 'release')
rmSync(to, { recursive: true, force: true })
mkdirSync(to, { recursive: true })
const tarballs = inOrder(await packAll(to))
report('sizes', sizeFaults(tarballs))
printTable(tarballs)

if (isDryRun) {
  const state =
    obstacles.length === 0 ? 'Nothing would stop it.' : 'A release now would stop before the build:'
  console.log([`\nNothing was published. ${state}`, ...obstacles.map((one) => `- ${one}`)].join('\n'))
} else {
  for (const tarball of tarballs) await publish(tarball)
}

/** Runs a command; ends the release if it fails. */
async function step(
  title: string,
  command: string[],
  seconds: number,
  before = (): void => {},
): Promise<void> {
  before()
  const { code, output, timedOut } = await run(command, { limitMs: seconds * 1000 })
  if (code === 0 && !timedOut) {
    // A test that names a missing program is skipped: that is a rehearsal with less, but no release.
    const skipped = [...stripVTControlCharacters(output).matchAll(/^\s*↓ (.*)$/gm)].map(
      ([, test = '']) => `not run: ${test}`,
    )
    report(title, isDryRun ? [] : skipped)
    if (isDryRun && skipped.length > 0) console.log(skipped.map((one) => `  ${one}`).join('\n'))
    return
  }
  const why = timedOut ? `did not finish within ${seconds} s` : `failed with exit code ${code}`
  report(title, [`${command.join(' ')} ${why}:\n${output.trimEnd()}`])
}

/** Prints a check; ends the release if there are faults. */
function report(title: string, faults: readonly string[]): void {
  console.log(`${faults.length === 0 ? '✓' : '✗'} ${title}`)
  if (faults.length === 0) return
  console.error(faults.map((fault) => `  ${fault}`).join('\n'))
  process.exit(1)
}

async function findObstacles(): Promise<string[]> {
  const found: string[] = []
  const changed = (await git('status', '--porcelain')).split('\n').filter((line) => line !== '')
  if (changed.length > 0) {
    const files = changed.slice(0, 3).map((line) => line.slice(3))
    found.push(
      `the tree has ${changed.length} uncommitted changes: ${files.join(', ')}${changed.length > 3 ? ', …' : ''}`,
    )
  }
  const branch = await git('rev-parse', '--abbrev-ref', 'HEAD')
  if (branch !== 'main' && process.env['GITHUB_REF_NAME'] !== 'main') {
    found.push(`the branch is ${branch}; releases are made from main`)
  }
  const pending = readdirSync(join(root, '.changeset')).filter(
    (file) => file.endsWith('.md') && file !== 'README.md',
  )
  if (pending.length > 0) {
    found.push(
      `${pending.length} changesets are pending: run "npx changeset version" and "npm install --package-lock-only", review and commit`,
    )
  }
  if (
    process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] === undefined &&
    process.env['SIGSTORE_ID_TOKEN'] === undefined
  ) {
    found.push(
      'npm provenance needs an identity token of GitHub Actions (permissions: id-token: write) or GitLab CI (SIGSTORE_ID_TOKEN)',
    )
  }
  return found
}

async function git(...args: string[]): Promise<string> {
  const { code, output } = await run(['git', ...args], { limitMs: 30_000 })
  if (code !== 0) throw new Error(`git ${args.join(' ')} failed: ${output}`)
  return output.trimEnd()
}

/** The licenses of all packages that are installed with ours. */
function dependencyLicenses(): { count: number; faults: string[] } {
  const dependencies = [...dependenciesOf(publishedFolders())].filter(([, { link }]) => link !== true)
  const faults = dependencies.flatMap(([path, { license = '(none)' }]) => {
    const choices = license.replaceAll(/[()]/g, '').split(' OR ')
    const isAccepted = choices.some((choice) =>
      choice.split(' AND ').every((one) => acceptedLicenses.has(one)),
    )
    return isAccepted ? [] : [`${path} has the license ${license}: see whether it can be distributed`]
  })
  return { count: dependencies.length, faults }
}

/** Packages of one release have one version, and `changeset version` must know all of them. */
function changesetFaults(): string[] {
  const { fixed }: { fixed: string[][] } = JSON.parse(
    readFileSync(join(root, '.changeset', 'config.json'), 'utf8'),
  )
  const manifests = publishedFolders().map((folder) => readManifest(join(root, folder)))
  const known = new Set(fixed.flat())
  const left = manifests
    .filter(({ name }) => !known.has(name))
    .map(({ name }) => `${name} is missing in "fixed"`)
  const removed = [...known]
    .filter((name) => manifests.every((one) => one.name !== name))
    .map((name) => `"fixed" names ${name}, which is not published`)
  const versions = new Set(manifests.map(({ version }) => version))
  const several = versions.size > 1 ? [`there are several versions: ${[...versions].join(', ')}`] : []
  return [...left, ...removed, ...several]
}

/** npm compares the repository of a package with the one that the identity token names. */
function provenanceFaults(): string[] {
  const expected = readManifest(root).repository?.url
  return publishedFolders().flatMap((folder) => {
    const { name, repository, license } = readManifest(join(root, folder))
    const directory = folder.replaceAll('\\', '/')
    return [
      repository?.url === expected ? [] : `${name}: repository.url is not ${expected}`,
      repository?.directory === directory ? [] : `${name}: repository.directory is not ${directory}`,
      license === 'Apache-2.0' ? [] : `${name}: license is not Apache-2.0`,
    ].flat()
  })
}

function sizeFaults(all: readonly Tarball[]): string[] {
  return all.flatMap(({ manifest: { name }, tarball }) => {
    const kb = statSync(tarball).size / 1000
    const limit = maxTarballKb[name] ?? maxOtherTarballKb
    return kb <= limit ? [] : [`${name}: the tarball has ${Math.ceil(kb)} kB, more than ${limit} kB`]
  })
}

/** The packages of this repository that a package needs, or that its templates install. */
function ownDependencies({ manifest, source }: Tarball, all: readonly Tarball[]): string[] {
  const needed = globSync(join(source, 'templates/*')).map(readManifest).concat(manifest)
  const names = new Set(
    needed.flatMap(({ dependencies, peerDependencies, devDependencies }) =>
      Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies }),
    ),
  )
  return [...names].filter((name) => all.some((one) => one.manifest.name === name))
}

/** Each package after those it needs, so that none is on the registry before it can be installed. */
function inOrder(all: readonly Tarball[]): Tarball[] {
  const sorted: Tarball[] = []
  const left = new Set(all)
  while (left.size > 0) {
    const ready = [...left].filter((one) =>
      ownDependencies(one, all).every((name) => sorted.some(({ manifest }) => manifest.name === name)),
    )
    if (ready.length === 0) throw new Error('The packages depend on each other in a circle.')
    for (const one of ready) {
      sorted.push(one)
      left.delete(one)
    }
  }
  return sorted
}

function printTable(all: readonly Tarball[]): void {
  const rows = all.map((one, at) => {
    const { manifest, tarball } = one
    const bytes = readFileSync(tarball)
    return [
      String(at + 1),
      manifest.name,
      manifest.version,
      tagOf(manifest),
      `${(bytes.length / 1000).toFixed(0)} kB`,
      createHash('sha256').update(bytes).digest('hex').slice(0, 12),
      ownDependencies(one, all).join(', '),
    ]
  })
  const head = ['#', 'package', 'version', 'tag', 'tarball', 'sha256', 'after']
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  console.log(`\n${[head, ...rows].map(line).join('\n')}\n\nTarballs: ${relative(root, to)}`)
}

/** The dist-tag: `npm install` must not pick versions such as 1.0.0-beta.1. */
function tagOf({ version }: Manifest): string {
  return version.includes('-') ? 'next' : 'latest'
}

/** Publishes one tarball; one that is on the registry already is left alone, so that a broken release can be finished. */
async function publish({ manifest, tarball }: Tarball): Promise<void> {
  const id = `${manifest.name}@${manifest.version}`
  const { code, output } = await run(['npm', 'view', id, 'version'], { limitMs: 60_000 })
  if (code === 0 && output.includes(manifest.version)) {
    console.log(`= ${id} is published already`)
    return
  }
  const options = ['--provenance', '--access', 'public', '--tag', tagOf(manifest)]
  await step(`published ${id}`, ['npm', 'publish', tarball, ...options], 300)
}
