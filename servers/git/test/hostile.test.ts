import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@jackfield/sdk'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { account, clientOf, folder, Marker, repository, TestRepository, textOf } from './fixture.ts'

/** A repository whose configuration runs a program, and a use of git itself that runs it. */
interface Trap {
  set(repo: TestRepository, marker: Marker): void
  fire(repo: TestRepository): void
  /** What the program does. Default: copies its input. */
  after?: string
}

/** A hook or a key with one program, which some command of git runs. */
const key = (name: string, ...command: string[]): Trap => ({
  set: (repo, { program }) => repo.git('config', name, program),
  fire: (repo) => repo.tryGit(...command),
})

const hook = (name: string, ...command: string[]): Trap => ({
  set: (repo, { program }) => {
    mkdirSync(join(repo.path, '.git/hooks'), { recursive: true })
    cpSync(program, join(repo.path, '.git/hooks', name))
  },
  fire: (repo) => repo.tryGit(...command),
  after: 'exit 0',
})

const filter = (name: string, part: string, ...command: string[]): Trap => ({
  set(repo, { program }) {
    repo.write('.git/info/attributes', `* filter=${name}\n`)
    // A required filter needs both directions.
    for (const other of ['clean', 'smudge']) repo.git('config', `filter.${name}.${other}`, 'cat')
    repo.git('config', `filter.${name}.required`, 'true')
    repo.git('config', `filter.${name}.${part}`, program)
  },
  fire: (repo) => repo.tryGit(...command),
})

const driver = (part: string, ...command: string[]): Trap => ({
  set(repo, { program }) {
    repo.write('.git/info/attributes', '* diff=evil merge=evil\n')
    repo.git('config', part, program)
  },
  fire: (repo) => repo.tryGit(...command),
})

/** A partial clone, which fetches a missing object from a remote that runs a program. */
const lazyFetch = (remote: string, configure: (repo: TestRepository, marker: Marker) => void): Trap => ({
  set(repo, marker) {
    const blob = repo.git('rev-parse', 'HEAD:missing.txt')
    repo.git('config', 'core.repositoryFormatVersion', '1')
    repo.git('config', 'extensions.partialClone', remote)
    repo.git('config', `remote.${remote}.promisor`, 'true')
    configure(repo, marker)
    repo.git('update-index', '--cacheinfo', `100644,${blob},missing.txt`)
    spawnSync('rm', ['-f', join(repo.path, '.git/objects', blob.slice(0, 2), blob.slice(2))])
  },
  fire: (repo) => repo.tryGit('show', 'HEAD:missing.txt'),
  after: 'exit 1',
})

/** A hook that the configuration defines. */
const configured = (event: string, ...command: string[]): Trap => ({
  set(repo, { program }) {
    repo.git('config', 'hook.evil.command', program)
    repo.git('config', 'hook.evil.event', event)
    repo.git('config', 'hook.evil.enabled', 'true')
  },
  fire: (repo) => repo.tryGit(...command),
  after: 'exit 0',
})

/** Whether this git is at least of a version. */
function isGit(major: number, minor: number): boolean {
  const { stdout } = spawnSync('git', ['--version'], { encoding: 'utf8' })
  const [, ...found] = (/(\d+)\.(\d+)/.exec(stdout) ?? []).map(Number)
  return (found[0] ?? 0) > major || (found[0] === major && (found[1] ?? 0) >= minor)
}

/** What only later versions of git run. */
const laterTraps: Readonly<Record<string, Trap>> = {
  'hook.<name>.command at post-index-change': configured('post-index-change', 'add', '.'),
  'hook.<name>.command at reference-transaction': configured('reference-transaction', 'branch', 'x'),
  'hook.<name>.command at post-checkout': configured('post-checkout', 'checkout', 'other'),
}

const traps: Readonly<Record<string, Trap>> = {
  'core.fsmonitor': { ...key('core.fsmonitor', 'status'), after: 'exit 1' },
  'core.fsmonitor in a file that is included': {
    set(repo, { program }) {
      repo.write('.git/more', `[core]\n\tfsmonitor = ${program}\n`)
      repo.git('config', 'include.path', 'more')
    },
    fire: (repo) => repo.tryGit('status'),
  },
  'core.fsmonitor in a file that is included on a condition': {
    set(repo, { program }) {
      repo.write('.git/more', `[core]\n\tfsmonitor = ${program}\n`)
      repo.git('config', `includeIf.gitdir:${repo.path}/.path`, 'more')
    },
    fire: (repo) => repo.tryGit('status'),
  },
  'core.fsmonitor in the configuration of a working tree': {
    set(repo, { program }) {
      repo.git('config', 'core.repositoryFormatVersion', '1')
      repo.git('config', 'extensions.worktreeConfig', 'true')
      repo.git('config', '--worktree', 'core.fsmonitor', program)
    },
    fire: (repo) => repo.tryGit('status'),
  },
  'core.fsmonitor in a submodule': {
    set(repo, { program }) {
      const outer = repository()
      outer.commit('one', { 'a.txt': 'a\n' })
      repo.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', outer.path, 'sub')
      repo.git('-C', 'sub', 'config', 'core.fsmonitor', program)
      repo.git('config', 'submodule.recurse', 'true')
      repo.git('config', 'diff.submodule', 'diff')
      repo.git('config', 'status.submoduleSummary', 'true')
    },
    fire: (repo) => repo.tryGit('status'),
  },
  'the hook pre-commit': hook('pre-commit', 'commit', '-am', 'x'),
  'the hook commit-msg': hook('commit-msg', 'commit', '-am', 'x'),
  'the hook prepare-commit-msg': hook('prepare-commit-msg', 'commit', '-am', 'x'),
  'the hook post-commit': hook('post-commit', 'commit', '-am', 'x'),
  'the hook post-checkout': hook('post-checkout', 'checkout', 'other'),
  'the hook post-index-change': hook('post-index-change', 'add', '.'),
  'the hook reference-transaction': hook('reference-transaction', 'branch', 'x'),
  'core.hooksPath': {
    set(repo, { program }) {
      cpSync(program, join(repo.path, '.git/post-index-change'))
      repo.git('config', 'core.hooksPath', join(repo.path, '.git'))
    },
    fire: (repo) => repo.tryGit('add', '.'),
  },
  'filter.clean': filter('evil', 'clean', 'add', '.'),
  'filter.smudge': filter('evil', 'smudge', 'checkout', 'other'),
  'filter.process': { ...filter('evil', 'process', 'add', '.'), after: 'exit 1' },
  'filter.clean of a name with = and .': filter('a=b.clean=c', 'clean', 'add', '.'),
  'filter.clean of a name in upper case': filter('EVIL', 'clean', 'add', '.'),
  'filter.smudge in .gitattributes of the commit': {
    set(repo, { program }) {
      repo.git('stash', '--include-untracked', '--quiet')
      repo.git('checkout', '--quiet', 'other')
      repo.commit('attributes', { '.gitattributes': '*.txt filter=evil\n' })
      repo.git('checkout', '--quiet', 'main')
      repo.git('stash', 'pop', '--quiet', '--index')
      repo.git('config', 'filter.evil.smudge', program)
      repo.git('config', 'filter.evil.clean', program)
    },
    fire: (repo) => repo.tryGit('checkout', 'other'),
  },
  'diff.external': { ...key('diff.external', 'diff'), after: 'exit 0' },
  'diff.<driver>.command': { ...driver('diff.evil.command', 'diff'), after: 'exit 0' },
  'diff.<driver>.textconv in a diff': driver('diff.evil.textconv', 'diff'),
  'diff.<driver>.textconv in blame': driver('diff.evil.textconv', 'blame', 'a.txt'),
  'merge.<driver>.driver': {
    ...driver('merge.evil.driver', 'checkout', '-m', 'conflicting'),
    after: 'exit 1',
  },
  'core.editor': { ...key('core.editor', 'commit', '-a'), after: 'exit 1' },
  'gpg.program for a new commit': {
    ...key('gpg.program', '-c', 'commit.gpgSign=true', 'commit', '-am', 'x'),
    after: 'exit 1',
  },
  'gpg.program for a signed commit': {
    set(repo, { program }) {
      repo.git('config', 'gpg.program', program)
      repo.git('config', 'commit.gpgSign', 'true')
      repo.git('config', 'log.showSignature', 'true')
      const tree = repo.git('rev-parse', 'HEAD^{tree}')
      const parent = repo.git('rev-parse', 'HEAD')
      const person = 'Eve <eve@example.com> 1700000000 +0000'
      const signature = '-----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----'
      const file = repo.write(
        '.git/signed',
        `tree ${tree}\nparent ${parent}\nauthor ${person}\ncommitter ${person}\ngpgsig ${signature}\n\nsigned\n`,
      )
      repo.git('update-ref', 'HEAD', repo.git('hash-object', '-t', 'commit', '-w', file))
    },
    fire: (repo) => repo.tryGit('log'),
    after: 'exit 1',
  },
  'core.sshCommand': lazyFetch('one', (repo, { program }) => {
    repo.git('config', 'remote.one.url', 'ssh://127.0.0.1/x')
    repo.git('config', 'core.sshCommand', program)
    repo.git('config', 'protocol.ssh.allow', 'always')
  }),
  'core.gitProxy': lazyFetch('two', (repo, { program }) => {
    repo.git('config', 'remote.two.url', 'git://127.0.0.1:1/x')
    repo.git('config', 'core.gitProxy', program)
    repo.git('config', 'protocol.git.allow', 'always')
  }),
  'a remote with ext::': lazyFetch('three', (repo, { program }) => {
    repo.git('config', 'remote.three.url', `ext::${program}`)
    repo.git('config', 'protocol.ext.allow', 'always')
  }),
  'remote.<name>.uploadpack': lazyFetch('four', (repo, { program }) => {
    repo.git('config', 'remote.four.url', repo.path)
    repo.git('config', 'remote.four.uploadpack', program)
    repo.git('config', 'protocol.file.allow', 'always')
  }),
  'trailer.<name>.command': {
    set(repo, { program }) {
      repo.git('config', 'trailer.sign.key', 'Signed-by')
      repo.git('config', 'trailer.sign.ifMissing', 'add')
      repo.git('config', 'trailer.sign.command', program)
    },
    fire: (repo) => repo.tryGit('interpret-trailers', 'a.txt'),
  },
  'credential.helper': {
    ...key('credential.helper', 'ls-remote', 'https://127.0.0.1:1/'),
    fire(repo) {
      spawnSync('git', ['credential', 'fill'], { cwd: repo.path, input: 'protocol=https\nhost=x\n\n' })
    },
  },
  'an alias': {
    set: (repo, { program }) => repo.git('config', 'alias.st', `!${program}`),
    fire: (repo) => repo.tryGit('st'),
  },
  'core.pager': {
    set: (repo, { program }) => repo.git('config', 'core.pager', program),
    // A pager is only started on a terminal.
    fire: (repo) => {
      const env = { ...process.env, TERM: 'xterm', PAGER: undefined, GIT_PAGER: undefined }
      spawnSync('script', ['-qec', 'git log', '/dev/null'], { cwd: repo.path, env })
    },
  },
}

/**
 * Traps that one repository sets all at once, each with a program of its own. None has an effect on what the server does,
 * so that every call reaches all of them. The others need a repository each.
 */
const together: readonly (readonly string[])[] = [
  [
    'core.fsmonitor',
    'core.hooksPath',
    'diff.external',
    'core.editor',
    'gpg.program for a new commit',
    'trailer.<name>.command',
    'credential.helper',
    'an alias',
    'core.pager',
  ],
  [
    'core.fsmonitor in a file that is included',
    'diff.<driver>.command',
    'diff.<driver>.textconv in blame',
    'the hook pre-commit',
    'the hook commit-msg',
    'the hook prepare-commit-msg',
    'the hook post-commit',
    'the hook post-checkout',
    'the hook post-index-change',
    'the hook reference-transaction',
  ],
  [
    'core.fsmonitor in a file that is included on a condition',
    'diff.<driver>.textconv in a diff',
    'merge.<driver>.driver',
    'gpg.program for a signed commit',
  ],
]

/** Remotes of one partial clone: git asks all of them, one after another, for an object that none of them has. */
const remotes = ['core.sshCommand', 'core.gitProxy', 'a remote with ext::', 'remote.<name>.uploadpack']

/** What every test copies: a repository with something for every tool to do. */
let original: string

beforeAll(() => {
  const home = mkdtempSync(join(tmpdir(), 'server-git-original-'))
  original = join(home, 'project')
  vi.stubEnv('HOME', home)
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n')
  const repo = repository(original)
  repo.commit('one', { 'a.txt': 'a\n', 'b.txt': 'b\n', 'missing.txt': 'missing\n' })
  repo.git('tag', '--annotate', '--message', 'first', 'v1')
  repo.git('checkout', '--quiet', '-b', 'other')
  repo.commit('two', { 'b.txt': 'other\n' })
  repo.git('checkout', '--quiet', '-b', 'conflicting', 'main')
  repo.commit('three', { 'a.txt': 'conflict\n' })
  repo.git('checkout', '--quiet', 'main')
  repo.write('a.txt', 'changed\n')
  repo.write('new.txt', 'new\n')
  vi.unstubAllEnvs()
  return () => rmSync(home, { recursive: true, force: true })
})

/** A repository with something for every tool to do, before the trap is set. */
function prepared(): TestRepository {
  const repo = new TestRepository(join(folder(), 'project'))
  cpSync(original, repo.path, { recursive: true, preserveTimestamps: true })
  return repo
}

/** Uses everything that the server offers on a repository. Calls may fail, as long as nothing runs. */
async function useAll(repo: TestRepository): Promise<string[]> {
  const client = await clientOf({ folders: [repo.path] }, { onElicit: agree })
  const calls: [string, JsonObject][] = [
    ['git_repositories', {}],
    ['git_status', { untracked: 'all' }],
    ['git_log', { paths: ['a.txt'], author: 'Ada', grep: 'o' }],
    ['git_log', {}],
    ['git_log', { revision: 'main..other' }],
    ['git_diff', {}],
    ['git_diff', { staged: true }],
    ['git_diff', { from: 'other', mergeBase: true }],
    ['git_diff', { from: 'main', to: 'other' }],
    ['git_show', {}],
    ['git_show', { revision: 'other' }],
    ['git_blame', { path: 'a.txt' }],
    ['git_branch', { type: 'all', contains: 'v1' }],
    ['git_tag', {}],
    ['git_file', {}],
    ['git_file', { path: 'missing.txt' }],
    ['git_add', { paths: ['.'] }],
    ['git_diff', { staged: true }],
    ['git_reset', { paths: ['new.txt'] }],
    ['git_reset', {}],
    ['git_add', { paths: ['a.txt', 'new.txt'] }],
    ['git_commit', { message: 'from the server' }],
    ['git_create_branch', { name: 'made' }],
    ['git_checkout', { branch: 'made' }],
    ['git_checkout', { branch: 'other' }],
    ['git_checkout', { branch: 'conflicting' }],
  ]
  const failures: string[] = []
  for (const [name, args] of calls) {
    const result = await client.call(name, args)
    if (result.isError) failures.push(`${name}: ${textOf(result)}`)
  }
  const name = 'project'
  await client.read(`git://${name}/HEAD/a.txt`).catch((error: unknown) => failures.push(String(error)))
  await client
    .prompt('review-changes', { base: 'other' })
    .catch((error: unknown) => failures.push(String(error)))
  const ref = { type: 'ref/resource', uri: 'git://{repository}/{revision}/{+path}' } as const
  for (const argument of ['repository', 'revision', 'path']) {
    const context = { arguments: { repository: name, revision: 'HEAD' } }
    const { values } = await client.complete({ ref, argument: { name: argument, value: '' }, context })
    if (values.length === 0) failures.push(`nothing is suggested for ${argument}`)
  }
  return failures
}

const agree = () => ({ action: 'accept' as const, content: { confirm: true } })

beforeEach(() => {
  account()
})

describe('a repository that configures a program', () => {
  test('is used completely where it configures none', async () => {
    expect(await useAll(prepared())).toEqual([])
  })

  test.each(Object.keys(traps).filter((name) => ![...together, remotes].flat().includes(name)))(
    'by %s does not get it run, which git itself runs',
    async (name) => {
      await expectOnlyGitRuns(traps, [name])
    },
  )

  test.each(together.map((names) => ({ names, title: names.join(', ') })))(
    'by $title does not get any run, which git itself runs',
    async ({ names }) => {
      expect(await expectOnlyGitRuns(traps, names)).toEqual([])
    },
  )

  test(`by ${remotes.join(', ')} does not get any run, which git itself runs`, async () => {
    const failures = await expectOnlyGitRuns(traps, remotes)
    expect(failures).toEqual(expect.arrayContaining([expect.stringMatching(/^git_file: /)]))
  })

  describe.runIf(isGit(2, 54))('hooks of the configuration [needs git 2.54]', () => {
    test.each(Object.keys(laterTraps))('by %s does not get it run, which git itself runs', async (name) => {
      await expectOnlyGitRuns(laterTraps, [name])
    })
  })
})

/** Uses one repository with all of the traps. Returns the calls that failed. */
async function expectOnlyGitRuns(
  from: Readonly<Record<string, Trap>>,
  names: readonly string[],
): Promise<string[]> {
  const ours = prepared()
  const markers = new Map<string, Marker>()
  for (const name of names) {
    const trap = from[name]
    if (trap === undefined) throw new Error(`There is no trap "${name}"`)
    const repo = prepared()
    const marker = new Marker(folder(), trap.after)
    trap.set(repo, marker)
    // Setting up may run it.
    marker.ran()
    trap.fire(repo)
    expect(marker.ran(), `git itself runs it by ${name}`).toBe(true)
    markers.set(name, new Marker(folder(), trap.after))
    trap.set(ours, markers.get(name) ?? marker)
  }
  for (const marker of markers.values()) marker.ran()
  const failures = await useAll(ours)
  const ran = [...markers].flatMap(([name, marker]) => (marker.ran() ? [name] : []))
  expect(ran, 'the server runs these').toEqual([])
  return failures
}
