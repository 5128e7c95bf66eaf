import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createLineServer } from 'node:net'
import type { RequestId } from '@jackfield/sdk'
import { sse, type Target } from '@jackfield/sdk/client'
import { socket } from '@jackfield/sdk/client/socket'
import { isObject } from '../../../../test/setup/json.ts'
import { LineReader } from '../../src/jsonrpc/line-reader.ts'
import { isRequestId } from '../../src/jsonrpc/parse.ts'
import { encodeEvent } from '../../src/jsonrpc/sse.ts'
import { DuplexTransport } from '../../src/transports/client/duplex.ts'

/** Sends one JSON value to the client. Over HTTP it goes on the stream of the request it answers, or of `cause`. */
export type Send = (value: unknown, cause?: RequestId) => void

/** A scripted server: it receives every JSON value as it was sent, and sends any message, valid or not. */
export type MessageHandler = (value: unknown, send: Send) => void

/** A running scripted server. */
export interface ScriptedTarget {
  readonly target: Target
  close(): Promise<void>
}

export function scriptedMemory(handle: MessageHandler): ScriptedTarget {
  const target = (): DuplexTransport =>
    new DuplexTransport('memory', async (events) => {
      const send: Send = (value) => {
        const text = JSON.stringify(value)
        queueMicrotask(() => events.text(text))
      }
      return {
        send: async (text) => queueMicrotask(() => handle(JSON.parse(text), send)),
        close: async () => {},
      }
    })
  return { target, close: async () => {} }
}

/** A scripted server on a Unix socket or a TCP port. */
export async function scriptedLines(
  handle: MessageHandler,
  path?: string,
): Promise<ScriptedTarget & { address: AddressInfo | string }> {
  const ends = new Set<{ destroy(): void }>()
  const server = createLineServer((end) => {
    ends.add(end)
    const lines = new LineReader({
      maxBytes: 4 * 1024 * 1024,
      onLine: (text) => handle(JSON.parse(text), (value) => end.write(`${JSON.stringify(value)}\n`)),
      onTooLong: () => {},
      onNotUtf8: () => {},
    })
    end.on('data', (chunk) => lines.push(Buffer.from(chunk)))
    end.on('error', () => {})
  })
  await new Promise<void>((resolve) => {
    if (path === undefined) server.listen(0, '127.0.0.1', resolve)
    else server.listen(path, resolve)
  })
  const address = server.address() ?? ''
  return {
    address,
    target: socket(typeof address === 'string' ? { path: address } : { port: address.port }),
    async close() {
      for (const end of ends) end.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A scripted server over Streamable HTTP: each request has an event stream, and a session one more. */
export async function scriptedHttp(handle: MessageHandler): Promise<ScriptedTarget> {
  const streams = new Map<RequestId, ServerResponse>()
  let own: ServerResponse | undefined
  const send =
    (from?: RequestId): Send =>
    (value, cause = from) => {
      const answered = answersIn(value)
      const id = answered.find((one) => streams.has(one)) ?? cause
      const stream = (id === undefined ? undefined : streams.get(id)) ?? own
      stream?.write(encodeEvent({ data: JSON.stringify(value) }))
      for (const one of answered) {
        streams.get(one)?.end()
        streams.delete(one)
      }
    }
  const { url, close } = await listen((value, { method }, res) => {
    if (method === 'GET') {
      own = openStream(res)
    } else if (method !== 'POST') {
      res.writeHead(200).end()
    } else {
      const id = isObject(value) && 'method' in value && isRequestId(value['id']) ? value['id'] : undefined
      if (id === undefined) res.writeHead(202).end()
      else {
        streams.set(id, openStream(res))
        res.on('close', () => streams.delete(id))
      }
      handle(value, send(id))
    }
  })
  return { target: url, close }
}

/** The transport of 2024-11-05 for a scripted server: one stream for sent messages, an endpoint for received ones. */
export async function scriptedSse(handle: MessageHandler): Promise<ScriptedTarget> {
  let own: ServerResponse | undefined
  const { url, close } = await listen((value, { method }, res) => {
    if (method === 'GET') {
      own = openStream(res)
      own.write(encodeEvent({ event: 'endpoint', data: '/inbox' }))
      return
    }
    res.writeHead(202).end()
    handle(value, (reply) => own?.write(encodeEvent({ event: 'message', data: JSON.stringify(reply) })))
  })
  return { target: sse(url), close }
}

function openStream(res: ServerResponse): ServerResponse {
  res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  return res
}

function answersIn(value: unknown): RequestId[] {
  if (Array.isArray(value)) return value.flatMap(answersIn)
  return isObject(value) && !('method' in value) && isRequestId(value['id']) ? [value['id']] : []
}

async function listen(
  handle: (value: unknown, req: IncomingMessage, res: ServerResponse) => void,
): Promise<{ url: URL; close(): Promise<void> }> {
  const server = createHttpServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      handle(text === '' ? undefined : JSON.parse(text), req, res)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
