import type { ConnectOptions } from '@jackfield/sdk/client'
import { beforeEach, describe, expect, test } from 'vitest'
import { account, clientOf, repository, revisions, type TestRepository, textOf } from './fixture.ts'

beforeEach(() => {
  account()
})

function staged(): TestRepository {
  const repo = repository()
  repo.commit('one', { 'a.txt': '1\n' })
  repo.write('a.txt', '2\n')
  repo.write('new.bin', Buffer.from([0, 1]))
  repo.git('add', '.')
  repo.write('a.txt', '3\n')
  return repo
}

const agree = { action: 'accept', content: { confirm: true } } as const

describe.each(revisions)('a commit for a client of revision %s', (revision) => {
  const clientFor = (repo: TestRepository, options: ConnectOptions = {}, more: { confirm?: 'never' } = {}) =>
    clientOf({ folders: [repo.path], ...more }, { revisions: [revision], ...options })

  test('shows its message, author and files for confirmation, and is created when the user accepts', async () => {
    const repo = staged()
    const questions: string[] = []
    const client = await clientFor(repo, {
      onElicit(question) {
        questions.push(question.message)
        return agree
      },
    })
    const result = await client.call('git_commit', {
      message: 'Two changes\n\nBecause. \u202eevil\n#not a comment\n',
    })
    expect(questions).toEqual([
      [
        `Commit to main in ${repo.path}?`,
        'Two changes\n\nBecause. \\u{202e}evil\n#not a comment',
        'Author: Ada <ada@example.com>. The commit is not signed, and hooks are not run.',
        'modified: a.txt (+1 -1)\nadded: new.bin (binary)\n2 files, +1 -1',
      ].join('\n\n'),
    ])
    const head = repo.git('rev-parse', 'HEAD')
    expect(result.structuredContent).toMatchObject({ status: 'committed', commit: head, branch: 'main' })
    expect(repo.git('log', '-1', '--format=%an|%s|%b')).toBe(
      'Ada|Two changes|Because. \u202eevil\n#not a comment',
    )
    expect(repo.git('show', 'HEAD:a.txt')).toBe('2')
    expect(repo.git('status', '--porcelain')).toBe('M a.txt'.padStart(8))
    expect(repo.git('reflog', '-1', '--format=%gs')).toBe('commit: Two changes')
  })

  test('is the first of a branch, and of a detached HEAD', async () => {
    const repo = repository()
    repo.write('a.txt', '1\n')
    repo.git('add', '.')
    const client = await clientFor(repo, { onElicit: () => agree })
    expect((await client.call('git_commit', { message: 'first' })).structuredContent).toMatchObject({
      status: 'committed',
      files: [{ path: 'a.txt', status: 'added' }],
    })
    repo.git('checkout', '--quiet', '--detach')
    repo.write('a.txt', '2\n')
    repo.git('add', '.')
    expect((await client.call('git_commit', { message: 'second' })).structuredContent).toMatchObject({
      branch: null,
    })
    expect(repo.git('rev-list', '--count', 'HEAD')).toBe('2')
    expect(repo.git('rev-list', '--count', 'main')).toBe('1')
  })

  test.each([
    ['declines', { action: 'decline' }, 'declined'],
    ['cancels', { action: 'cancel' }, 'cancelled'],
    ['answers no', { action: 'accept', content: { confirm: false } }, 'declined'],
  ] as const)('is not created when the user %s', async (_, response, status) => {
    const repo = staged()
    const client = await clientFor(repo, { onElicit: () => response })
    const result = await client.call('git_commit', { message: 'no' })
    expect(result.structuredContent).toEqual({ status })
    expect(textOf(result)).toContain('Nothing was committed')
    expect(repo.git('rev-list', '--count', 'HEAD')).toBe('1')
  })

  test('is rejected for a client without elicitation, unless the server is configured otherwise', async () => {
    const repo = staged()
    const text = textOf(await (await clientFor(repo)).call('git_commit', { message: 'no' }))
    expect(text).toMatch(/Nothing was committed.*elicitation.*--confirm never/)
    expect(repo.git('rev-list', '--count', 'HEAD')).toBe('1')
    const client = await clientFor(repo, {}, { confirm: 'never' })
    expect((await client.call('git_commit', { message: 'yes' })).structuredContent).toMatchObject({
      status: 'committed',
    })
  })

  test('contains what the user saw, whatever is staged meanwhile', async () => {
    const repo = staged()
    const client = await clientFor(repo, {
      onElicit() {
        repo.write('smuggled.txt', 'x\n')
        repo.git('add', '.')
        return agree
      },
    })
    await client.call('git_commit', { message: 'as seen' })
    expect(repo.git('show', '--name-only', '--format=', 'HEAD')).toBe('a.txt\nnew.bin')
    expect(repo.git('show', 'HEAD:a.txt')).toBe('2')
    expect(repo.git('diff', '--cached', '--name-only')).toBe('a.txt\nsmuggled.txt')
  })

  test('is not created on a branch that changed meanwhile', async () => {
    for (const change of [
      (repo: TestRepository) => repo.git('commit', '--quiet', '-m', 'between'),
      (repo: TestRepository) => repo.git('checkout', '--quiet', '-b', 'elsewhere'),
    ]) {
      const repo = staged()
      const client = await clientFor(repo, {
        onElicit() {
          change(repo)
          return agree
        },
      })
      const result = await client.call('git_commit', { message: 'late' })
      expect(result.isError).toBe(true)
      expect(textOf(result)).toMatch(/Nothing was committed: .* meanwhile/)
      expect(repo.git('log', '--all', '--format=%s')).not.toContain('late')
    }
  })

  test('is refused with a reason', async () => {
    const repo = repository()
    repo.commit('one', { 'a.txt': '1\n' })
    const client = await clientFor(repo, { onElicit: () => agree })
    const refused = async (message = 'x'): Promise<string> => {
      const result = await client.call('git_commit', { message })
      expect(result.isError).toBe(true)
      return textOf(result)
    }
    expect(await refused()).toContain('nothing is staged')
    expect(await refused(' \n ')).toContain('the message is empty')
    repo.git('checkout', '--quiet', '-b', 'other')
    repo.commit('two', { 'a.txt': '2\n' })
    repo.git('checkout', '--quiet', 'main')
    repo.commit('three', { 'a.txt': '3\n' })
    repo.tryGit('merge', 'other')
    expect(await refused()).toContain('a merge is in progress')
    repo.git('merge', '--abort')
    account('')
    repo.write('a.txt', '4\n')
    repo.git('add', '.')
    expect(await refused()).toContain('git config --global user.email')
  })
})

describe.each(revisions)('a checkout for a client of revision %s', (revision) => {
  function dirty(): TestRepository {
    const repo = repository()
    repo.commit('one', { 'a.txt': '1\n', 'b.txt': '1\n' })
    repo.git('branch', 'same')
    repo.git('checkout', '--quiet', '-b', 'other')
    repo.commit('two', { 'a.txt': '2\n' })
    repo.git('checkout', '--quiet', 'main')
    repo.write('a.txt', 'mine\n')
    return repo
  }
  const clientFor = (repo: TestRepository, options: ConnectOptions = {}) =>
    clientOf({ folders: [repo.path] }, { revisions: [revision], ...options })

  test('with uncommitted changes asks first, keeps them, and never overwrites them', async () => {
    const repo = dirty()
    const questions: string[] = []
    const client = await clientFor(repo, {
      onElicit(question) {
        questions.push(question.message)
        return agree
      },
    })
    const result = await client.call('git_checkout', { branch: 'same' })
    expect(result.structuredContent).toMatchObject({ status: 'switched', branch: 'same' })
    expect(questions).toEqual([
      expect.stringMatching(/Check out same in .*uncommitted changes[\s\S]*\na\.txt$/),
    ])
    expect(repo.git('diff')).toContain('+mine')
    const conflict = await client.call('git_checkout', { branch: 'other' })
    expect(conflict.isError).toBe(true)
    expect(textOf(conflict)).toContain('would be overwritten')
    expect(repo.git('diff')).toContain('+mine')
  })

  test('does nothing when the user declines, or cannot be asked', async () => {
    const repo = dirty()
    const declining = await clientFor(repo, { onElicit: () => ({ action: 'decline' }) })
    expect((await declining.call('git_checkout', { branch: 'same' })).structuredContent).toMatchObject({
      status: 'declined',
      branch: 'main',
    })
    const mute = await clientFor(repo)
    const refused = await mute.call('git_checkout', { branch: 'same' })
    expect(textOf(refused)).toMatch(/Nothing was checked out: there are uncommitted changes.*--confirm never/)
    expect(repo.git('branch', '--show-current')).toBe('main')
    // Untracked files are in no danger.
    repo.git('checkout', '--quiet', 'a.txt')
    repo.write('untracked.txt', 'x\n')
    expect((await mute.call('git_checkout', { branch: 'same' })).structuredContent).toMatchObject({
      status: 'switched',
    })
  })
})
