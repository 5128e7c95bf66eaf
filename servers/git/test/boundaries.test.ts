import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { JsonObject } from '@jackfield/sdk'
import type { Client } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { account, clientOf, folder, Marker, repository, textOf } from './fixture.ts'

beforeEach(() => {
  account()
})

/** The text of a call that failed. */
async function refusal(client: Client, name: string, args: JsonObject = {}): Promise<string> {
  const result = await client.call(name, args)
  expect(result.isError, textOf(result)).toBe(true)
  return textOf(result)
}

async function answer(client: Client, name: string, args: JsonObject = {}): Promise<string> {
  const result = await client.call(name, args)
  expect(result.isError ?? false, textOf(result)).toBe(false)
  return textOf(result)
}

describe('which repositories can be used', () => {
  test('a folder of repositories: each by its name or path, and the only one without', async () => {
    const base = folder()
    const one = repository(join(base, 'one'))
    one.commit('in one')
    const client = await clientOf({ folders: [base] })
    expect(await answer(client, 'git_log')).toContain('in one')
    repository(join(base, 'team', 'two')).commit('in two')
    const { structuredContent } = await client.call('git_repositories')
    const name = base.split('/').at(-1)
    expect(structuredContent).toEqual({
      repositories: [
        { name: `${name}/one`, path: join(base, 'one') },
        { name: `${name}/team/two`, path: join(base, 'team/two') },
      ],
      complete: true,
    })
    expect(await refusal(client, 'git_log')).toMatch(/Which repository\? There are 2: .*one, .*team\/two/)
    for (const repo of [`${name}/team/two`, 'team/two', join(base, 'team/two')]) {
      expect(await answer(client, 'git_log', { repository: repo })).toContain('in two')
    }
  })

  test('the roots of the client, where no folder is given', async () => {
    const repo = repository()
    repo.commit('from a root')
    for (const revision of ['2025-06-18', '2026-07-28'] as const) {
      const client = await clientOf(
        {},
        { revisions: [revision], onRoots: () => [{ uri: pathToFileURL(repo.path).href }] },
      )
      expect(await answer(client, 'git_log')).toContain('from a root')
      const { contents } = await client
        .read('git://project/HEAD/.')
        .catch((error: unknown) => ({ contents: [error] }))
      expect(String(contents[0])).toContain('"." is a folder')
    }
    expect(await refusal(await clientOf({}), 'git_log')).toContain('this client has no roots')
    const odd = await clientOf({}, { onRoots: () => [{ uri: 'file:///no/such' }] })
    expect(await refusal(odd, 'git_log')).toContain('none of the roots')
  })

  test.each(['..', '../other', '/etc', '.git', '-c', 'a\0b', 'link'])('not %j', async (name) => {
    const base = folder()
    repository(join(base, 'other')).commit('secret')
    const repo = repository(join(base, 'mine'))
    symlinkSync(join(base, 'other'), join(repo.path, 'link'))
    const client = await clientOf({ folders: [repo.path] })
    const text = await refusal(client, 'git_log', { repository: name })
    expect(text).toMatch(/There is no repository|NUL/)
  })

  test('not a repository around the folder', async () => {
    const repo = repository()
    repo.commit('outside', { 'part/a.txt': 'a\n' })
    const client = await clientOf({ folders: [join(repo.path, 'part')] })
    expect(await refusal(client, 'git_log')).toContain(`is a part of the repository ${repo.path}`)
    expect(await refusal(await clientOf({ folders: [folder()] }), 'git_log')).toContain('no Git repository')
  })

  test('a linked working tree only with the folder that its .git file names', async () => {
    const main = repository()
    main.commit('main', { 'a.txt': 'a\n' })
    const linked = join(folder(), 'linked')
    main.git('worktree', 'add', '--quiet', linked)
    expect(await refusal(await clientOf({ folders: [linked] }), 'git_status')).toMatch(
      /Git directory .* lies outside of the allowed folders/,
    )
    const both = await clientOf({ folders: [linked, main.path] })
    expect(await answer(both, 'git_status', { repository: 'linked' })).toContain('On branch linked')
  })

  test('not with links in the Git directory that lead outside, nor with borrowed objects from there', async () => {
    const outside = repository()
    outside.commit('secret', { 'secret.txt': 'secret\n' })
    for (const name of ['refs/heads/evil', 'refs/evil', 'config.worktree', 'logs', 'objects/evil']) {
      const repo = repository()
      symlinkSync(join(outside.path, '.git'), join(repo.path, '.git', name))
      expect(await refusal(await clientOf({ folders: [repo.path] }), 'git_status'), name).toMatch(
        /is a link to something outside/,
      )
    }
    for (const [name, why] of [
      ['packed-refs', /is neither a file nor/],
      ['objects/info/alternates', /is not a file/],
    ] as const) {
      const repo = repository()
      execFileSync('mkfifo', [join(repo.path, '.git', name)])
      expect(await refusal(await clientOf({ folders: [repo.path] }), 'git_status')).toMatch(why)
    }
    const base = folder()
    const borrowing = repository(join(base, 'borrowing'))
    writeFileSync(join(borrowing.path, '.git/objects/info/alternates'), `${outside.path}/.git/objects\n`)
    const client = await clientOf({ folders: [base] })
    expect(await refusal(client, 'git_log')).toContain('borrows objects from')
    const both = await clientOf({ folders: [borrowing.path, outside.path] })
    const id = outside.git('rev-parse', 'HEAD')
    expect(await answer(both, 'git_show', { repository: 'borrowing', revision: id })).toContain('secret.txt')
  })

  test('not a bare repository in the files of another, whose configuration git itself follows', async () => {
    const repo = repository()
    const marker = new Marker(folder())
    const bare = join(repo.path, 'vendored')
    execFileSync('git', ['init', '--quiet', '--bare', bare])
    execFileSync('git', ['-C', bare, 'config', 'core.fsmonitor', marker.program])
    execFileSync('git', ['-C', bare, 'config', 'core.bare', 'false'])
    execFileSync('git', ['-C', bare, 'config', 'core.worktree', repo.path])
    spawnSync('git', ['status'], { cwd: bare })
    expect(marker.ran(), 'git itself runs it').toBe(true)
    const client = await clientOf({ folders: [repo.path] })
    expect(await refusal(client, 'git_status', { repository: 'vendored' })).toContain(
      'There is no repository',
    )
    // The same with a `.git` file that makes it look like a working tree.
    writeFileSync(join(bare, '.git'), 'gitdir: .\n')
    expect(await refusal(client, 'git_status', { repository: 'vendored' })).toContain('bare repository')
    expect(marker.ran()).toBe(false)
  })

  test.runIf(process.getuid?.() === 0)(
    'not one of another user [run as root, who can give files away]',
    async () => {
      for (const given of ['.', '.git']) {
        const repo = repository()
        const client = await clientOf({ folders: [repo.path] })
        await answer(client, 'git_status')
        chownSync(join(repo.path, given), 12_345, 12_345)
        const text = await refusal(client, 'git_status')
        expect(text).toContain('dubious ownership')
        expect(text).toContain('safe.directory')
      }
    },
  )

  test('not one whose .git leads elsewhere since the last call', async () => {
    const base = folder()
    const outside = repository()
    outside.commit('secret')
    const repo = repository(join(base, 'mine'))
    const client = await clientOf({ folders: [repo.path] })
    await answer(client, 'git_status')
    writeFileSync(join(repo.path, '.git/commondir'), join(outside.path, '.git'))
    expect(await refusal(client, 'git_log')).toMatch(/Git directory .* lies outside of the allowed folders/)
    rmSync(join(repo.path, '.git'), { recursive: true })
    writeFileSync(join(repo.path, '.git'), `gitdir: ${join(outside.path, '.git')}\n`)
    expect(await refusal(client, 'git_log')).toMatch(/Git directory .* lies outside of the allowed folders/)
  })
})

describe('paths that a repository names outside of itself', () => {
  test('core.worktree has no effect: no other folder is shown or staged', async () => {
    const other = folder()
    writeFileSync(join(other, 'secret.txt'), 'secret\n')
    const repo = repository()
    repo.commit('one', { 'secret.txt': 'public\n' })
    repo.git('config', 'core.worktree', other)
    expect(repo.git('diff')).toContain('+secret')
    const client = await clientOf({ folders: [repo.path] })
    expect(await answer(client, 'git_diff')).toBe('No changes.')
    expect(await answer(client, 'git_status')).toContain('clean')
  })

  test('files of the account are not read as configuration that shows their lines', async () => {
    const secret = join(folder(), 'secret')
    writeFileSync(secret, 'SECRET-LINE\n')
    const repo = repository()
    repo.commit('one', { 'a.txt': 'a\n' })
    repo.git('config', 'blame.ignoreRevsFile', secret)
    const plain = spawnSync('git', ['blame', 'a.txt'], { cwd: repo.path, encoding: 'utf8' })
    expect(plain.stderr, 'git itself shows it').toContain('SECRET-LINE')
    repo.git('config', 'mailmap.file', secret)
    repo.git('config', 'diff.orderFile', secret)
    repo.git('config', 'core.excludesFile', secret)
    repo.git('config', 'core.attributesFile', secret)
    const client = await clientOf({ folders: [repo.path] })
    expect(await answer(client, 'git_blame', { path: 'a.txt' })).toContain('1) a')
    for (const name of ['git_status', 'git_log', 'git_diff', 'git_show']) {
      expect(await answer(client, name)).not.toContain('SECRET')
    }
  })

  test('variables of the server for git have no effect', async () => {
    const other = repository()
    other.commit('other')
    const repo = repository()
    repo.commit('mine', { 'a.txt': 'a\n' })
    repo.write('a.txt', 'b\n')
    const marker = new Marker(folder())
    vi.stubEnv('GIT_DIR', join(other.path, '.git'))
    vi.stubEnv('GIT_EXTERNAL_DIFF', marker.program)
    vi.stubEnv('GIT_CONFIG_PARAMETERS', `'core.fsmonitor'='${marker.program}'`)
    vi.stubEnv('GIT_TRACE', '1')
    const client = await clientOf({ folders: [repo.path] })
    expect(await answer(client, 'git_log')).toContain('mine')
    expect(await answer(client, 'git_diff')).toContain('+b')
    expect(marker.ran()).toBe(false)
  })

  test('a program named git in the repository is not run, whatever PATH has', async () => {
    const repo = repository()
    const marker = new Marker(repo.path)
    symlinkSync(marker.program, join(repo.path, 'git'))
    vi.stubEnv('PATH', ['.', '', process.env['PATH']].join(delimiter))
    spawnSync('git', ['status'], { cwd: repo.path })
    expect(marker.ran(), 'a search of PATH finds it').toBe(true)
    const client = await clientOf({ folders: [repo.path] })
    await answer(client, 'git_status')
    expect(marker.ran()).toBe(false)
  })

  test('programs that are not run are named in the status', async () => {
    const repo = repository()
    repo.git('config', 'filter.lfs.clean', 'git-lfs clean -- %f')
    repo.git('config', 'core.fsmonitor', 'true')
    repo.git('config', 'remote.origin.url', 'https://user:password@example.com/')
    const client = await clientOf({ folders: [repo.path] })
    const { structuredContent } = await client.call('git_status')
    expect(structuredContent).toMatchObject({ ignoredConfiguration: ['core.fsmonitor', 'filter.lfs.clean'] })
    expect(JSON.stringify(structuredContent)).not.toContain('password')
  })

  test('a configuration that cannot be switched off is refused', async () => {
    const repo = repository()
    const config = join(repo.path, '.git/config')
    const before = readFileSync(config)
    const odd = Buffer.concat([before, Buffer.from('[filter "\xff"]\n\tclean = cat\n', 'latin1')])
    writeFileSync(config, odd)
    const client = await clientOf({ folders: [repo.path] })
    expect(await refusal(client, 'git_status')).toContain('not UTF-8')
    writeFileSync(config, `${before}[extensions]\n\trefStorage = files:///tmp/elsewhere\n`)
    expect(await refusal(client, 'git_status')).toMatch(/refStorage/i)
    const many = Array.from({ length: 200 }, (_, at) => `[filter "${at}"]\n\tclean = cat\n`).join('')
    writeFileSync(config, before + many)
    expect(await refusal(client, 'git_status')).toContain('too many filters')
  })
})

describe('arguments', () => {
  test('of git cannot be slipped in as a revision, a path or a branch', async () => {
    const repo = repository()
    repo.commit('one', { 'a.txt': 'a\n', '-dash': 'dash\n', ':(top)x': 'magic\n' })
    const client = await clientOf({ folders: [repo.path] })
    const file = join(repo.path, 'written')
    for (const revision of [`--output=${file}`, '-p', '--all', 'HEAD\n--all', '\0']) {
      for (const name of ['git_log', 'git_show', 'git_file']) {
        expect(await refusal(client, name, { revision }), name).toContain('is not a revision')
      }
      expect(await refusal(client, 'git_diff', { from: revision })).toContain('is not a revision')
      expect(await refusal(client, 'git_branch', { contains: revision })).toContain('is not a revision')
      expect(await refusal(client, 'git_create_branch', { name: revision })).toContain('cannot be the name')
      expect(await refusal(client, 'git_checkout', { branch: revision })).toContain('cannot be the name')
    }
    expect(existsSync(file)).toBe(false)
    expect(await answer(client, 'git_file', { path: '-dash' })).toBe('dash\n')
    expect(await answer(client, 'git_file', { path: ':(top)x' })).toBe('magic\n')
    expect(await answer(client, 'git_log', { paths: ['*.txt'] })).toBe('No commits.')
    expect(await answer(client, 'git_log', { author: '--all' })).toBe('No commits.')
    expect(await refusal(client, 'git_log', { revision: 'nothing' })).toContain(
      'There is no commit "nothing"',
    )
    expect(await refusal(client, 'git_log', { since: 'whenever' })).toContain('must be a date')
  })

  test('that are paths are limited to the repository', async () => {
    const base = folder()
    const repo = repository(join(base, 'project'))
    repo.commit('one', { 'a.txt': 'a\n' })
    writeFileSync(join(base, 'secret'), 'secret\n')
    const client = await clientOf({ folders: [repo.path] })
    for (const path of ['../secret', 'a/../../secret', join(base, 'secret'), '/etc/passwd', 'a\0']) {
      for (const [name, args] of [
        ['git_diff', { paths: [path, 'a.txt'] }],
        ['git_log', { paths: [path] }],
        ['git_file', { path }],
        ['git_blame', { path }],
        ['git_add', { paths: [path] }],
        ['git_reset', { paths: [path] }],
      ] as const) {
        expect(await refusal(client, name, args)).toMatch(/outside of|must not contain/)
      }
    }
    expect(await answer(client, 'git_file', { path: join(repo.path, 'a.txt') })).toBe('a\n')
    expect(await answer(client, 'git_file', { path: './a.txt' })).toBe('a\n')
  })
})

/** A program in place of git, which answers the first questions and then does something else. */
function fakeGit(then: string): string {
  const file = join(folder(), 'git')
  writeFileSync(file, `#!/bin/sh\ncase "$1" in --version) echo git version 2.40.0;; *) ${then};; esac\n`)
  chmodSync(file, 0o755)
  return file
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits for a file with a number in it. */
async function pidIn(file: string): Promise<number> {
  await vi.waitFor(() => expect(readFileSync(file, 'utf8')).toMatch(/^\d+\n$/), { timeout: 20_000 })
  return Number(readFileSync(file, 'utf8'))
}

describe('bounds', () => {
  test('a cancelled request ends its process tree', async () => {
    const repo = repository()
    const pidFile = join(folder(), 'pid')
    // A child that ignores the first signal, as a program that hangs does.
    const program = fakeGit(`(trap '' TERM; sleep 1000) & echo $! > ${pidFile}; wait`)
    const client = await clientOf({ folders: [repo.path], program })
    const cancel = new AbortController()
    const call = client.call('git_status', {}, { signal: cancel.signal })
    const pid = await pidIn(pidFile)
    expect(isRunning(pid)).toBe(true)
    cancel.abort()
    await expect(call).rejects.toThrow()
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 20_000 })
  })

  test('a process that takes too long is ended, with advice in the error', async () => {
    const repo = repository()
    const pidFile = join(folder(), 'pid')
    const program = fakeGit(`echo $$ > ${pidFile}; exec sleep 1000`)
    const client = await clientOf({ folders: [repo.path], program, timeoutMs: 500 })
    expect(await refusal(client, 'git_status')).toMatch(/ended after 0.5 s.*--timeout/)
    const pid = await pidIn(pidFile)
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 20_000 })
  })

  test('the numbers of running processes and waiting requests are limited', async () => {
    const repo = repository()
    const started = join(folder(), 'started')
    const release = join(dirname(started), 'release')
    const program = fakeGit(`echo x >> ${started}; while ! test -e ${release}; do sleep 0.05; done; exit 1`)
    const client = await clientOf({ folders: [repo.path], program, concurrency: 2 })
    const calls = Array.from({ length: 80 }, () => client.call('git_status'))
    const early = await Promise.race(calls)
    expect(textOf(early)).toContain('Too many git requests are waiting')
    await vi.waitFor(() => expect(readFileSync(started, 'utf8')).toBe('x\nx\n'), { timeout: 20_000 })
    writeFileSync(release, '')
    const all = (await Promise.all(calls)).map(textOf)
    expect(all.filter((text) => text.includes('Too many'))).toHaveLength(80 - 2 - 64)
    expect(readFileSync(started, 'utf8').split('\n')).toHaveLength(66 + 1)
  })

  test('a git version that cannot be made safe is not used', async () => {
    const program = fakeGit('exit 0')
    writeFileSync(program, '#!/bin/sh\necho git version 2.31.9\n')
    const client = await clientOf({ folders: [repository().path], program })
    expect(await refusal(client, 'git_status')).toMatch(/2\.31\.9.*2\.32 or later/)
  })

  test('limits that make no sense are refused', async () => {
    await expect(clientOf({ timeoutMs: 0 })).rejects.toThrow(RangeError)
    await expect(clientOf({ maxOutputBytes: 2 ** 30 })).rejects.toThrow(RangeError)
    await expect(clientOf({ program: 'git' })).rejects.toThrow(TypeError)
  })
})
