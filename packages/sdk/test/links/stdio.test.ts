import { type ClientTransportFactory, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { stdio } from '@jackfield/sdk/client/stdio'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { childEnvironment } from '../../src/transports/client/stdio.ts'
import { windowsEnd, windowsLaunch } from '../../src/transports/client/windows-launch.ts'
import { child, isAlive } from '../client/support/child.ts'
import { until } from '../client/support/http.ts'

const linux = process.platform === 'linux'

async function open(link: ClientTransportFactory, options: ConnectOptions = {}) {
  const client = await connect(link, options)
  onTestFinished(() => client.close())
  return client
}

it('a command line as one text is rejected, with the form it has', () => {
  // @ts-expect-error it is an object
  expect(() => stdio('node server.js')).toThrow('{ command: "node", args: ["server.js"] }')
})

describe('messages over a child process', () => {
  it('are read despite other output, which is only reported', async () => {
    const warnings: string[] = []
    const client = await open(
      child(`
        console.log('Welcome to my server!')
        each((message) => {
          console.log('debug: got ' + message.method)
          if (message.method === 'server/discover') modern(message)
          else send({ id: message.id, result: done('fine') })
          process.stdout.write('{"half": \\n[1,2]\\n"text"\\n\\n')
        })`),
      { onWarning: (warning) => warnings.push(warning) },
    )
    await expect(client.call('x')).resolves.toMatchObject({ content: [{ text: 'fine' }] })
    expect(warnings[0]).toContain('Welcome to my server!')
    for (let i = 0; i < 20; i++) await client.call('x')
    expect(warnings.length).toBeLessThanOrEqual(20)
    expect(warnings.at(-1)).toContain('not shown')
  })

  it('survive any chunk boundaries', async () => {
    const client = await open(
      child(`
        each(async (message) => {
          if (message.method === 'server/discover') return modern(message)
          const line = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: done('aß漢🎉\\u2028\\u0000') }) + '\\n'
          const bytes = Buffer.from(line)
          for (const byte of bytes) {
            process.stdout.write(Buffer.from([byte]))
            if (byte > 127) await new Promise((done) => setImmediate(done))
          }
        })`),
    )
    await expect(client.call('x')).resolves.toMatchObject({ content: [{ text: 'aß漢🎉\u2028\u0000' }] })
  })

  it('with an id of another type are not used as the response', async () => {
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') modern(message)
        else {
          send({ id: String(message.id), result: done('forged') })
          setTimeout(() => send({ id: message.id, result: done('real') }), 50)
        }
      })`),
    )
    await expect(client.call('x')).resolves.toMatchObject({ content: [{ text: 'real' }] })
  })

  it('above the limit close the connection; those before are delivered', async () => {
    const client = await open(
      child(
        `each((message) => {
          if (message.method === 'server/discover') return modern(message)
          if (message.params.name === 'a') process.stdout.write(
            JSON.stringify({ jsonrpc: '2.0', id: message.id, result: done('before') }) + '\\n' + 'x'.repeat(9e6))
        })`,
        { maxFrameBytes: 1024 * 1024 },
      ),
    )
    const [a, b] = await Promise.allSettled([client.call('a'), client.call('b')])
    expect(a).toMatchObject({ status: 'fulfilled', value: { content: [{ text: 'before' }] } })
    expect(b).toMatchObject({ status: 'rejected', reason: { code: 'LIMIT' } })
    await expect(client.closed).resolves.toMatchObject({ code: 'LIMIT' })
  })

  it('are cancelled with a notification, and a late response is ignored silently', async () => {
    const warnings: string[] = []
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') modern(message)
        else if (message.method === 'notifications/cancelled') {
          send({ id: message.params.requestId, result: done('too late') })
          globalThis.reason = message.params.reason
        } else if (message.params.name === 'reason') send({ id: message.id, result: done(globalThis.reason) })
      })`),
      { onWarning: (warning) => warnings.push(warning) },
    )
    await expect(client.call('slow', {}, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await expect(client.call('reason')).resolves.toMatchObject({
      content: [{ text: expect.stringMatching(/No response/) }],
    })
    expect(warnings).toEqual([])
  })
})

describe('the exit of a server process', () => {
  it('rejects every call at once, with its exit code and its last output', async () => {
    const client = await open(
      child(`each((message) => {
        if (message.method === 'server/discover') return modern(message)
        console.error('disk is full')
        setTimeout(() => process.exit(7), 20)
      })`),
    )
    const calls = await Promise.allSettled([client.call('a'), client.call('b')])
    for (const call of calls) {
      expect(call).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'OUTCOME_UNKNOWN',
          details: { exitCode: 7, signal: null, stderr: expect.stringContaining('disk is full\n') },
        },
      })
    }
    await expect(client.closed).resolves.toMatchObject({ message: expect.stringContaining('disk is full') })
    await expect(client.call('c')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  it('by kill -9 is noticed within 250 ms, also while a large message is unread', async () => {
    let pid = 0
    const client = await open(
      child(
        `
        console.error(process.pid)
        each((message) => { modern(message); process.stdin.pause(); setInterval(() => {}, 1000) })`,
        {
          onStderr: (text) => {
            pid = Number(text)
          },
        },
      ),
    )
    const calls = Promise.allSettled([client.call('x', { blob: 'y'.repeat(2_000_000) }), client.call('x')])
    await new Promise((resolve) => setTimeout(resolve, 100))
    const killed = performance.now()
    process.kill(pid, 'SIGKILL')
    for (const call of await calls) {
      expect(call).toMatchObject({ reason: { code: 'OUTCOME_UNKNOWN', details: { signal: 'SIGKILL' } } })
    }
    expect(performance.now() - killed).toBeLessThan(2_500)
  })

  it('at any moment leaves no call without an outcome', async () => {
    const source = `
      console.error(process.pid)
      each((message) => {
        if (message.method === 'server/discover') return modern(message)
        if (message.method === 'initialize') return process.exit(1)
        if (message.id === undefined) return
        const line = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: done('x'.repeat(100_000)) }) + '\\n'
        process.stdout.write(line.slice(0, 50_000))
        setTimeout(() => process.stdout.write(line.slice(50_000)), 2)
      })`
    for (let round = 0; round < 12; round++) {
      let pid = 0
      const link = child(source, {
        onStderr: (text) => {
          pid ||= Number.parseInt(text, 10)
        },
      })
      const attempt = connect(link).then(async (client) => {
        const calls = Array.from({ length: 8 }, (_, i) => client.call('x', { blob: 'y'.repeat(i * 40_000) }))
        const outcomes = await Promise.allSettled(calls)
        await client.close()
        return outcomes
      })
      const outcome = attempt.catch((error) => error)
      await until(() => pid > 0)
      await new Promise((resolve) => setTimeout(resolve, (round * 7) % 60))
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      const settled = await outcome
      const reasons = Array.isArray(settled)
        ? settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
        : [settled.code]
      // A server killed on server/discover is started again and sent initialize, on which this one ends.
      const fair = ['OUTCOME_UNKNOWN', 'CONNECTION_CLOSED', 'CONNECT_FAILED']
      for (const code of reasons) expect(fair).toContain(code)
    }
  })

  it('while connecting is a failed connection with the reason', async () => {
    const attempt = connect(child(`console.error('no API key'); process.exit(3)`))
    await expect(attempt).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('no API key'),
      details: { exitCode: 3 },
    })
  })

  it('is distinct from a missing program', async () => {
    await expect(connect(stdio({ command: 'jackfield-no-such-program' }))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('no such program'),
    })
    await expect(connect(stdio({ command: 'node', cwd: '/no/such/folder' }))).rejects.toThrow(/folder/)
  })

  it('says how to write a command with its arguments', async () => {
    await expect(connect(stdio({ command: 'node server.js' }))).rejects.toThrow(
      'write only "node" as the command, and each argument separately',
    )
  })

  it('says that a server goes on, if the program ended without an error', async () => {
    await expect(connect(child('process.exit(0)'))).rejects.toThrow(
      'exited with code 0. A server over stdio runs until its input ends.',
    )
  })
})

describe('a server that does not read', () => {
  it('fills a bounded queue, and then calls are rejected', async () => {
    const client = await open(
      child(`each((message) => { modern(message); process.stdin.pause(); setInterval(() => {}, 1000) })`, {
        maxQueuedBytes: 1_000_000,
      }),
    )
    const first = client.call('x', { blob: 'y'.repeat(3_000_000) }).catch((error) => error)
    await expect(client.call('x', {}, { timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'LIMIT' })
    await client.close()
    await expect(first).resolves.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })
})

describe('closing', () => {
  it.runIf(linux)('stops the whole tree, also a grandchild that ignores SIGTERM', async () => {
    let stderr = ''
    const client = await open(
      child(
        `
        import { spawn } from 'node:child_process'
        const stubborn = spawn(process.execPath, ['-e',
          'process.on("SIGTERM", () => {}); console.error("grandchild " + process.pid); setInterval(() => {}, 1000)'],
          { stdio: ['ignore', 'inherit', 'inherit'] })
        process.on('SIGTERM', () => {})
        each((message) => modern(message))`,
        {
          onStderr: (text) => {
            stderr += text
          },
        },
      ),
    )
    await until(() => stderr.includes('grandchild'))
    const pid = Number(/grandchild (\d+)/.exec(stderr)?.[1])
    expect(isAlive(pid)).toBe(true)
    const began = performance.now()
    await client.close()
    expect(performance.now() - began).toBeLessThan(12_000)
    await until(() => !isRunning(pid))
    await expect(client.closed).resolves.toBeUndefined()
  })

  it('is fast for a server that ends with its input, and may be done twice', async () => {
    let stderr = ''
    const client = await open(
      child(`process.on('SIGTERM', () => console.error('told to end')); each((message) => modern(message))`, {
        onStderr: (text) => {
          stderr += text
        },
      }),
    )
    await Promise.all([client.close(), client.close()])
    expect(stderr).toBe('')
    await expect(client.call('x')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  it.runIf(linux)('after the server died leaves no grandchild behind either', async () => {
    let stderr = ''
    const client = await open(
      child(
        `
        import { spawn } from 'node:child_process'
        spawn(process.execPath, ['-e', 'console.error("grandchild " + process.pid); setInterval(() => {}, 1000)'],
          { stdio: ['ignore', 'ignore', 'inherit'] })
        each((message) => message.method === 'server/discover' ? modern(message) : process.exit(1))`,
        {
          onStderr: (text) => {
            stderr += text
          },
        },
      ),
    )
    await until(() => stderr.includes('grandchild'))
    const pid = Number(/grandchild (\d+)/.exec(stderr)?.[1])
    await expect(client.call('die')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await until(() => !isRunning(pid))
  })
})

describe('the environment of a server process', () => {
  it('contains no secret of the parent, only what programs need and what was configured', async () => {
    const secrets = [
      'JACKFIELD_CANARY',
      'AWS_SECRET_ACCESS_KEY',
      'NODE_AUTH_TOKEN',
      'PATH_TOKEN',
      'SSH_AUTH_SOCK',
      'npm_config__auth',
    ]
    for (const name of secrets) vi.stubEnv(name, 'secret')
    vi.stubEnv('JACKFIELD_WANTED', 'wanted')
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const client = await open(
      child(
        `each((message) => message.method === 'server/discover' ? modern(message)
          : send({ id: message.id, result: { ...done(''), structuredContent: process.env } }))`,
        { env: { TOKEN: 'configured', HOME: undefined }, inherit: ['JACKFIELD_WANTED'] },
      ),
    )
    const { structuredContent } = await client.call('env')
    expect(structuredContent).toMatchObject({ TOKEN: 'configured', JACKFIELD_WANTED: 'wanted' })
    expect(structuredContent).toHaveProperty('PATH')
    for (const name of secrets) expect(structuredContent).not.toHaveProperty(name)
    expect(structuredContent).not.toHaveProperty('HOME')
    const ofThePerson = [
      'LANG',
      'LC_ALL',
      'LC_CTYPE',
      'LOGNAME',
      'PATH',
      'SHELL',
      'TERM',
      'TMPDIR',
      'TZ',
      'USER',
    ]
    const known = [...ofThePerson, 'TOKEN', 'JACKFIELD_WANTED', 'JACKFIELD_SERVER_ID']
    if (linux)
      expect(Object.keys(structuredContent ?? {}).filter((name) => !known.includes(name))).toEqual([])
  })

  it('never contains exported shell functions, and ignores case on Windows', () => {
    expect(childEnvironment({ PATH: '() { :; }' }, 'linux', [], {})).toEqual({})
    expect(childEnvironment({ Path: 'a', Secret: 'b' }, 'win32', [], { PATH: 'c' })).toEqual({ PATH: 'c' })
  })
})

describe('on Windows', () => {
  const env = { PATH: 'C:\\node;C:\\tools', PATHEXT: '.EXE;.CMD', ComSpec: 'C:\\cmd.exe' }
  const exists = (path: string) => ['C:\\node\\npx.CMD', 'C:\\tools\\tool.EXE'].includes(path)

  it('a command script is run by cmd.exe, a program by itself', () => {
    expect(windowsLaunch('npx', ['-y', 'some server'], env, 'C:\\', exists)).toEqual({
      command: 'C:\\cmd.exe',
      args: ['/d', '/s', '/c', '""C:\\node\\npx.CMD" "-y" "some server""'],
      verbatim: true,
    })
    expect(windowsLaunch('tool', ['a & b'], env, 'C:\\', exists)).toEqual({
      command: 'C:\\tools\\tool.EXE',
      args: ['a & b'],
      verbatim: false,
    })
  })

  it('is found only on the PATH, also in quoted entries, and never in the working directory', () => {
    const quoted = { ...env, PATH: 'relative;"C:\\my tools"', PATHEXT: '.JS;.EXE;.CMD' }
    const there = (path: string) =>
      ['C:\\my tools\\tool.JS', 'C:\\my tools\\tool.EXE', 'C:\\work\\other.EXE'].includes(path)
    expect(windowsLaunch('tool', [], quoted, 'C:\\work', there).command).toBe('C:\\my tools\\tool.EXE')
    expect(windowsLaunch('.\\other', [], quoted, 'C:\\work', there).command).toBe('C:\\work\\other.EXE')
    expect(() => windowsLaunch('other', [], quoted, 'C:\\work', there)).toThrow(/no such program/)
  })

  it('an argument keeps its spaces, an empty value and a trailing backslash', () => {
    const { args } = windowsLaunch('npx', ['', 'a b', 'C:\\dir\\', "it's (fine);"], env, 'C:\\', exists)
    expect(args.at(-1)).toBe(`""C:\\node\\npx.CMD" "" "a b" "C:\\dir\\\\" "it's (fine);""`)
  })

  it('system programs have absolute paths', () => {
    const { ComSpec: _, ...bare } = env
    const launch = windowsLaunch('npx', [], { ...bare, SystemRoot: 'D:\\Windows' }, 'C:\\', exists)
    expect(launch.command).toBe('D:\\Windows\\System32\\cmd.exe')
    expect(windowsEnd(12, { SystemRoot: 'D:\\Windows' })).toEqual({
      command: 'D:\\Windows\\System32\\taskkill.exe',
      args: ['/pid', '12', '/t', '/f'],
      verbatim: false,
    })
  })

  it.each(['a & calc', '%PATH%', 'a"b', 'x | y', 'a^b', '>out', 'line\nbreak', '!x!'])(
    'a command script rejects the argument %j',
    (argument) => {
      expect(() => windowsLaunch('npx', [argument], env, 'C:\\', exists)).toThrow(/cmd\.exe/)
    },
  )
})

/** Whether a process runs; one that ended but was not yet collected does not. */
function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  const { readFileSync } = process.getBuiltinModule('node:fs')
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
