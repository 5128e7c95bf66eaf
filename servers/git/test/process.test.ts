import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { account, folder, Marker, repository, revisions, textOf } from './fixture.ts'

const main = builtProgram('git')

beforeEach(() => {
  account()
})

async function start(args: string[], options: ConnectOptions = {}): Promise<Client> {
  const transport = stdio({ command: process.execPath, args: [main, ...args], inherit: ['HOME'] })
  const client: Client = await connect(transport, options)
  onTestFinished(() => client.close())
  return client
}

describe.each(revisions)('the git server as a process, for a client of revision %s', (revision) => {
  test('reads, stages and commits, and runs nothing of a hostile repository', async () => {
    const repo = repository()
    repo.commit('one', { 'a.txt': '1\n' })
    const marker = new Marker(folder())
    repo.git('config', 'core.fsmonitor', marker.program)
    repo.git('config', 'filter.evil.clean', marker.program)
    repo.write('.git/info/attributes', '*.md filter=evil\n')
    repo.write('a.txt', '2\n')
    const client = await start([repo.path], {
      revisions: [revision],
      onElicit: () => ({ action: 'accept', content: { confirm: true } }),
    })
    expect(client.server).toMatchObject({ revision, info: { name: 'git' } })
    expect(textOf(await client.call('git_diff'))).toContain('-1\n+2')
    await client.call('git_add', { paths: ['a.txt'] })
    const result = await client.call('git_commit', { message: 'two' })
    expect(result.structuredContent).toMatchObject({ status: 'committed' })
    expect(marker.ran()).toBe(false)
    expect(repo.git('log', '-1', '--format=%s')).toBe('two')
  })

  test('uses the roots of the client, also for completions', async () => {
    const repo = repository()
    repo.commit('one', { 'a.txt': '1\n' })
    const client = await start([], {
      revisions: [revision],
      onRoots: () => [{ uri: pathToFileURL(repo.path).href }],
    })
    expect(textOf(await client.call('git_status'))).toContain('On branch main')
    const { values } = await client.complete({
      ref: { type: 'ref/resource', uri: 'git://{repository}/{revision}/{+path}' },
      argument: { name: 'path', value: '' },
      context: { arguments: { revision: 'main' } },
    })
    expect(values).toEqual(['a.txt'])
  })

  test('offers nothing that changes a repository with --read-only, and does not ask with --confirm never', async () => {
    const repo = repository()
    repo.write('a.txt', '1\n')
    const reading = await start([repo.path, '--read-only'], { revisions: [revision] })
    expect((await reading.tools()).map(({ name }) => name)).not.toContain('git_commit')
    const client = await start([repo.path, '--confirm', 'never'], { revisions: [revision] })
    await client.call('git_add', { paths: ['.'] })
    expect((await client.call('git_commit', { message: 'one' })).structuredContent).toMatchObject({
      status: 'committed',
    })
  })
})

describe('the command line', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', input: '' })

  test('explains itself', () => {
    expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    const { status, stdout, stderr } = run('--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const option of [
      '--read-only',
      '--confirm',
      '--timeout',
      '--max-output',
      '--concurrency',
      '--git',
    ]) {
      expect(stdout).toContain(option)
    }
  })

  test.each([
    [['/no/such/folder'], '/no/such/folder is not a folder'],
    [['--confirm', 'maybe'], '--confirm takes "ask" or "never", not "maybe"'],
    [['--timeout', '0'], '--timeout takes an integer from 1 to 600'],
    [['--max-output', ''], '--max-output takes an integer'],
    [['--colour'], "Unknown option '--colour'"],
  ])('reports %j in one line', (args, message) => {
    const { status, stdout, stderr } = run(...args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
