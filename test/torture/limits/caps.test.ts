import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished } from 'vitest'
import { campaign } from '../campaign.ts'
import { figure, measuredBy } from './child.ts'

type Answer = (response: ServerResponse) => void

const MiB = 1024 * 1024
const fill = Buffer.alloc(256 * 1024, 'x')

/** Sends a beginning, and then the same bytes for as long as the peer reads them. */
function endless(
  headers: Record<string, string>,
  first: Buffer | string,
  unit: Buffer,
  status = 200,
): Answer {
  return (response) => {
    let over = false
    response.on('close', () => {
      over = true
    })
    response.writeHead(status, headers)
    response.write(first)
    const more = (): void => {
      if (!over) response.write(unit, () => setImmediate(more))
    }
    more()
  }
}

/** Sends one body, which may be taken whole before it is unpacked: the connection has done its work then, either way. */
function whole(headers: Record<string, string>, body: Buffer): Answer {
  return (response) => response.writeHead(200, { ...headers, connection: 'close' }).end(body)
}

/** Writes to the connection what no server of Node would. */
function raw(first: string, unit: Buffer): Answer {
  return ({ socket }) => {
    if (socket === null) return
    let over = false
    socket.on('close', () => {
      over = true
    })
    socket.on('error', () => {})
    socket.write(first)
    const more = (): void => {
      if (!over) socket.write(unit, () => setImmediate(more))
    }
    more()
  }
}

const json = { 'content-type': 'application/json' }
const events = { 'content-type': 'text/event-stream' }
const gzip = { 'content-encoding': 'gzip' }
/** 16 MiB of one character in 16 KiB; put one after another, such texts are again one. */
const member = gzipSync(Buffer.alloc(16 * MiB, 'x'))
/** 10 GiB in 30 KiB or so, compressed twice. */
const bomb = gzipSync(Buffer.concat(Array.from({ length: 640 }, () => member)))

const answers: Readonly<Record<string, { code: string; answer: Answer }>> = {
  'JSON without end': { code: 'LIMIT', answer: endless(json, '"', fill) },
  'JSON without end, byte by byte': {
    code: 'LIMIT',
    answer: raw(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      Buffer.from('1\r\nx\r\n'.repeat(20_000)),
    ),
  },
  'a data line without end': { code: 'LIMIT', answer: endless(events, 'data: ', fill) },
  'short data lines without end': {
    code: 'LIMIT',
    answer: endless(events, '', Buffer.from('data: x\n'.repeat(20_000))),
  },
  'empty data lines without end': {
    code: 'LIMIT',
    answer: endless(events, '', Buffer.from('data:\n'.repeat(20_000))),
  },
  'compressed JSON without end': {
    code: 'LIMIT',
    answer: endless({ ...json, ...gzip }, gzipSync('"'), member),
  },
  'a compressed data line without end': {
    code: 'LIMIT',
    answer: endless({ ...events, ...gzip }, gzipSync('data: '), member),
  },
  'JSON compressed twice': {
    code: 'LIMIT',
    answer: whole({ ...json, 'content-encoding': 'gzip, gzip' }, bomb),
  },
  'an error without end': { code: 'HTTP', answer: endless({ 'content-type': 'text/plain' }, '', fill, 500) },
  'headers without end': {
    code: 'OUTCOME_UNKNOWN',
    answer: raw('HTTP/1.1 200 OK\r\n', Buffer.from(`X-More: ${'x'.repeat(100)}\r\n`.repeat(500))),
  },
  'login: a document without end': { code: 'UNAUTHORIZED', answer: endless(json, '"', fill) },
  'login: a document without end, pinned': { code: 'UNAUTHORIZED', answer: endless(json, '"', fill) },
  'login: a compressed document without end': {
    code: 'UNAUTHORIZED',
    answer: endless({ ...json, ...gzip }, gzipSync('"'), member),
  },
  'login: a document compressed twice': {
    code: 'UNAUTHORIZED',
    answer: whole({ ...json, 'content-encoding': 'gzip, gzip' }, bomb),
  },
}

const discovered = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'endless', version: '1' } },
}

/** A server that is well-behaved until a tool is called. */
async function hostileServer() {
  const open = new Set<string>()
  const sent = new Map<string, number>()
  let origin = ''
  const serve = (request: IncomingMessage, response: ServerResponse, text: string): void => {
    const kind = decodeURIComponent(request.url?.split('/')[1]?.split('?')[0] ?? '')
    const isDocument = kind === 'document'
    const named = isDocument ? decodeURIComponent(request.url?.split('?')[1] ?? '') : kind
    const message = text === '' ? {} : JSON.parse(text)
    if (message.method === 'server/discover') {
      response
        .writeHead(200, json)
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: discovered }))
    } else if (kind === 'open') {
      response.writeHead(200, json).end(JSON.stringify([...open]))
    } else if (kind.startsWith('login')) {
      const place = `${origin}/document?${encodeURIComponent(kind)}`
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${place}"` }).end()
    } else if (answers[named] !== undefined) {
      const { socket } = request
      open.add(named)
      const before = socket.bytesWritten
      socket.once('close', () => {
        open.delete(named)
        sent.set(named, socket.bytesWritten - before)
      })
      answers[named].answer(response)
    } else {
      response.writeHead(404).end()
    }
  }
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => serve(request, response, text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const { port }: Pick<AddressInfo, 'port'> = typeof address === 'object' && address ? address : { port: 0 }
  origin = `http://127.0.0.1:${port}`
  return { origin, sent }
}

campaign(
  {
    id: 'answers-without-end',
    chapter: 'Bytes and limits',
    claim: 'A client aborts a response at its limit, however it is compressed, and closes the connection',
    trial: 'answer larger than the limit',
    trials: { change: Object.keys(answers).length, long: Object.keys(answers).length },
  },
  async (campaignRun) => {
    const server = await hostileServer()
    const codes = Object.fromEntries(Object.entries(answers).map(([kind, { code }]) => [kind, code]))
    const found = await measuredBy('caps-program.ts', { base: server.origin, codes }, undefined, [
      // The room of new objects is no part of what the client holds.
      '--max-semi-space-size=1',
    ])
    const grown = figure(found, 'grown')
    console.error('GROWN', grown)
    campaignRun.measured('memory of the process, all in all', Math.round(grown * 10) / 10, 'times the limit')
    campaignRun.measured('sent at most', Math.round(Math.max(...server.sent.values()) / MiB), 'MiB')
    expect(grown).toBeLessThan(25)
    // What the system keeps on the way is no more than this.
    for (const [kind, bytes] of server.sent) expect(bytes, kind).toBeLessThan(64 * MiB)
  },
)
