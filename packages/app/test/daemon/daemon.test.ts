import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { begin, type Ended, run as runInProcess, runProcess, tempFolder, travel } from '../cli/jackfield.ts'

interface Project {
  readonly folder: string
  readonly data: string
  run(...args: string[]): Promise<Ended>
  /** As `run`, in a process of its own. */
  runProcess(...args: string[]): Promise<Ended>
  /** As `runProcess`, with other variables. */
  runWith(env: Record<string, string>, ...args: string[]): Promise<Ended>
  /** Process ids of the host processes. */
  hosts(): Promise<number[]>
}

/**
 * A folder with one configured server, whose host process ends with the test. Tests of this file run side by side, so each
 * gives its own context.
 */
function project({ onTestFinished }: TestContext): Project {
  const folder = tempFolder()
  const data = tempFolder()
  const [command, ...args] = travel()
  const config = { mcpServers: { travel: { command, args } } }
  writeFileSync(join(folder, 'jackfield.json'), JSON.stringify(config))
  const options = { cwd: folder, env: { HOME: folder, XDG_DATA_HOME: data, JACKFIELD_DAEMON: 'on' } }
  const run = (...args: string[]): Promise<Ended> => runInProcess(args, options)
  onTestFinished(async () => {
    await run('daemon', 'stop', '--all', '--now')
  })
  return {
    folder,
    data,
    run,
    runProcess: (...args) => runProcess(args, options),
    runWith: (env, ...args) => runProcess(args, { cwd: folder, env: { ...options.env, ...env } }),
    async hosts() {
      const { stdout } = await run('daemon', 'status', '--all', '--json')
      const { hosts }: { hosts: { pid: number }[] } = JSON.parse(stdout)
      return hosts.map(({ pid }) => pid)
    },
  }
}

const mine = '--start-what-this-folder-names'
const tools = ['tools', 'travel', mine, '--json']
const flights = [
  'call',
  'travel.searchFlights',
  'origin=OSL',
  'destination=BCN',
  'date=2027-01-10',
  mine,
  '--json',
]

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 15_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within 15 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Processes of the travel server that belong to a host process. */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').filter(Boolean).map(Number)
}

const onLinux = process.platform === 'linux'

describe.concurrent('the host process of a folder', { timeout: 60_000 }, () => {
  test('is started by the first command that needs a server, and used by the next', async (context) => {
    const { run, runProcess, hosts } = project(context)
    expect((await run('daemon')).stdout).toContain('No host process runs for this folder')
    const first = await runProcess(...tools)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const [pid, ...others] = await hosts()
    expect(others).toEqual([])
    const children = onLinux ? childrenOf(pid ?? 0) : []
    expect(await run(...flights)).toMatchObject({ code: 0, stderr: '' })
    expect((await run(...tools)).stdout).toBe(first.stdout)
    expect(await hosts()).toEqual([pid])
    if (onLinux) expect(childrenOf(pid ?? 0)).toEqual(children)
    expect((await run('daemon', 'stop', '--discover')).stdout).toBe(
      'No host process was running with these options.\n',
    )
    // It was started with an option, and without options it is still the one of this folder.
    expect((await run('daemon', 'status')).stdout).toMatch(new RegExp(`^${pid} `, 'm'))
    expect((await run('daemon', 'stop')).stdout).toContain(`The host process ${pid} ends.`)
    await until(() => !isRunning(pid ?? 0), 'the end of the host process')
    await until(() => children.every((child) => !isRunning(child)), 'the end of its servers')
  })

  test('fails a call whose question no terminal can show, with the ways to answer', async (context) => {
    const { run } = project(context)
    const trip = ['destination=Barcelona', 'departure=2099-06-15', 'returnDate=2099-06-22']
    expect(await run('call', 'travel.bookVacation', ...trip, mine)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/needs a question answered \(elicitation\).*--park.*--answers FILE/),
    })
  })

  test('is used by commands for all servers, which start none of their own', {
    timeout: 60_000,
  }, async (context) => {
    const { run, hosts } = project(context)
    expect(await run(...tools)).toMatchObject({ code: 0 })
    const before = await hosts()
    for (const words of [
      ['search', 'flight'],
      ['find', 'calendar'],
      ['resources', '--tree'],
      ['tools', '--meter'],
      ['servers'],
      ['roots', 'allow', 'travel'],
    ])
      expect([words, await run(...words, mine)]).toMatchObject([words, { code: 0 }])
    const { activity }: { activity: { kind: string; outcome: string }[] } = JSON.parse(
      (await run('activity', '--json')).stdout,
    )
    const connected = activity.filter(({ kind, outcome }) => kind === 'connection' && outcome === 'ready')
    expect(connected).toHaveLength(1)
    expect(await hosts()).toEqual(before)
  })

  test('is only one, even if many commands start at once', async (context) => {
    const { runProcess, hosts } = project(context)
    const ended = await Promise.all(Array.from({ length: 6 }, () => runProcess(...tools)))
    for (const { code, stderr } of ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await hosts()).toHaveLength(1)
  })

  test('is replaced after a kill, and leaves no server behind', async (context) => {
    const { run, hosts } = project(context)
    expect(await run(...tools)).toMatchObject({ code: 0 })
    const [pid = 0] = await hosts()
    const children = onLinux ? childrenOf(pid) : []
    process.kill(pid, 'SIGKILL')
    await until(() => !isRunning(pid), 'the end of the host process')
    await until(() => children.every((child) => !isRunning(child)), 'the end of its servers')
    expect(await run(...tools)).toMatchObject({ code: 0, stderr: '' })
    expect(await hosts()).not.toContain(pid)
  })

  test('reloads the configuration before each command', async (context) => {
    const { run, folder } = project(context)
    expect(await run(...tools)).toMatchObject({ code: 0 })
    const [command, ...args] = travel()
    const config = { mcpServers: { travel: { command, args }, again: { command, args } } }
    writeFileSync(join(folder, 'jackfield.json'), JSON.stringify(config))
    expect(await run('tools', 'again', mine, '--json')).toMatchObject({ code: 0, stderr: '' })
    writeFileSync(
      join(folder, 'jackfield.json'),
      JSON.stringify({ mcpServers: { again: { command, args } } }),
    )
    expect(await run(...tools)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has no server .{1,2}travel/),
    })
  })

  test('knows which server a tool belongs to whose server was left out', async (context) => {
    const { run } = project(context)
    expect(await run(...tools)).toMatchObject({ code: 0 })
    expect(await run('call', 'searchFlights', 'origin=OSL', mine)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'searchFlights is a tool of travel. Name the server first: jackfield call travel searchFlights\n',
      ),
    })
  })

  test('is not used if variables differ, with a notice', async (context) => {
    const { runProcess, runWith, hosts } = project(context)
    expect(await runProcess(...tools)).toMatchObject({ code: 0 })
    const other = await runWith({ HTTPS_PROXY: 'http://127.0.0.1:9', PATH: '/usr/bin:/bin' }, ...tools)
    expect(other.code).toBe(0)
    expect(other.stderr).toMatch(/different values of .*PATH.*jackfield daemon stop/)
    expect(await hosts()).toHaveLength(1)
  })

  test('is not used if its files cannot be written', async (context) => {
    const { folder, runWith } = project(context)
    const file = join(folder, 'a-file')
    writeFileSync(file, '')
    const store = join(folder, 'store.db')
    const ended = await runWith({ XDG_DATA_HOME: file }, ...tools, '--store', store)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  })

  test('is not used with --no-daemon', async (context) => {
    const { run, hosts } = project(context)
    expect(await run(...tools, '--no-daemon')).toMatchObject({ code: 0, stderr: '' })
    expect(await hosts()).toEqual([])
  })

  test('ends after an idle time, or when its files are removed', async (context) => {
    const { folder, data } = project(context)
    const env = { HOME: folder, XDG_DATA_HOME: data }
    const idle = begin(['daemon', 'serve', '--idle', '0.3'], { cwd: folder, env })
    expect(await idle.ended).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(join(data, 'jackfield', 'hosts')).filter((name) => name.endsWith('.json'))).toEqual([])
  })

  test.runIf(process.platform !== 'win32')(
    'can be reached only by its user, with its token',
    async (context) => {
      const { run, data } = project(context)
      expect(await run(...tools)).toMatchObject({ code: 0 })
      const folder = join(data, 'jackfield', 'hosts')
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      const names = readdirSync(folder)
      for (const name of names) expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0])
      const [socket = ''] = names.filter((name) => name.endsWith('.sock'))
      expect(existsSync(join(folder, socket))).toBe(true)
      const stranger = connect(join(folder, socket))
      let output = ''
      stranger.on('data', (chunk) => (output += chunk))
      stranger.write(
        `${JSON.stringify({ hello: { client: 'a-stranger-without-token', name: 'x', build: '' } })}\n`,
      )
      await new Promise((resolve) => stranger.once('close', resolve))
      expect(output).toBe('')
    },
  )
})
