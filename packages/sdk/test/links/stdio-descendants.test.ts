import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from '@jackfield/sdk/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { child, isAlive } from '../client/support/child.ts'
import { until } from '../client/support/http.ts'

const sdk = fileURLToPath(new URL('../..', import.meta.url))

/** Writes its pid, and "asked" when it gets SIGTERM; it runs on where it is `stubborn`. */
const program = `
  const { appendFileSync } = require('node:fs')
  const [file, stubborn] = process.argv.slice(1)
  process.on('SIGTERM', () => {
    appendFileSync(file, ' asked')
    if (stubborn !== 'stubborn') process.exit()
  })
  process.on('SIGHUP', () => {})
  setInterval(() => {}, 1000)
  appendFileSync(file, String(process.pid))`

/** What a server runs to start \`program\` so that it leaves the process group, in one of these ways. */
const ways = {
  'that called setsid': `start({ detached: true })`,
  'that called setsid and ignores SIGTERM': `start({ detached: true }, 'stubborn')`,
  'that called setsid with an empty environment': `start({ detached: true, env: {} })`,
  'of a child that ended, in a session of its own': `
    const source = 'require("node:child_process").spawn(process.execPath, ' + JSON.stringify(['-e', program, file]) +
      ', { detached: true, stdio: "ignore" }).unref()'
    spawn(process.execPath, ['-e', source], { detached: true, stdio: 'ignore' })`,
}

interface Started {
  /** A module for `child`. */
  source: string
  /** What the started process has written: its pid, then what it got. */
  written(): string
  pid(): number
}

function server(
  way: string,
  answers = 'each((message) => message.method === "server/discover" ? modern(message) : process.exit(1))',
): Started {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-descendants-'))
  const file = join(folder, 'written')
  const written = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  const pid = (): number => Number.parseInt(written(), 10)
  onTestFinished(() => {
    if (isRunning(pid())) process.kill(pid(), 'SIGKILL')
    rmSync(folder, { recursive: true })
  })
  const source = `
    import { spawn } from 'node:child_process'
    const program = ${JSON.stringify(program)}
    const file = ${JSON.stringify(file)}
    const start = (options, ...args) =>
      spawn(process.execPath, ['-e', program, file, ...args], { stdio: 'ignore', ...options }).unref()
    ${way}
    ${answers}`
  return { source, written, pid }
}

/** Whether a process runs; one that ended and was not collected does not. */
function isRunning(pid: number): boolean {
  if (!(pid > 0) || !isAlive(pid)) return false
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function unrelated(): ChildProcess {
  const started = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
  })
  onTestFinished(() => {
    started.kill('SIGKILL')
  })
  return started
}

describe.runIf(process.platform === 'linux')('a process that left the group of its server', () => {
  it.each(Object.entries(ways))('is stopped with the connection: one %s', async (_name, way) => {
    const { source, written, pid } = server(way)
    const client = await connect(child(source))
    await until(() => pid() > 0)
    const other = unrelated()
    await client.close()
    expect(isRunning(pid())).toBe(false)
    expect(written()).toMatch(/^\d+ asked$/)
    expect(other.exitCode).toBeNull()
    expect(isRunning(other.pid ?? 0)).toBe(true)
  })

  it('is stopped after its server exited', async () => {
    const { source, written, pid } = server(ways['that called setsid'])
    const client = await connect(child(source))
    await until(() => pid() > 0)
    await expect(client.call('exit')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await until(() => !isRunning(pid()))
    expect(written()).toMatch(/^\d+ asked$/)
  })

  async function expectStoppedAfterKill(clientSetup: string): Promise<void> {
    const { source, written, pid } = server(
      ways['that called setsid and ignores SIGTERM'],
      'process.stdin.resume()',
    )
    const setup = `${clientSetup}
      const { connect } = await import('@jackfield/sdk/client')
      const { stdio } = await import('@jackfield/sdk/client/stdio')
      const source = ${JSON.stringify(source)}
      await connect(stdio({ command: process.execPath, args: ['--input-type=module', '-e', source] })).catch(() => {})
      setInterval(() => {}, 1000)`
    const client = spawn(process.execPath, ['--input-type=module', '-e', setup], {
      cwd: sdk,
      stdio: 'ignore',
    })
    const ended = once(client, 'exit')
    await until(() => pid() > 0)
    client.kill('SIGKILL')
    await ended
    await until(() => !isRunning(pid()), 20_000)
    expect(written()).toMatch(/^\d+ asked$/)
  }

  it('is stopped when the client process is killed', () => expectStoppedAfterKill(''))

  it('is stopped when the client process is killed in the moment in which it starts the server', () =>
    expectStoppedAfterKill(`
      import childProcess from 'node:child_process'
      import { syncBuiltinESMExports } from 'node:module'
      const { spawn } = childProcess
      childProcess.spawn = (command, ...rest) => {
        const child = spawn(command, ...rest)
        if (command === process.execPath) process.kill(process.pid, 'SIGKILL')
        return child
      }
      syncBuiltinESMExports()`))
})

/** Runs a program where process ids can be chosen: in namespaces of its own. */
const withOwnIds = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc'] as const
const chooseId = 'echo 100 > /proc/sys/kernel/ns_last_pid'
const canChooseIds = spawnSync('unshare', [...withOwnIds, 'sh', '-c', chooseId]).status === 0

it.skipIf(!canChooseIds)(
  `a process that reuses the id of an ended server is not signalled${canChooseIds ? '' : ' [left out: needs unshare, and namespaces]'}`,
  async () => {
    const program = `
      import { spawn } from 'node:child_process'
      import { once } from 'node:events'
      import { writeFileSync } from 'node:fs'
      import { ProcessTree } from ${JSON.stringify(new URL('../../src/transports/client/process-tree.ts', import.meta.url).href)}
      const start = () => spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
      const server = start()
      const tree = new ProcessTree('none', () => server)
      server.kill('SIGKILL')
      await once(server, 'exit')
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(server.pid - 1))
      const other = start()
      const ended = once(other, 'exit')
      await tree.end(10)
      // A signal that was sent before this one ended it.
      other.kill('SIGUSR1')
      const [, signal] = await ended
      console.log(other.pid === server.pid, signal)
      process.exit()`
    const run = promisify(execFile)
    const command = [process.execPath, '--input-type=module', '-e', program]
    const { stdout } = await run('unshare', [...withOwnIds, ...command], { cwd: sdk, timeout: 30_000 })
    expect(stdout).toBe('true SIGUSR1\n')
  },
)
