import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { serveSocket } from '@jackfield/sdk/socket'
import { serveStdio } from '@jackfield/sdk/stdio'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { nodeAdapter } from './http-support.ts'
import { meta, settle, type Tool, testServer, until } from './support.ts'

const MiB = 1024 * 1024
/** More than sockets buffer for a client that reads nothing. */
const size = 12 * MiB
/** One progress notification, which makes the HTTP response a stream, and a large result. */
const large: Tool = (_args, { notify }) => {
  notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
  return 'x'.repeat(size)
}
/** The same answer, and nothing before it. */
const whole: Tool = () => 'x'.repeat(size)
const limits = { streamQueueBytes: MiB, streamStallMs: 1000, messageBytes: 2 * size }
const calling = (name: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: {}, _meta: meta({ progressToken: 'p' }) },
  })
const call = calling('large')

/** How a client of each transport asks for the large answer. */
const transports: [string, () => Promise<Socket>][] = [
  [
    'a unix socket',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'jackfield-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      const path = join(folder, 'mcp.sock')
      const served = await serveSocket(testServer({ large }), { path }, { limits })
      onTestFinished(() => served.close())
      return asking(connect(path), `${call}\n`)
    },
  ],
  [
    'tcp',
    async () => {
      const served = await serveSocket(testServer({ large }), { port: 0 }, { limits })
      onTestFinished(() => served.close())
      if (!('port' in served.address)) throw new Error('No port')
      return asking(connect(served.address.port, '127.0.0.1'), `${call}\n`)
    },
  ],
  ['http', () => askingHttp('large')],
  ['http, in an answer that is no stream,', () => askingHttp('whole')],
]

/** Calls a tool over HTTP. */
async function askingHttp(name: string): Promise<Socket> {
  const mounted = await nodeAdapter(testServer({ large, whole }), { limits })
  onTestFinished(() => mounted.close())
  const body = calling(name)
  const headers = [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${body.length}`,
    'MCP-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/call',
    `Mcp-Name: ${name}`,
  ]
  const port = Number(new URL(mounted.url).port)
  return asking(connect(port, '127.0.0.1'), `${headers.join('\r\n')}\r\n\r\n${body}`)
}

/** Asks on a connection that is not read yet. */
async function asking(socket: Socket, text: string): Promise<Socket> {
  onTestFinished(() => {
    socket.destroy()
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(text)
  return socket
}

/** Counts what a connection gave, and keeps the end of it. */
function counted(socket: Socket): { bytes(): number; tail(): string } {
  let bytes = 0
  let tail = ''
  socket.on('data', (chunk) => {
    bytes += chunk.length
    tail = (tail + chunk).slice(-200)
  })
  return { bytes: () => bytes, tail: () => tail }
}

/** When the whole answer came, or the connection was cut. */
function over(socket: Socket, got: { bytes(): number; tail(): string }): Promise<string> {
  return new Promise((resolve) => {
    const whole = (): boolean => got.bytes() > size && got.tail().includes('}')
    socket.on('data', () => {
      if (whole()) resolve('whole')
    })
    socket.on('close', () => resolve(whole() ? 'whole' : `cut after ${got.bytes()} bytes`))
  })
}

/** Reads a little, again and again, until it is stopped. */
function sipped(socket: Socket): () => void {
  let wait: ReturnType<typeof setTimeout>
  const onData = (): void => {
    socket.pause()
    wait = setTimeout(() => socket.resume(), 8)
  }
  socket.on('data', onData)
  return () => {
    clearTimeout(wait)
    socket.off('data', onData)
    socket.pause()
  }
}

describe.each(transports)('over %s a client', (_name, ask) => {
  it('that keeps reading is not disconnected, however long the buffer takes', async () => {
    const socket = await ask()
    const got = counted(socket)
    sipped(socket)
    expect(await over(socket, got)).toBe('whole')
  }, 60_000)

  it('that waits for a busy server is not disconnected', async () => {
    const { streamStallMs } = limits
    const socket = await ask()
    const got = counted(socket)
    const done = over(socket, got)
    const stop = sipped(socket)
    await until(() => got.bytes() > MiB / 2)
    await settle(streamStallMs * 0.9)
    stop()
    await settle(streamStallMs * 0.15)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, streamStallMs * 1.3)
    sipped(socket)
    socket.resume()
    expect(await done).toBe('whole')
  }, 60_000)
})

describe('an output that accepts 1 KiB per millisecond', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Reads everything that is buffered at once, as sockets do, and calls `done` after the last read. */
  function slow(): { output: Writable; text: () => string } {
    let text = ''
    const onData = (all: string, done: () => void): void => {
      setTimeout(() => {
        text += all
        done()
      }, all.length / 1024)
    }
    const output = new Writable({
      write: (chunk, _encoding, done) => onData(String(chunk), done),
      writev: (chunks, done) => onData(chunks.map(({ chunk }) => String(chunk)).join(''), done),
    })
    return { output, text: () => text }
  }

  const messages = (text: string): unknown[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))

  it.each(['-', '--'])('gets everything, with intact surrogate pairs, after %s', async (begin) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const errors: Error[] = []
    const answer = begin + '😀'.repeat(MiB / 4)
    const { output, text } = slow()
    const input = new PassThrough()
    const connection = serveStdio(testServer({ large: () => answer }), {
      input,
      output,
      limits: { streamQueueBytes: 100_000, streamStallMs: 200 },
      onError: (error) => errors.push(error),
    })
    input.write(`${call}\n`)
    for (let ms = 0; ms < 4000 && !text().endsWith('\n'); ms++) {
      await new Promise((resolve) => setImmediate(resolve))
      await vi.advanceTimersByTimeAsync(1)
    }
    expect(errors).toEqual([])
    expect(messages(text())).toMatchObject([{ result: { content: [{ text: answer }] } }])
    vi.useRealTimers()
    await connection.close()
  })

  it('delays new requests until its buffer drained, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { output, text } = slow()
    const input = new PassThrough()
    const server = testServer({ large: () => 'x'.repeat(MiB) })
    const connection = serveStdio(server, { input, output, limits: { streamQueueBytes: 100_000 } })
    const pass = async (ms: number): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      await vi.advanceTimersByTimeAsync(ms)
      await new Promise((resolve) => setImmediate(resolve))
    }
    input.write(`${call}\n`)
    await pass(500)
    input.write(`${call.replace('"id":1', '"id":2')}\n`)
    await pass(400)
    expect(server.ran).toHaveLength(1)
    await pass(400)
    expect(server.ran).toHaveLength(2)
    await pass(1200)
    expect(messages(text())).toMatchObject([{ id: 1 }, { id: 2 }])
    vi.useRealTimers()
    await connection.close()
  })
})
