import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Socket, connect as tcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { JsonObject } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { type ServeSocketOptions, type SocketAddress, serveSocket } from '@jackfield/sdk/socket'
import { describe, expect, it, onTestFinished } from 'vitest'
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
} from '../serve/support.ts'

const onPosix = process.platform !== 'win32'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'jackfield-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

const places: [string, () => Promise<SocketAddress>][] = [
  ['a unix socket', async () => ({ path: join(await folder(), 'mcp.sock') })],
  ['tcp', async () => ({ port: 0 })],
]

async function serve(at: SocketAddress, tools: Record<string, Tool> = {}, options: ServeSocketOptions = {}) {
  const server = testServer({ echo, hang, hung, ...tools })
  const served = await serveSocket(server, at, options)
  onTestFinished(() => served.close())
  return { server, served, address: served.address }
}

async function open(at: SocketAddress, options?: ConnectOptions) {
  const client = await connect(socket(at), options)
  onTestFinished(() => client.close())
  return client
}

/** A client that writes what it likes. */
async function raw(at: SocketAddress) {
  const end: Socket = 'path' in at ? tcp(at.path) : tcp(at.port, at.host ?? '127.0.0.1')
  onTestFinished(() => {
    end.destroy()
  })
  let text = ''
  let over = false
  end.on('data', (chunk) => {
    text += chunk
  })
  end.on('error', () => {})
  end.on('close', () => {
    over = true
  })
  await new Promise((resolve) => end.once('connect', resolve))
  const messages = (): JsonObject[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  return {
    end,
    send: (value: unknown) => end.write(`${JSON.stringify(value)}\n`),
    messages,
    over: () => over,
  }
}

const call = (id: number, name: string, args: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { _meta: meta(), name, arguments: args },
})

describe.each(places)('a server on %s', (_, place) => {
  it('serves many clients at once, each with its own session and ids', async () => {
    const { served, address } = await serve(await place())
    const revisions = ['2024-11-05', '2025-03-26', '2025-11-25', '2026-07-28'] as const
    const clients = await Promise.all(revisions.map((revision) => open(address, { revisions: [revision] })))
    expect(served.connections).toBe(4)
    const answers = await Promise.all(
      clients.flatMap((client, i) => [1, 2, 3].map((n) => client.call('echo', { text: `${i}.${n}` }))),
    )
    expect(answers.map(({ content }) => content[0])).toMatchObject(
      [0, 1, 2, 3].flatMap((i) => [1, 2, 3].map((n) => ({ text: `${i}.${n}` }))),
    )
    await Promise.all(clients.map((client) => client.close()))
    await until(() => served.connections === 0)
  })

  it('answers a batch with one line', async () => {
    const { address } = await serve(await place())
    const { send, messages } = await raw(address)
    send(initialize('2025-03-26'))
    send(initialized)
    send([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
    await until(() => messages().length === 2)
    expect(messages()[1]).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })))
  })

  it('answers a client that half-closed its connection, then closes', async () => {
    const slow: Tool = () => settle(30).then(() => 'slow')
    const { address, served } = await serve(await place(), { slow })
    const { end, messages, over } = await raw(address)
    end.end(JSON.stringify(call(1, 'slow')))
    await until(over)
    expect(messages()).toMatchObject([{ id: 1, result: { content: [{ text: 'slow' }] } }])
    expect(served.connections).toBe(0)
  })

  it('stops the requests of a disconnected client', async () => {
    let stopped = false
    const watched: Tool = (_args, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          stopped = true
          resolve('')
        }),
      )
    const { address, server } = await serve(await place(), { watched })
    const { end, send } = await raw(address)
    send(call(1, 'watched'))
    await until(() => server.ran.length === 1)
    end.destroy()
    await until(() => stopped)
  })

  it('ignores a client whose first line is not JSON, such as a web browser', async () => {
    const { address, server } = await serve(await place())
    const { end, messages, over } = await raw(address)
    const body = `${JSON.stringify(call(1, 'echo'))}\n`
    end.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await until(over)
    expect(messages()).toMatchObject([{ error: { code: -32700 } }])
    expect(server.ran).toEqual([])
  })

  it('continues after a later line that is not JSON, or is too long', async () => {
    const { address } = await serve(await place(), {}, { limits: { messageBytes: 1000 } })
    const { end, send, messages } = await raw(address)
    send(call(1, 'echo'))
    end.write('what?\n')
    send(call(2, 'echo', { text: 'x'.repeat(2000) }))
    send(call(3, 'echo'))
    await until(() => messages().some(({ id }) => id === 3))
    const codes = messages().map((message) => (message['error'] as JsonObject | undefined)?.['code'])
    expect(codes.filter((code) => code !== undefined)).toEqual([-32700, -32600])
  })

  it('accepts a maximum number of clients, and reports that to the next one', async () => {
    const { served, address } = await serve(await place(), {}, { limits: { connections: 2 } })
    const first = await open(address)
    await open(address)
    const { messages, over } = await raw(address)
    await until(over)
    expect(messages()).toMatchObject([
      { error: { code: -32603, message: expect.stringMatching(/Too many/) } },
    ])
    await expect(connect(socket(address))).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
    await first.close()
    await until(() => served.connections === 1)
    await open(address)
  })

  it('disconnects a client that reads nothing', async () => {
    const errors: Error[] = []
    const flood: Tool = async (_args, { signal, notify }) => {
      while (!signal.aborted) {
        const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(100_000) }
        notify({ method: 'notifications/progress', params })
        await settle(0)
      }
    }
    const limits = { streamQueueBytes: 200_000, streamStallMs: 100 }
    const { address, served } = await serve(
      await place(),
      { flood },
      { limits, onError: (error) => errors.push(error) },
    )
    const { end, send } = await raw(address)
    end.pause()
    send(call(1, 'flood'))
    await until(() => served.connections === 0, 10_000)
    expect(errors).toMatchObject([{ code: 'TIMEOUT' }])
  })

  it('sends every response that is ready in time when it closes, and then rejects connections', async () => {
    const slow: Tool = () => settle(30).then(() => 'slow')
    const { address, served, server } = await serve(await place(), { slow })
    const client = await open(address)
    const [answer, stuck] = [client.call('slow'), client.call('hung').catch((error) => error)]
    await until(() => server.ran.length === 2)
    await served.close()
    await expect(answer).resolves.toMatchObject({ content: [{ text: 'slow' }] })
    await expect(stuck).resolves.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(client.closed).resolves.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await expect(connect(socket(address))).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
    if ('path' in address) expect(existsSync(address.path)).toBe(false)
  })

  it('in use cannot be used twice', async () => {
    const { address } = await serve(await place())
    await expect(serveSocket(testServer(), address)).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(/another server listens|another program uses it .* another port/),
    })
    await (await open(address)).ping()
  })
})

describe.runIf(onPosix)('a socket file', () => {
  const here = async (name = 'mcp.sock') => join(await folder(), name)

  it('is accessible to its owner only, whatever the umask of the process', async () => {
    const path = await here()
    const mask = process.umask(0)
    onTestFinished(() => {
      process.umask(mask)
    })
    await serve({ path })
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600')
    expect(process.umask()).toBe(0)
  })

  it('of an exited server is replaced', async () => {
    const path = await here()
    const code = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
    expect(spawnSync(process.execPath, ['-e', code, path]).signal).toBe('SIGKILL')
    expect(existsSync(path)).toBe(true)
    await serve({ path })
    await (await open({ path })).ping()
  })

  it('that is another kind of file is not changed', async () => {
    const path = await here('precious')
    await writeFile(path, 'data')
    const link = `${path}.sock`
    await symlink(path, link)
    for (const taken of [path, link]) {
      await expect(serveSocket(testServer(), { path: taken })).rejects.toMatchObject({
        code: 'CONNECT_FAILED',
        message: expect.stringContaining('not a socket'),
      })
    }
    expect(await readFile(path, 'utf8')).toBe('data')
  })

  it('in a folder that does not exist is a typed failure', async () => {
    const path = join(await folder(), 'no', 'such', 'mcp.sock')
    await expect(serveSocket(testServer(), { path })).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })
})

describe('the principal of a server on a socket', () => {
  const received: Tool = (_args, { peer }) => JSON.stringify([peer.principal, peer.scopes])
  const scopesAt = async (at: SocketAddress) => {
    const { address } = await serve(at, {
      told: (args, exchange, round) =>
        exchange.peer.scopes === 'any' ? 'any' : received(args, exchange, round),
    })
    return (await (await open(address)).call('told')).content[0]
  }

  it.runIf(onPosix)('may use all of it where only its owner can connect', async () => {
    expect(await scopesAt({ path: join(await folder(), 's') })).toMatchObject({ text: 'any' })
  })

  it('has no identity on TCP, and no scope', async () => {
    expect(await scopesAt({ port: 0 })).toMatchObject({ text: '[null,{}]' })
  })

  it('is on this machine, unless an explicit option allows others', async () => {
    for (const host of ['0.0.0.0', '::', 'example.com', '127.0.0.1.example.com']) {
      await expect(serveSocket(testServer(), { port: 0, host })).rejects.toThrow(TypeError)
    }
    const allowed = { dangerouslyListenBeyondLoopback: true }
    const { address } = await serve({ port: 0, host: '0.0.0.0' }, {}, allowed)
    const port = 'port' in address ? address.port : 0
    await (await open({ port })).ping()
  })
})

describe('a link to a socket', () => {
  /** A hand-written server: `take` gets each message. */
  const handWritten = async (
    handle: (message: { id: number; method: string }, end: Socket) => void,
  ): Promise<SocketAddress> => {
    const server = createServer((end) => {
      end.on('error', () => {})
      createInterface({ input: end }).on('line', (line) => {
        const message = JSON.parse(line)
        const { protocolVersion } = message.params ?? {}
        const result = {
          protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'hand', version: '1' },
        }
        if (message.method === 'initialize') {
          end.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n`)
        } else handle(message, end)
      })
      onTestFinished(() => {
        end.destroy()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
    })
    const address = server.address()
    return { port: typeof address === 'object' && address !== null ? address.port : 0 }
  }
  const legacy = { revisions: ['2025-03-26'] } as const

  it('reports an unreachable address', async () => {
    const path = join(await folder(), 'none')
    await expect(connect(socket({ path }))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining(path),
      details: { code: 'ENOENT' },
    })
    await expect(connect(socket({ port: 1 }))).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      details: { code: 'ECONNREFUSED' },
    })
  })

  it.each(['end', 'resetAndDestroy'] as const)(
    'rejects all running calls when the server disconnects by %s',
    async (how) => {
      const at = await handWritten(({ method }, end) => {
        if (method === 'tools/call') end[how]()
      })
      const client = await open(at, legacy)
      const calls = await Promise.allSettled([client.call('a'), client.ping()])
      expect(calls).toMatchObject([
        { reason: { code: 'OUTCOME_UNKNOWN' } },
        { reason: { code: 'CONNECTION_CLOSED' } },
      ])
      await expect(client.closed).resolves.toMatchObject({ code: 'CONNECTION_CLOSED' })
    },
  )

  it('accepts batched responses, in any chunks', async () => {
    const waiting: number[] = []
    const at = await handWritten(({ id, method }, end) => {
      if (method !== 'ping') return
      waiting.push(id)
      if (waiting.length < 2) return
      const text = `${JSON.stringify(waiting.map((one) => ({ jsonrpc: '2.0', id: one, result: {} })))}\n`
      end.setNoDelay(true)
      for (const byte of Buffer.from(text)) end.write(Uint8Array.of(byte))
    })
    const client = await open(at, legacy)
    await Promise.all([client.ping(), client.ping()])
  })

  it('bounds the size of a message and of its write buffer', async () => {
    const at = await handWritten(({ method }, end) => {
      if (method === 'tools/call') end.write('x'.repeat(200_000))
    })
    const client = await connect(socket(at, { maxFrameBytes: 100_000 }), legacy)
    await expect(client.call('a')).rejects.toMatchObject({ code: 'LIMIT' })
    const deaf = await handWritten(({ method }, end) => {
      if (method === 'notifications/initialized') end.pause()
    })
    const other = await connect(socket(deaf, { maxQueuedBytes: 1000 }), legacy)
    const first = other.call('a', { blob: 'x'.repeat(20_000_000) }).catch((error) => error)
    await expect(other.call('b')).rejects.toMatchObject({ code: 'LIMIT' })
    await other.close()
    await expect(first).resolves.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  it('is abandoned when connecting is aborted', async () => {
    const at = await handWritten(() => {})
    const stop = new AbortController()
    const attempt = connect(socket(at), { signal: stop.signal })
    stop.abort()
    await expect(attempt).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})
