import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { type JsonObject, MetaKey } from '@jackfield/sdk'
import { type ServeStdioOptions, serveStdio } from '@jackfield/sdk/stdio'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { programFile } from '../../../../test/setup/program-file.ts'
import { RemoteMessages } from '../../../../test/setup/remote-messages.ts'
import {
  echo,
  hang,
  hung,
  initialize,
  initialized,
  meta,
  settle,
  type Tool,
  testServer,
  until,
} from './support.ts'

const line = (value: unknown): string => `${JSON.stringify(value)}\n`
const callTool = (id: string | number, name: string, args: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { _meta: meta(), name, arguments: args },
})

/** A server on a pair of streams. */
function streams(tools: Record<string, Tool> = { echo, hang, hung }, options: ServeStdioOptions = {}) {
  const server = testServer(tools)
  const input = new PassThrough()
  const output = new PassThrough()
  let text = ''
  output.on('data', (chunk) => {
    text += chunk
  })
  const connection = serveStdio(server, { input, output, ...options })
  const messages = (): JsonObject[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((one) => JSON.parse(one))
  return { server, input, output, connection, messages, text: () => text }
}

describe('a server on streams', () => {
  it('sends a response separately from progress of its request, and with the rest when the input ends', async () => {
    const report: Tool = (_args, { notify, params }) => {
      const { progressToken } = params['_meta'] as { progressToken: string }
      notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
      return 'done'
    }
    const { input, output, messages, connection } = streams({ echo, report })
    const chunks: string[] = []
    output.on('data', (chunk) => chunks.push(String(chunk)))
    const call = (id: number, token: string) => {
      const message = callTool(id, 'report')
      const params = message['params'] as { _meta: JsonObject }
      return line({ ...message, params: { ...params, _meta: { ...params._meta, progressToken: token } } })
    }
    input.write(call(1, 'a') + line(callTool(2, 'echo')))
    await until(() => messages().length === 3)
    expect(messages().map(({ id }) => id)).toEqual([undefined, 2, 1])
    expect(chunks.at(-1)).not.toContain('notifications/progress')
    input.end(call(3, 'b'))
    await connection.closed
    expect(messages().map(({ id }) => id)).toEqual([undefined, 2, 1, undefined, 3])
  })

  it('answers one line with one line, in both eras', async () => {
    const { input, messages } = streams()
    input.write(line(initialize()) + line(initialized) + line(callTool(1, 'echo', { text: 'a\nb\u2028c' })))
    await until(() => messages().length === 2)
    input.write(line({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
    await until(() => messages().length === 3)
    expect(messages()).toMatchObject([
      { id: 'init', result: { protocolVersion: '2025-11-25' } },
      { id: 1, result: { content: [{ text: 'a\nb\u2028c' }], resultType: 'complete' } },
      { id: 2, result: { tools: [{ name: 'echo' }, {}, {}] } },
    ])
  })

  it('accepts any chunk boundaries, and a last line without its end', async () => {
    const { input, messages, connection } = streams()
    const bytes = Buffer.from(
      `\r\n\n${line(callTool(1, 'echo', { text: '𝄞é' }))}${line(callTool(2, 'echo')).trim()}`,
    )
    for (const byte of bytes) input.write(Uint8Array.of(byte))
    input.end()
    await connection.closed
    expect(messages()).toMatchObject([
      { id: 1, result: { content: [{ text: '𝄞é' }] } },
      { id: 2, result: {} },
    ])
  })

  it('answers invalid JSON, deep nesting or long lines without an id, and continues', async () => {
    const { input, messages } = streams(undefined, { limits: { messageBytes: 500 } })
    input.write('banner from npm\n')
    input.write(`${'['.repeat(100)}\n`)
    input.write(`"${'x'.repeat(10_000)}`)
    await settle()
    expect(messages()).toHaveLength(3)
    input.write(`"\n${line(callTool(1, 'echo'))}`)
    await until(() => messages().length === 4)
    expect(messages().map((message) => [message['id'], (message['error'] as JsonObject)?.['code']])).toEqual([
      [undefined, -32700],
      [undefined, -32700],
      [undefined, -32600],
      [1, undefined],
    ])
  })

  it('answers a batch with one line', async () => {
    const { input, text } = streams()
    input.write(line(initialize('2025-03-26')) + line(initialized))
    input.write(line([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }))))
    await until(() => text().split('\n').length === 3)
    expect(JSON.parse(text().split('\n')[1] ?? '')).toEqual(
      [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })),
    )
  })

  it('reports a result that cannot be serialized and answers with an error', async () => {
    const cyclic: Tool = (_args, { notify }) => {
      const data: JsonObject = {}
      data['self'] = data
      notify({ method: 'notifications/message', params: { level: 'info', data } })
      return { content: [data] }
    }
    const { input, messages, server } = streams({ cyclic })
    input.write(line(callTool(1, 'cyclic')))
    await until(() => messages().length === 1)
    expect(messages()).toMatchObject([{ id: 1, error: { code: -32603, message: 'Internal error' } }])
    expect(server.reports).toHaveLength(2)
  })

  it('lets handlers finish their responses when the input ends, then closes the output', async () => {
    const slow: Tool = () => settle(30).then(() => 'slow')
    const { input, messages, connection, output } = streams({ slow })
    input.end(line(callTool(1, 'slow')))
    await connection.closed
    expect(messages()).toMatchObject([{ id: 1, result: {} }])
    expect(output.writableEnded).toBe(true)
  })

  it('aborts handlers when the input ends, and waits at most a second for them', async () => {
    const { input, connection } = streams()
    input.write(line(callTool(1, 'hang')) + line(callTool(2, 'hung')))
    await settle()
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    let closed = false
    void connection.closed.then(() => {
      closed = true
    })
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    input.end()
    await turn()
    await vi.advanceTimersByTimeAsync(850)
    await turn()
    expect(closed).toBe(false)
    await vi.advanceTimersByTimeAsync(50)
    await connection.closed
  })

  it('ends subscriptions with their result when it closes', async () => {
    const { input, messages, connection } = streams()
    const params = { _meta: meta(), notifications: { toolsListChanged: true } }
    input.write(line({ jsonrpc: '2.0', id: 's', method: 'subscriptions/listen', params }))
    await until(() => messages().length === 1)
    await connection.close()
    expect(messages().slice(1)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 's' } },
      { id: 's', result: { _meta: { [MetaKey.subscriptionId]: 's' } } },
    ])
  })

  it('stops at once when the reader is gone, with the reason', async () => {
    const errors: Error[] = []
    const output = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    })
    const { input, connection } = streams(undefined, { output, onError: (error) => errors.push(error) })
    for (let id = 0; id < 50; id++) input.write(line(callTool(id, 'echo')))
    await connection.closed
    expect(errors).toMatchObject([{ code: 'EPIPE' }])
  })
})

describe('a slow reader', () => {
  const big = 'x'.repeat(10_000)
  /** An output that accepts nothing until it is resumed. */
  function blocked() {
    const taken: string[] = []
    let open = false
    let waiting: (() => void) | undefined
    const output = new Writable({
      highWaterMark: 1024,
      write(chunk, _encoding, done) {
        const readNext = (): void => {
          taken.push(String(chunk))
          done()
        }
        if (open) readNext()
        else waiting = readNext
      },
    })
    const release = (): void => {
      open = true
      waiting?.()
    }
    return { output, taken, release }
  }

  it('gets only progress it can keep up with, gets every response, and no further input requests meanwhile', async () => {
    const { output, taken, release } = blocked()
    const chatty: Tool = (_args, { notify }) => {
      for (let i = 0; i < 1000; i++) {
        notify({
          method: 'notifications/progress',
          params: { progressToken: 'p', progress: i, message: big },
        })
      }
      return 'done'
    }
    const { input, server } = streams({ chatty, echo }, { output, limits: { streamQueueBytes: 100_000 } })
    input.write(line(callTool(1, 'chatty')))
    await settle(20)
    input.write(line(callTool(2, 'echo')))
    await settle(20)
    expect(server.ran).toEqual(['chatty'])
    expect(output.writableLength).toBeLessThan(150_000)
    release()
    await until(() => taken.some((text) => text.includes('"id":2')))
    const lines = taken.join('').trimEnd().split('\n')
    const messages = lines.map((text) => JSON.parse(text) as JsonObject)
    expect(messages.filter((message) => 'result' in message)).toHaveLength(2)
    expect(messages.length).toBeLessThan(20)
  })

  it('is disconnected when it reads nothing for too long', async () => {
    const errors: Error[] = []
    const { output } = blocked()
    const large: Tool = () => big.repeat(20)
    const { input, connection } = streams(
      { large },
      {
        output,
        limits: { streamQueueBytes: 1000, streamStallMs: 50 },
        onError: (error) => errors.push(error),
      },
    )
    input.write(line(callTool(1, 'large')))
    await connection.closed
    expect(errors).toMatchObject([{ code: 'TIMEOUT' }])
  })
})

describe('a server process', () => {
  const program = programFile(new URL('./stdio-program.ts', import.meta.url))
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, ['--no-warnings', program, ...args], { stdio: 'pipe' })
    children.push(child)
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      err += chunk
    })
    const lines = (): string[] => out.split('\n').slice(0, -1)
    const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
    return { child, remote: new RemoteMessages(), lines, err: () => err, exited }
  }

  it('reserves stdout for messages, whatever its code prints', async () => {
    const { child, remote, lines, err, exited } = start('noisy')
    child.stdin.write(remote.sent(line(callTool(1, 'noisy'))))
    await until(() => lines().length === 1)
    child.stdin.end()
    expect(await exited).toEqual({ code: 0, signal: null })
    expect(lines().map((text) => JSON.parse(text))).toMatchObject([{ id: 1, result: {} }])
    for (const noise of ['logged', 'written', 'informed']) expect(err()).toContain(noise)
  })

  it('continues when its client stopped reading stderr, whatever is logged there', async () => {
    const { child, remote, lines, exited } = start('noisy')
    child.stderr.destroy()
    for (let id = 1; id <= 3; id++) {
      child.stdin.write(remote.sent(line(callTool(id, 'noisy'))))
      await until(() => lines().length === id)
    }
    child.stdin.end()
    expect(await exited).toEqual({ code: 0, signal: null })
  })

  it('answers a whole script from a pipe', async () => {
    const { child, remote, lines, exited } = start()
    child.stdin.end(remote.sent(line(initialize()) + line(initialized) + line(callTool(1, 'slow'))))
    expect(await exited).toEqual({ code: 0, signal: null })
    expect(lines()).toHaveLength(2)
  })

  it.each(['hung', 'hangWithTimer'])(
    'exits about a second after its input ended, with a %s tool',
    async (tool) => {
      const { child, remote, exited } = start()
      child.stdin.write(remote.sent(line(initialize())))
      await once(child.stdout, 'data')
      child.stdin.write(remote.sent(line(callTool(1, tool))))
      await settle(50)
      const began = Date.now()
      child.stdin.end()
      expect(await exited).toEqual({ code: 0, signal: null })
      expect(Date.now() - began).toBeLessThan(10_000)
    },
  )

  it('exits soon after its client disconnected, even with an active timer', async () => {
    const { child, remote, exited } = start('timer')
    child.stdin.write(remote.sent(line(initialize())))
    await once(child.stdout, 'data')
    child.stdin.end()
    expect(await exited).toEqual({ code: 0, signal: null })
  })

  it('continues without its client if configured', async () => {
    const { child, remote, exited } = start('timer', 'outlives')
    child.stdin.write(remote.sent(line(initialize())))
    await once(child.stdout, 'data')
    child.stdin.end()
    expect(await Promise.race([exited, settle(2_000).then(() => 'goes on')])).toBe('goes on')
  })

  it('exits when its client is connected but reads nothing', async () => {
    const { child, remote, exited } = start('impatient')
    child.stdout.pause()
    child.stdin.write(remote.sent(line(callTool(1, 'large'))))
    expect(await exited).toEqual({ code: 0, signal: null })
  })

  it('exits soon when both its pipes break while it writes', async () => {
    const { child, remote, exited } = start()
    child.stdin.write(remote.sent(line(callTool(1, 'chatty'))))
    await once(child.stdout, 'data')
    const began = Date.now()
    child.stdin.destroy()
    child.stdout.destroy()
    const { code } = await exited
    expect(code).toBe(0)
    expect(Date.now() - began).toBeLessThan(10_000)
  })
})
