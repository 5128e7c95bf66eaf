import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { programFolders } from '../../src/servers/sandbox/program.ts'
import { folder } from '../fixtures/hosts.ts'

/** A home folder with a file in it, which can be executed. */
function file(home: string, path: string, text = ''): string {
  const at = join(home, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text, { mode: 0o755 })
  return at
}

const foldersOf = (home: string, program: string, ...args: string[]): Promise<string[]> =>
  programFolders(program, args, { path: join(home, 'node', 'bin'), cwd: home, home })

describe('the files of a program', () => {
  it('are only those of the system for a system program', async () => {
    expect(await foldersOf('/home/me', '/usr/bin/env')).toEqual([])
  })

  it('are its installation, with its libraries', async () => {
    const home = realpathSync(folder())
    const node = file(home, 'node/bin/node')
    mkdirSync(join(home, 'node', 'lib'))
    expect(await foldersOf(home, node)).toEqual([join(home, 'node/bin'), join(home, 'node/lib')])
    expect(await foldersOf(home, file(home, 'bin/tool'))).toEqual([join(home, 'bin')])
    const python = file(home, 'project/.venv/bin/python')
    file(home, 'project/.venv/pyvenv.cfg')
    expect(await foldersOf(home, python)).toEqual([join(home, 'project/.venv')])
  })

  it('are the package of a script, with its dependencies', async () => {
    const home = realpathSync(folder())
    const node = file(home, 'node/bin/node')
    const script = file(home, 'work/app/src/server.js')
    file(home, 'work/app/package.json')
    mkdirSync(join(home, 'work', 'node_modules'))
    expect(await foldersOf(home, node, '--flag', script)).toEqual([
      join(home, 'node/bin'),
      join(home, 'work/app'),
      join(home, 'work/node_modules'),
    ])
    const installed = file(home, 'work/node_modules/deep/node_modules/server/index.js')
    expect(await foldersOf(home, node, installed)).toEqual([
      join(home, 'node/bin'),
      join(home, 'work/node_modules'),
    ])
  })

  it('are the linked workspace packages it depends on, and none outside the workspace', async () => {
    const home = realpathSync(folder())
    const node = file(home, 'node/bin/node')
    const script = file(home, 'work/servers/app/main.js')
    const dependencies = { '@our/sdk': '1', other: '1', installed: '1', '../../private': '1' }
    file(home, 'work/servers/app/package.json', JSON.stringify({ dependencies }))
    file(home, 'work/packages/sdk/package.json', JSON.stringify({ dependencies: { '@our/base': '1' } }))
    for (const path of ['work/packages/base', 'work/packages/unused', 'elsewhere', 'private']) {
      file(home, `${path}/package.json`, '{}')
    }
    file(home, 'work/node_modules/installed/package.json', '{}')
    mkdirSync(join(home, 'work/node_modules/@our'))
    for (const [name, to] of [
      ['@our/sdk', '../../packages/sdk'],
      ['@our/base', '../../packages/base'],
      ['unused', '../packages/unused'],
      ['other', '../../elsewhere'],
    ] as const) {
      symlinkSync(to, join(home, 'work/node_modules', name))
    }
    expect(await foldersOf(home, node, script)).toEqual([
      join(home, 'node/bin'),
      join(home, 'work/servers/app'),
      join(home, 'work/node_modules'),
      join(home, 'work/packages/sdk'),
      join(home, 'work/packages/base'),
    ])
  })

  it("include the interpreter in a script's first line", async () => {
    const home = realpathSync(folder())
    file(home, 'node/bin/node')
    const script = file(home, 'work/node_modules/server/cli.js', '#!/usr/bin/env node\n')
    mkdirSync(join(home, 'work/node_modules/.bin'))
    const link = join(home, 'work/node_modules/.bin/server')
    symlinkSync(script, link)
    expect(await foldersOf(home, link)).toEqual([join(home, 'work/node_modules'), join(home, 'node/bin')])
  })

  it('never include the home folder', async () => {
    const home = realpathSync(folder())
    const node = file(home, 'node/bin/node')
    file(home, 'package.json')
    const script = file(home, 'server.js')
    expect(await foldersOf(home, node, script)).toEqual([join(home, 'node/bin'), script])
    expect(await foldersOf(home, file(home, 'tools/server'))).toEqual([join(home, 'tools')])
  })
})
