import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import type { Sandbox } from '../../src/types/index.ts'
import { hostOf, started, textOf } from '../fixtures/hosts.ts'
import { homeFolder, named, withoutSandbox } from './bubblewrap.ts'

const prying = fileURLToPath(new URL('../fixtures/prying-server.ts', import.meta.url))

/** A home folder with these files. */
function home(files: readonly string[]): string {
  const made = homeFolder()
  for (const file of files) write(join(made, file), 'at first')
  return made
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** What a server with this sandbox reads. */
async function reader(sandbox: Sandbox): Promise<(path: string) => Promise<string>> {
  const rules = [{ id: 'all', verdict: 'allow' }] as const
  const servers = { s: { command: process.execPath, args: [prying], sandbox } }
  const host = await started({ servers, rules: [...rules] })
  return async (path) => {
    const text = textOf(await host.call('s__read', { path }, { caller: 'cli' }))
    return /EN(?:OENT|OTDIR)/.test(text) ? 'not there' : JSON.parse(text)
  }
}

async function stateOf(sandbox: Sandbox): Promise<unknown> {
  const host = hostOf({ servers: { s: { command: process.execPath, args: [prying], sandbox } } })
  await host.start()
  return host.connections.get('s')
}

describe.skipIf(withoutSandbox !== undefined)(named('keys and logins in an open home folder'), () => {
  it('stay hidden when they are written, replaced or moved after the start', async () => {
    const at = home(['.netrc', '.ssh/id', '.config/app/settings', '.config/gh/hosts.yml', 'notes/one'])
    const read = await reader({ read: ['~'] })
    // As programs save: a new file under the name of the old one.
    write(join(at, '.netrc.new'), 'canary')
    renameSync(join(at, '.netrc.new'), join(at, '.netrc'))
    write(join(at, '.aws/credentials'), 'canary')
    renameSync(join(at, '.ssh'), join(at, '.ssh.old'))
    write(join(at, '.ssh/id'), 'canary')
    renameSync(join(at, '.config'), join(at, '.config.old'))
    write(join(at, '.config/gh/hosts.yml'), 'canary')
    write(join(at, '.config/gcloud/token'), 'canary')
    write(join(at, '.local/share/keyrings/login'), 'canary')
    const secrets = [
      '.netrc',
      '.aws/credentials',
      '.ssh/id',
      '.ssh.old/id',
      '.config/gh/hosts.yml',
      '.config/gcloud/token',
      '.config.old/gh/hosts.yml',
      '.local/share/keyrings/login',
    ]
    for (const secret of secrets)
      expect([secret, await read(join(at, secret))]).toEqual([secret, 'not there'])
  })

  it('leave the rest of it readable, with later additions to its folders', async () => {
    const at = home(['.netrc', '.config/app/settings', '.config/gh/hosts.yml', 'notes/one', 'plain'])
    symlinkSync('notes', join(at, 'alias'))
    const read = await reader({ read: ['~', '~/alias', '~/.config/gh'] })
    write(join(at, 'notes/two'), 'later')
    expect(await read(join(at, 'plain'))).toBe('at first')
    expect(await read(join(at, 'alias/one'))).toBe('at first')
    expect(await read(join(at, 'notes/two'))).toBe('later')
    expect(await read(join(at, '.config/app/settings'))).toBe('at first')
    expect(await read(join(at, '.config/gh/hosts.yml'))).toBe('at first')
  })

  it.each([['~'], ['~/..']])('are hidden if %s is open and they are links elsewhere', async (open) => {
    const at = home(['dotfiles/ssh/id', 'dotfiles/vimrc', 'dotfiles/config/app/settings'])
    symlinkSync(join(at, 'dotfiles/ssh'), join(at, '.ssh'))
    symlinkSync('dotfiles/config', join(at, '.config'))
    const read = await reader({ read: [open] })
    write(join(at, 'dotfiles/config/gh/hosts.yml'), 'canary')
    expect(await read(join(at, 'dotfiles/vimrc'))).toBe('at first')
    expect(await read(join(at, '.config/app/settings'))).toBe('at first')
    expect(await read(join(at, '.ssh/id'))).toBe('not there')
    expect(await read(join(at, 'dotfiles/ssh/id'))).toBe('not there')
    expect(await read(join(at, 'dotfiles/config/gh/hosts.yml'))).toBe('not there')
    expect(await read(join(at, '.config/gh/hosts.yml'))).toBe('not there')
  })

  it('are hidden at the paths set by their variables', async () => {
    const at = home(['settings/gh/hosts.yml', 'settings/app', 'data/keyrings/login'])
    vi.stubEnv('XDG_CONFIG_HOME', join(at, 'settings'))
    vi.stubEnv('XDG_DATA_HOME', join(at, 'data'))
    const read = await reader({ read: ['~'] })
    expect(await read(join(at, 'settings/app'))).toBe('at first')
    expect(await read(join(at, 'settings/gh/hosts.yml'))).toBe('not there')
    expect(await read(join(at, 'data/keyrings/login'))).toBe('not there')
  })

  it.each([['~'], ['/'], ['~/.config']])('cannot be opened for writing with %s', async (open) => {
    home(['.config/app/settings'])
    expect(await stateOf({ write: [open] })).toMatchObject({
      state: 'failed',
      error: { code: 'INVALID' },
      reason: expect.stringMatching(/under "write", which contains .*List the folders in it/),
    })
  })

  it('are not searched among more entries than can be mounted', async () => {
    const at = home([])
    for (let index = 0; index <= 500; index++) writeFileSync(join(at, `file-${index}`), '')
    expect(await stateOf({ read: ['~'] })).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('more than 500'),
    })
  })
})

it.skipIf(withoutSandbox !== undefined)(
  named('services of this machine are in no sandbox that has / open, unless they are named'),
  async () => {
    home([])
    const found = realpathSync('/run')
    const list = async (sandbox: Sandbox): Promise<string> => {
      const servers = { s: { command: process.execPath, args: [prying], sandbox } }
      const host = await started({ servers, rules: [{ id: 'all', verdict: 'allow' }] })
      return textOf(await host.call('s__list', { path: found }, { caller: 'cli' }))
    }
    expect(await list({ read: ['/'] })).toMatch(/ENOENT/)
    expect(await list({ read: ['/', '/run'] })).toMatch(/^\[/)
  },
)
