import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { limits } from '@jackfield/sdk'
import { type Client, connect } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { stdio } from '@jackfield/sdk/client/stdio'
import { serveSocket } from '@jackfield/sdk/socket'
import { expect, onTestFinished } from 'vitest'
import { testServer } from '../../../packages/sdk/test/serve/support.ts'
import { faultyPeer } from '../../setup/faulty-peer.ts'
import { campaign } from '../campaign.ts'
import { dial, serveMeasured } from './served.ts'

const MiB = 1024 * 1024

/** Input without a message, by what it is made of. */
const lines = {
  'lines of one digit': '1\n',
  'empty objects': '{}\n',
  'lists of numbers': '[1,2]\n',
  'bytes that are not UTF-8': Buffer.from([0x31, 0xff, 10]),
  'lines that are not JSON': 'x\n',
}
const events = {
  'empty lines': '\n',
  comments: ':\n',
  'unknown fields': 'x\n',
  'empty events': 'data\n\n',
  'events of another type': 'event: x\ndata: {}\n\n',
  'events that are no messages': 'data: 1\n\n',
}

const discovered = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}

function times(unit: string | Uint8Array): Buffer {
  return Buffer.alloc(MiB, typeof unit === 'string' ? Buffer.from(unit) : unit)
}

/** Writes a chunk again and again until `most` were taken or the stream is closed. The result is whether it was closed. */
async function pour(stream: Socket | ServerResponse, chunk: Uint8Array, most: number): Promise<boolean> {
  stream.on('error', () => {})
  // A reset connection is closed as well.
  const closed = once(stream, 'close').then(
    () => true,
    () => true,
  )
  for (let sent = 0; sent < most; sent++) {
    if (stream.destroyed || stream.closed) return true
    if (stream.write(chunk)) continue
    const over = await Promise.race([closed, once(stream, 'drain').then(() => false)]).catch(() => true)
    if (over) return true
  }
  return stream.destroyed || stream.closed || Promise.race([closed, once(stream, 'drain').then(() => false)])
}

async function listening<S extends Server>(server: S): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A server on a socket that answers one request and then sends a chunk without end. */
async function floodingSocket(chunk: Uint8Array, maxMiB: number) {
  const poured = Promise.withResolvers<boolean>()
  const port = await listening(
    createServer((end) => {
      end.once('data', (line) => {
        const { id } = JSON.parse(String(line))
        end.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: discovered })}\n`)
        end.once('data', () => pour(end, chunk, maxMiB).then(poured.resolve))
      })
    }),
  )
  return { target: socket({ port }), poured: poured.promise }
}

/** The same over HTTP, as the event stream that answers the second request. */
async function floodingHttp(chunk: Uint8Array, maxMiB: number) {
  const poured = Promise.withResolvers<boolean>()
  const port = await listening(
    createHttpServer(async (request, response) => {
      const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString())
      if (method === 'server/discover') {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: discovered }))
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      pour(response, chunk, maxMiB).then(poured.resolve)
    }),
  )
  return { target: `http://127.0.0.1:${port}/mcp`, poured: poured.promise }
}

async function opened(
  target: Parameters<typeof connect>[0],
): Promise<{ client: Client; warnings: string[] }> {
  const warnings: string[] = []
  const client = await connect(target, { onWarning: (text) => warnings.push(text) })
  onTestFinished(() => client.close())
  return { client, warnings }
}

campaign(
  {
    id: 'junk',
    chapter: 'Bytes and limits',
    claim:
      'A peer that sends only input without messages is disconnected, over lines and event streams and in both roles',
    trial: 'MiB of such input that was to be sent',
    trials: { test: 16 * 2, change: 16 * 8, long: 16 * 200 },
    longMinutes: 60,
  },
  async ({ trials, measured }) => {
    faultyPeer('nothing but what holds no message')
    const each = Math.ceil(trials / 16)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const cpu = process.cpuUsage()
    for (const [name, unit] of Object.entries(lines)) {
      const { target, poured } = await floodingSocket(times(unit), each)
      const { client, warnings } = await opened(target)
      await expect(client.call('x'), name).rejects.toMatchObject({
        code: 'LIMIT',
        message: expect.stringContaining(`sent ${limits.invalidLines + 1} lines`),
      })
      expect(await poured, name).toBe(true)
      expect(warnings.length, name).toBeLessThanOrEqual(20)
    }
    for (const [name, unit] of Object.entries(events)) {
      const { target, poured } = await floodingHttp(times(unit), each)
      const { client } = await opened(target)
      await expect(client.call('x'), name).rejects.toMatchObject({
        code: 'LIMIT',
        message: expect.stringMatching(/sent \d+ lines or events .* without a valid message/),
      })
      expect(await poured, name).toBe(true)
    }
    for (const [name, unit] of Object.entries(lines)) {
      const reports: string[] = []
      const served = await serveSocket(
        testServer({}),
        { port: 0 },
        { onError: (error) => reports.push(String(error)) },
      )
      onTestFinished(() => served.close())
      if (!('port' in served.address)) throw new Error('not on TCP')
      const end = await dial({ port: served.address.port })
      let answers = 0
      end.on('data', (chunk: Buffer) => {
        for (const byte of chunk) if (byte === 10) answers++
      })
      expect(await pour(end, times(unit), each), name).toBe(true)
      expect(answers, name).toBeLessThanOrEqual(limits.invalidLines + 1)
      // What is no JSON at all ends a socket at once.
      if (unit !== 'x\n' && typeof unit === 'string')
        expect(reports, name).toEqual([
          expect.stringContaining(`The client sent ${limits.invalidLines + 1} lines`),
        ])
    }
    const { user, system } = process.cpuUsage(cpu)
    measured('CPU of both sides together', Math.round((user + system) / 1000), 'ms')
    measured('longest time without a turn of the event loop', Math.round(delay.max / 1e6), 'ms')
    delay.disable()
  },
)

campaign(
  {
    id: 'junk-stdio',
    chapter: 'Bytes and limits',
    claim: 'Over standard streams, a peer that sends only input without messages is disconnected',
    trial: 'MiB of such input that was to be sent',
    trials: { test: 2 * 2, change: 2 * 8, long: 2 * 200 },
  },
  async ({ trials }) => {
    const program = `
      process.stdin.once('data', (line) => {
        const { id } = JSON.parse(line)
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result: ${JSON.stringify(discovered)} }))
        const chunk = 'x\\n'.repeat(${MiB / 2})
        let left = ${Math.ceil(trials / 2)}
        const more = () => { while (left-- > 0) if (!process.stdout.write(chunk)) return process.stdout.once('drain', more) }
        process.stdin.once('data', more)
      })`
    const { client } = await opened(stdio({ command: process.execPath, args: ['-e', program] }))
    await expect(client.call('x')).rejects.toMatchObject({ code: 'LIMIT' })

    const served = await serveMeasured({ stdio: true })
    let answers = 0
    served.stdout.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) answers++
    })
    served.stdin.on('error', () => {})
    const closed = once(served.stdout, 'close')
    const chunk = times('x\n')
    for (let sent = 0; sent < trials / 2; sent++) {
      if (!served.stdin.write(chunk))
        await Promise.race([once(served.stdin, 'drain'), closed]).catch(() => {})
    }
    await closed
    expect(answers).toBeLessThanOrEqual(limits.invalidLines + 1)
  },
)
