import { pathToFileURL } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { account, repository } from '../../servers/git/test/fixture.ts'
import { builtProgram } from '../setup/built-program.ts'
import { officialV1 } from './clients/official-v1.ts'
import { officialV2 } from './clients/official-v2.ts'
import { type ClientAnswers, defaultAnswers } from './suite/test-client.ts'

const clients = [
  { kind: officialV1, revision: '2025-11-25' },
  { kind: officialV2, revision: '2025-11-25' },
  { kind: officialV2, revision: '2026-07-28' },
] as const

describe.each(clients)('$kind.name at $revision with the git server', ({ kind, revision }) => {
  it('uses a repository in its roots: reads, completes, stages, and commits when the person agrees', async () => {
    // The official clients pass HOME on, so the server has the configuration of this account.
    account()
    const repo = repository()
    repo.commit('Begin', { 'a.txt': 'one\n', 'src/b.md': '# b\n' })
    repo.write('a.txt', 'two\n')
    const elicit = vi.fn<ClientAnswers['person']>()
    const answers: ClientAnswers = {
      ...defaultAnswers(),
      person: elicit,
      folders: [{ uri: pathToFileURL(repo.path).href, name: 'project' }],
    }
    const program = builtProgram('git')
    const client = await kind.connect({ command: process.execPath, args: [program] }, revision, {
      answers,
      fetch,
    })
    try {
      expect(client.server).toMatchObject({ name: 'git' })
      expect((await client.tools()).map(({ name }) => name)).toContain('git_commit')
      expect(await client.call('git_diff')).toMatchObject({
        structuredContent: { files: [{ path: 'a.txt', additions: 1, deletions: 1 }] },
      })
      expect(await client.call('git_show', { revision: '--all' })).toMatchObject({ isError: true })
      expect(await client.read('git://project/HEAD/src/b.md')).toMatchObject([{ text: '# b\n' }])
      const template = { template: 'git://{repository}/{revision}/{+path}' }
      const { values } = await client.complete(template, { name: 'revision', value: 'm' })
      expect(values).toEqual(['main'])
      await client.call('git_add', { paths: ['a.txt'] })
      elicit.mockReturnValueOnce({ action: 'decline' })
      expect(await client.call('git_commit', { message: 'no' })).toMatchObject({
        structuredContent: { status: 'declined' },
      })
      elicit.mockReturnValueOnce({ action: 'accept', content: { confirm: true } })
      expect(await client.call('git_commit', { message: 'Go on' })).toMatchObject({
        structuredContent: { status: 'committed', branch: 'main' },
      })
      expect(elicit).toHaveBeenLastCalledWith(
        expect.objectContaining({ message: expect.stringContaining(`Commit to main in ${repo.path}?`) }),
      )
      expect(JSON.stringify(await client.prompt('review-changes', { base: 'HEAD~1' }))).toContain('+two')
    } finally {
      await client.close()
    }
    expect(repo.git('log', '--format=%s')).toBe('Go on\nBegin')
  })
})
