import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ClientTransportFactory, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { RemoteMessages } from '../../../../test/setup/remote-messages.ts'
import { child, isAlive } from '../client/support/child.ts'
import { until } from '../client/support/http.ts'

const linux = process.platform === 'linux'
const program = programFile(new URL('../serve/stdio-program.ts', import.meta.url))
const node = process.execPath

async function open(link: ClientTransportFactory, options: ConnectOptions = {}) {
  const client = await connect(link, options)
  onTestFinished(() => client.close())
  return client
}

/** Whether a process runs; one that ended but was not yet collected does not. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/^\d+ \(.*\) Z/.test(readFileSync(stat, 'utf8'))
}

/** Collects what a server writes to stderr. */
function ear() {
  let text = ''
  const onStderr = (more: string): void => {
    text += more
  }
  const pid = async (name: string): Promise<number> => {
    await until(() => new RegExp(`${name} \\d+\\n`).test(text))
    return Number(new RegExp(`${name} (\\d+)\\n`).exec(text)?.[1])
  }
  return { onStderr, pid }
}

describe('a program that cannot be started', () => {
  it('is reported with its code and a message', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jackfield-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'program')
    await writeFile(file, '#!/bin/sh\n')
    await chmod(file, 0o600)
    const failures: [string, string, RegExp][] = [
      ['jackfield-no-such-program', 'ENOENT', /no such program/],
      [file, 'EACCES', /not executable/],
      [join(folder, 'none'), 'ENOENT', /no such program/],
    ]
    for (const [command, code, words] of failures) {
      await expect(connect(stdio({ command }))).rejects.toMatchObject({
        code: 'CONNECT_FAILED',
        message: expect.stringMatching(words),
        details: { code },
      })
    }
    await expect(connect(stdio({ command: 'a\0b' }))).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })
})

describe('a server process that exits during calls', () => {
  const deaths: [string, string, object, RegExp][] = [
    ['exits', 'process.exit(7)', { exitCode: 7, signal: null }, /exited with code 7/],
    ['exits without a fault', 'process.exit(0)', { exitCode: 0, signal: null }, /exited with code 0/],
    ['is killed', "process.kill(process.pid, 'SIGKILL')", { exitCode: null, signal: 'SIGKILL' }, /SIGKILL/],
    ['aborts', 'process.abort()', { exitCode: null, signal: 'SIGABRT' }, /SIGABRT/],
    ['throws', "setTimeout(() => { throw new Error('boom') })", { exitCode: 1, signal: null }, /code 1/],
  ]
  it.each(deaths)('because it %s rejects every call with the reason', async (_, code, details, words) => {
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') return modern(message)
        console.error('disk is full')
        ${code}
      })`),
    )
    const calls = await Promise.allSettled([client.call('a'), client.call('b'), client.tools()])
    for (const [at, call] of calls.entries()) {
      expect(call).toMatchObject({
        status: 'rejected',
        reason: {
          // A lost tool call may have run; a list can be repeated.
          code: at < 2 ? 'OUTCOME_UNKNOWN' : 'CONNECTION_CLOSED',
          message: expect.stringMatching(words),
          details: { ...details, stderr: expect.stringContaining('disk is full\n') },
        },
      })
    }
  })

  it('has the end of its output in the error, at most 4 kB of it', async () => {
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') return modern(message)
        process.stderr.write('x'.repeat(1_000_000) + '\\nthe last words\\n', () => process.exit(1))
      })`),
    )
    const error = await client.call('a').catch((error) => error)
    expect(error.message).toContain('the last words')
    expect(error.message.length).toBeLessThan(400)
    expect(error.details.stderr).toHaveLength(4096)
    expect(error.details.stderr.endsWith('x\nthe last words\n')).toBe(true)
  })

  it.runIf(linux)('or only closes its output, is ended with its tree', async () => {
    const { onStderr, pid } = ear()
    const client = await open(
      child(
        `
        import { closeSync } from 'node:fs'
        console.error('server ' + process.pid)
        setInterval(() => {}, 1000)
        each((message) => message.method === 'server/discover' ? modern(message) : closeSync(1))`,
        { onStderr },
      ),
    )
    await expect(client.call('a')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/closed its output\..* tools\/call may have run: check before/),
    })
    const server = await pid('server')
    await until(() => !isRunning(server))
  })
})

describe.runIf(linux)('closing ends the whole process tree', () => {
  const stubborn = `
    process.on('SIGTERM', () => {})
    console.error('grandchild ' + process.pid)
    setInterval(() => {}, 1000)`
  const server = `
    console.error('server ' + process.pid)
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id } = JSON.parse(line)
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete',
        supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' } }))
    })`
  const wrappers: [string, string, string[]][] = [
    ['sh -c', 'sh', ['-c', '"$0" -e "$1"; true', node, server]],
    ['sh -c in the background', 'sh', ['-c', 'exec 3<&0; "$0" -e "$1" <&3 & wait', node, server]],
    [
      'a launcher as npx is one',
      node,
      [
        '-e',
        `process.on('SIGTERM', () => {})
        require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]], { stdio: 'inherit' })`,
        server,
      ],
    ],
    [
      'with a stubborn grandchild',
      node,
      [
        '-e',
        `require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]], { stdio: ['ignore', 'inherit', 'inherit'] })
        ${server}`,
        stubborn,
      ],
    ],
    ['of a server that ignores everything', node, ['-e', `${server}\n${stubborn}`]],
  ]
  it.each(wrappers)('%s', async (_, command, args) => {
    const { onStderr, pid } = ear()
    const client = await open(stdio({ command, args, onStderr }))
    const pids = [await pid('server')]
    if (args.some((arg) => arg.includes('grandchild'))) pids.push(await pid('grandchild'))
    await client.close()
    await until(() => !pids.some(isRunning))
  })

  it('when the client itself is killed, also in the middle of a call that hangs', async () => {
    const link = fileURLToPath(new URL('../../src/transports/client/stdio.ts', import.meta.url))
    const connectTo = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url))
    const proc = fileURLToPath(new URL('../../../../test/torture/processes/proc.ts', import.meta.url))
    const code = `
      const { stdio } = await import(${JSON.stringify(link)})
      const { connect } = await import(${JSON.stringify(connectTo)})
      const link = stdio({ command: process.execPath, args: ['--no-warnings', ${JSON.stringify(program)}] })
      const client = await connect(link)
      client.call('hangWithTimer').catch(() => {})
      await client.ping()
      const { processes } = await import(${JSON.stringify(proc)})
      console.log(processes().flatMap(({ pid, parent }) => (parent === process.pid ? [pid] : [])).join())`
    const parent = spawn(node, ['--no-warnings', '--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => {
      parent.kill('SIGKILL')
    })
    const [output] = await once(parent.stdout, 'data')
    const pids = String(output).trim().split(',').map(Number)
    // The server, and the shell that ends what a killed client leaves behind.
    expect(pids.map(isRunning)).toEqual([true, true])
    parent.kill('SIGKILL')
    await until(() => !pids.some(isRunning), 10_000)
  })
})

describe('a server process', () => {
  it('continues when its client no longer reads stderr, whatever its tools print', async () => {
    const server = spawn(node, ['--no-warnings', program], { stdio: 'pipe' })
    onTestFinished(() => {
      server.kill('SIGKILL')
    })
    let out = ''
    server.stdout.on('data', (chunk) => {
      out += chunk
    })
    server.stderr.destroy()
    const call = (id: number): string => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const params = { name: 'noisy', _meta: meta }
      return `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`
    }
    const remote = new RemoteMessages()
    for (const id of [1, 2, 3]) {
      server.stdin.write(remote.sent(call(id)))
      await until(() => out.includes(`"id":${id}`))
    }
    server.stdin.end()
    expect(await once(server, 'exit')).toEqual([0, null])
  })
})
