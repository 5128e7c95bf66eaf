import { describe, expect, it } from 'vitest'
import { started, textOf } from '../../../packages/host/test/fixtures/hosts.ts'
import { person } from '../../../packages/host/test/fixtures/people.ts'
import { homeFolder, named, withoutSandbox } from '../../../packages/host/test/sandbox/bubblewrap.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { account, folder, Marker, repository } from './fixture.ts'

const main = builtProgram('git')
const cli = { caller: 'cli' } as const

describe.skipIf(withoutSandbox !== undefined)(named('the git server in the sandbox of a host'), () => {
  it('reads and commits where it may write, and only reads where it may not', async () => {
    account()
    const repo = repository()
    repo.git('config', 'user.name', 'Ada')
    repo.git('config', 'user.email', 'ada@example.com')
    repo.commit('one', { 'a.txt': '1\n' })
    repo.write('a.txt', '2\n')
    const marker = new Marker(folder())
    repo.git('config', 'core.fsmonitor', marker.program)
    homeFolder()
    const server = { command: process.execPath, args: [main, repo.path] }
    const host = await started({
      servers: {
        git: { ...server, sandbox: { write: [repo.path] } },
        reading: { ...server, sandbox: { read: [repo.path] } },
      },
      rules: [{ id: 'all', verdict: 'allow' }],
    })
    const ada = person({ elicitation: () => ({ action: 'accept', content: { confirm: true } }) })
    host.attach(ada)
    const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
      textOf(await host.call(name, args, cli))
    expect(await call('reading__git_diff')).toContain('-1\n+2')
    expect(await call('reading__git_add', { paths: ['a.txt'] })).toContain('Read-only file system')
    expect(await call('git__git_add', { paths: ['a.txt'] })).toContain('modified: a.txt')
    expect(await call('git__git_commit', { message: 'from a sandbox' })).toContain('Committed')
    expect(ada.asked).toHaveLength(1)
    expect(marker.ran()).toBe(false)
    expect(repo.git('-c', 'core.fsmonitor=false', 'log', '-1', '--format=%s')).toBe('from a sandbox')
  })
})
