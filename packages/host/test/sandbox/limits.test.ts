import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { processLimit } from '../../src/servers/sandbox/ready.ts'
import type { Sandbox, StdioServerConfig } from '../../src/types/index.ts'
import { folder, hostOf } from '../fixtures/hosts.ts'
import { named, withoutSandbox } from './bubblewrap.ts'

const root = process.getuid?.() === 0
/** Linux does not limit the processes of root, so for root these tests run as another account. */
const nobody = { uid: 65_534, gid: 65_534 }
const packageFolder = fileURLToPath(new URL('../..', import.meta.url))

const limit = await processLimit()

interface Started {
  sandbox: Sandbox
  /** A module that the server runs. What it writes to stderr is what comes back. */
  server: string
  account?: { uid: number; gid: number }
  /** Open as descriptor 200 of the process that starts the server. */
  inherited?: number
}

/** What a server in a sandbox writes, started by a process of its own. */
async function written({ sandbox, server, account, inherited }: Started): Promise<string> {
  const command = { command: process.execPath, args: ['--input-type=module', '-e', server] }
  const program = `
    import { connect } from '@jackfield/sdk/client'
    import { stdio } from '@jackfield/sdk/client/stdio'
    import { sandboxed } from ${JSON.stringify(new URL('../../src/servers/sandbox/sandbox.ts', import.meta.url).href)}
    const config = ${JSON.stringify({ ...command, sandbox })}
    const box = await sandboxed(config, { home: '/nonexistent' })
    const onStderr = (text) => process.stdout.write(text)
    await connect(stdio({ ...box.launch, onStderr }), { revisions: ['2026-07-28'] }).catch(() => {})
    await box.closed()`
  const client = spawn(process.execPath, ['--input-type=module', '-e', program], {
    ...account,
    cwd: packageFolder,
    // The folder of the tests is for their account alone.
    env: { ...process.env, TMPDIR: '/tmp' },
    stdio: ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(197).fill('ignore'), inherited ?? 'ignore'],
  })
  onTestFinished(() => {
    client.kill('SIGKILL')
  })
  if (client.stdout === null) throw new Error('There is no output')
  const [output] = await Promise.all([text(client.stdout), once(client, 'exit')])
  return output
}

async function stateOf(sandbox: Sandbox): Promise<unknown> {
  const server: StdioServerConfig = { command: process.execPath, args: ['-e', ''], sandbox }
  const host = hostOf({ servers: { s: server } })
  await host.start()
  return host.connections.get('s')
}

describe.skipIf(withoutSandbox !== undefined)(named('a server in a sandbox'), () => {
  it('inherits no file descriptor of its host', async () => {
    const at = folder()
    writeFileSync(join(at, 'secret'), 'canary')
    const inherited = openSync(at, 'r')
    onTestFinished(() => closeSync(inherited))
    const server = `
      import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
      const attempts = {
        list: () => readdirSync('/proc/self/fd/200'),
        read: () => readFileSync('/proc/self/fd/200/secret', 'utf8'),
        leave: () => readFileSync('/proc/self/fd/200/../../../../../../../etc/shadow', 'utf8'),
        write: () => writeFileSync('/proc/self/fd/200/new', ''),
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        try { console.error(name, 'succeeded', attempt()) } catch (error) { console.error(name, error.code) }
      }
      for (const name of readdirSync('/proc/1/fd')) {
        try { console.error('first', readlinkSync('/proc/1/fd/' + name)) } catch {}
      }`
    const output = await written({ sandbox: {}, server, inherited })
    const failed = ['list', 'read', 'leave', 'write'].map((name) => `${name} ENOTDIR`)
    expect(output.split('\n').filter((line) => /^(?:list|read|leave|write) /.test(line))).toEqual(failed)
    expect(output).not.toContain(at)
    expect(existsSync(join(at, 'new'))).toBe(false)
  })

  it("cannot fill the machine's memory with files", async () => {
    const server = `
      import { writeFileSync } from 'node:fs'
      for (const folder of ['/tmp', process.env.HOME, '/dev/shm', '/dev', '/']) {
        for (const [size, bytes] of [['small', 1_000], ['large', 1_100_000]]) {
          try { writeFileSync(folder + '/' + size, Buffer.alloc(bytes)); console.error(folder, size, 'written') }
          catch (error) { console.error(folder, size, error.code) }
        }
      }`
    const output = await written({ sandbox: { maxTemporaryBytes: 1_048_576 }, server })
    const expected = ['/tmp', '/home/sandbox', '/dev/shm'].flatMap((at) => [
      `${at} small written`,
      `${at} large ENOSPC`,
    ])
    const readOnly = ['/dev', '/'].flatMap((at) => [`${at} small EROFS`, `${at} large EROFS`])
    expect(output.trim().split('\n')).toEqual([...expected, ...readOnly])
  })

  it('has folders of bounded size by default', async () => {
    const server = `
      import { statfsSync } from 'node:fs'
      for (const at of ['/tmp', process.env.HOME, '/dev/shm']) {
        const { blocks, bsize } = statfsSync(at)
        console.error(blocks * bsize <= 2 ** 30)
      }`
    expect(await written({ sandbox: {}, server })).toBe('true\ntrue\ntrue\n')
  })

  it('is not started if its process limit cannot be enforced, with the reason', async () => {
    const reason =
      'reason' in limit
        ? expect.stringContaining(`sets "maxProcesses" and that cannot be enforced here: ${limit.reason}`)
        : expect.stringContaining('exited with code 0')
    expect(await stateOf({ maxProcesses: 100 })).toMatchObject({ state: 'failed', reason })
  })
})

/** Undefined where the processes of a sandbox can be limited, for this account or for `nobody`. */
const unlimited =
  withoutSandbox ?? ('reason' in limit && !root ? `cannot be limited here: ${limit.reason}` : undefined)
const account = root ? nobody : undefined

describe.skipIf(unlimited !== undefined)(
  unlimited === undefined
    ? 'the processes of a sandbox'
    : `the processes of a sandbox [left out: it ${unlimited}]`,
  () => {
    const bomb = `
      import { spawn } from 'node:child_process'
      let started = 0
      for (; started < 200; started++) {
        if (spawn('sleep', ['60'], { stdio: 'ignore' }).on('error', () => {}).pid === undefined) break
      }
      console.error(started)
      process.exit()`

    it.each([
      ['without a network', []],
      ['with a proxy', ['example.org']],
    ])('are no more than the limit, %s', async (_name, network) => {
      const output = await written({
        sandbox: { maxProcesses: 80, network },
        server: bomb,
        ...(account !== undefined && { account }),
      })
      expect(Number(output)).toBeGreaterThan(10)
      expect(Number(output)).toBeLessThan(80)
    })

    it('are limited by default, and the limit cannot be raised from inside', async () => {
      const server = `
        import { spawnSync } from 'node:child_process'
        import { readFileSync } from 'node:fs'
        console.error(/^Max processes +\\S+ +\\S+/m.exec(readFileSync('/proc/self/limits', 'utf8'))[0])
        console.error(spawnSync('prlimit', ['--nproc=5000:5000', 'true']).status)`
      const output = await written({ sandbox: {}, server, ...(account !== undefined && { account }) })
      const [line = '', status] = output.split('\n')
      const [soft, hard] = line.split(/ +/).slice(2).map(Number)
      expect([soft, hard]).toEqual([Math.min(1_024, hard ?? 0), soft])
      expect(status).toBe('1')
    })
  },
)
