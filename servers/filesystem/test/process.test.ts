import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sandboxReady } from '@jackfield/host'
import { connect, http } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { officialV1 } from '../../../test/interop/clients/official-v1.ts'
import { officialV2 } from '../../../test/interop/clients/official-v2.ts'
import { type ClientAnswers, defaultAnswers } from '../../../test/interop/suite/test-client.ts'
import { builtProgram } from '../../../test/setup/built-program.ts'
import { accepting, eras, folderWith, textOf } from './fixture.ts'

const main = builtProgram('filesystem')
const workspace = fileURLToPath(new URL('../../..', import.meta.url))

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

/** Everything that a child writes until it ends, and how it ends. */
async function outcome(child: ChildProcess): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

describe.each(eras)('the server as a process on %s', (era) => {
  test('serves directories of its command line over standard input and output', async () => {
    const folder = folderWith({ 'a.txt': 'old' })
    const transport = stdio({ command: process.execPath, args: [main, folder, join(folder, 'missing')] })
    const client = await connect(transport, { revisions: [era], ...accepting })
    onTestFinished(() => client.close())
    expect(client.server.revision).toBe(era)
    expect(textOf(await client.call('read_text_file', { path: 'a.txt' }))).toBe('old')
    await client.call('write_file', { path: 'a.txt', content: 'new' })
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('new')
  })

  test('serves HTTP on 127.0.0.1 to callers with the token', async () => {
    const folder = folderWith({ 'a.txt': 'a' })
    const token = 'x'.repeat(32)
    const child = start(['--http', '0', folder], { JACKFIELD_FILESYSTEM_TOKEN: token })
    let output = ''
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', () => reject(new Error(output)))
      child.stderr?.on('data', (chunk) => {
        output += chunk
        const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(output)?.[0]
        if (address !== undefined) resolve(address)
      })
    })
    const open = (authorization: string | undefined) =>
      connect(http(url, authorization === undefined ? {} : { headers: { authorization } }), {
        revisions: [era],
      })
    const client = await open(`Bearer ${token}`)
    expect(textOf(await client.call('read_text_file', { path: 'a.txt' }))).toBe('a')
    await client.close()
    for (const wrong of [undefined, `Bearer ${'y'.repeat(32)}`, `Bearer ${token.slice(1)}`, token]) {
      await expect(open(wrong)).rejects.toThrow()
    }
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
  })
})

describe('the command line', () => {
  test('explains itself', async () => {
    const { code, stdout, stderr } = await outcome(start(['--help']))
    expect(code).toBe(0)
    for (const word of ['--read-only', '--confirm', '--ignore-roots', '--limit', '--http', 'readBytes']) {
      expect(stdout).toContain(word)
    }
    expect(stderr).toBe('')
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect((await outcome(start(['--version']))).stdout).toBe(`${version}\n`)
  })

  test.each([
    [['--http', 'soon'], 2, '--http needs a port'],
    [['--http', '0'], 2, 'needs a token of at least 32 characters'],
    [['--confirm', 'maybe'], 2, '--confirm needs one of always, overwrite, never'],
    [['--limit', 'matches'], 2, '--limit needs NAME=N'],
    [['--limit', 'nothing=1'], 2, 'There is no limit "nothing"'],
    [['--ignore-roots'], 2, 'at least one directory'],
    [['--colour'], 2, "Unknown option '--colour'"],
    [['/no/such/directory'], 1, '/no/such/directory'],
  ])('reports %j in one line', async (args, code, message) => {
    const ended = await outcome(start(args, { JACKFIELD_FILESYSTEM_TOKEN: '' }))
    expect(ended.code).toBe(code)
    expect(ended.stdout).toBe('')
    expect(ended.stderr).toContain(message)
    expect(ended.stderr).not.toMatch(/^\s+at /m)
  })
})

const clients = [
  { kind: officialV1, revision: '2025-06-18' },
  { kind: officialV2, revision: '2025-06-18' },
  { kind: officialV2, revision: '2026-07-28' },
] as const

describe.each(clients)('$kind.name at $revision', ({ kind, revision }) => {
  test('reads, searches, confirms a change, gets progress and is notified of changes', {
    timeout: 90_000,
  }, async () => {
    const folder = folderWith({
      'a.txt': 'old',
      ...Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`d${n % 50}/${n}`, ''])),
    })
    const questions: string[] = []
    const answers: ClientAnswers = {
      ...defaultAnswers(),
      person: ({ message }) => {
        questions.push(message)
        return { action: 'accept', content: {} }
      },
      folders: [{ uri: pathToFileURL(folder).href }],
    }
    const address = { command: process.execPath, args: [main] }
    const client = await kind.connect(address, revision, { answers, fetch })
    onTestFinished(() => client.close())
    expect(client.server).toMatchObject({ name: 'filesystem' })
    expect(await client.tools()).toHaveLength(17)
    expect(await client.call('read_text_file', { path: 'a.txt' })).toMatchObject({
      structuredContent: { content: 'old' },
    })
    expect(await client.read(pathToFileURL(join(folder, 'a.txt')).href)).toMatchObject([{ text: 'old' }])
    expect((await client.resources()).map(({ name }) => name)).toContain('a.txt')
    const typed = join(folder, 'a').slice(1)
    const completed = await client.complete({ template: 'file:///{+path}' }, { name: 'path', value: typed })
    expect(completed.values).toEqual([join(folder, 'a.txt').slice(1)])
    const progress: number[] = []
    const onProgress = ({ progress: done }: { progress: number }): void => {
      progress.push(done)
    }
    await client.call('search_files', { path: folder, pattern: 'none' }, { onProgress })
    expect(progress.length).toBeGreaterThan(0)
    const stop = await client.watch({ uris: [pathToFileURL(join(folder, 'a.txt')).href] })
    expect((await client.call('write_file', { path: 'a.txt', content: 'new' })).isError ?? false).toBe(false)
    expect(questions).toEqual([expect.stringContaining('Overwrite')])
    await expect
      .poll(() => client.notifications.changes, { timeout: 60_000 })
      .toContain(pathToFileURL(join(folder, 'a.txt')).href)
    await stop()
    expect(await client.call('read_text_file', { path: '/etc/passwd' })).toMatchObject({ isError: true })
  })
})

const sandbox = await sandboxReady()
const withoutSandbox = sandbox.ready ? '' : ` [left out: needs bubblewrap (bwrap): ${sandbox.reason}]`

describe.skipIf(!sandbox.ready)(`in the sandbox of jackfield${withoutSandbox}`, () => {
  test('reads and writes the directories that both allow', async () => {
    const folder = folderWith({ 'work/a.txt': 'a', 'read/b.txt': 'b', 'one/file.txt': 'c', 'home/': '' })
    symlinkSync(join(folder, 'read/b.txt'), join(folder, 'work/link'))
    const [work, read, file] = [join(folder, 'work'), join(folder, 'read'), join(folder, 'one/file.txt')]
    const config = join(folder, 'config.json')
    const server = {
      command: process.execPath,
      args: [main, '--confirm', 'never', work, read, file],
      // No person can be asked here which folders it may know.
      roots: false,
      // The packages of the workspace are links; an installed server needs its directories only.
      sandbox: { read: [read, join(workspace, 'packages/sdk')], write: [work, file] },
    }
    writeFileSync(config, JSON.stringify({ mcpServers: { files: server } }))
    const jackfield = async (
      ...words: string[]
    ): Promise<{ code: number; stdout: string; stderr: string }> => {
      const args = [
        builtProgram('jackfield'),
        ...words,
        '--config',
        config,
        '--store',
        join(folder, 'store.db'),
      ]
      const child = spawn(process.execPath, args, {
        cwd: join(folder, 'home'),
        env: { PATH: process.env['PATH'], HOME: join(folder, 'home'), TMPDIR: process.env['TMPDIR'] },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      return outcome(child)
    }
    const call = (tool: string, ...args: string[]) => jackfield('call', 'files', tool, ...args)
    expect(await call('read_text_file', 'path=a.txt')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('a'),
    })
    expect((await call('read_text_file', `path=${join(work, 'link')}`)).stdout).toContain('b')
    expect(await call('write_file', `path=${join(work, 'new.txt')}`, 'content=new')).toMatchObject({
      code: 0,
    })
    expect(readFileSync(join(work, 'new.txt'), 'utf8')).toBe('new')
    const refused = await call('write_file', `path=${join(read, 'new.txt')}`, 'content=new')
    expect(`${refused.stdout}${refused.stderr}`).toContain('the file system is read-only')
    expect(existsSync(join(read, 'new.txt'))).toBe(false)
    // Nothing can be created beside the file.
    expect(await call('write_file', `path=${file}`, 'content=changed')).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toBe('changed')
  })
})
