import {
  type JsonObject,
  type JsonRpcMessage,
  McpError,
  type ProtocolVersion,
  type RequestId,
} from '@jackfield/sdk'
import { type ClientTransport, type ClientTransportFactory, http } from '@jackfield/sdk/client'
import { DuplexTransport } from '../../../packages/sdk/src/transports/client/duplex.ts'
import { isObject } from '../../setup/json.ts'

/** A call as the scripted peer of a client sees it. */
export interface Arrived {
  readonly id: RequestId
  readonly token: unknown
}

/** The scripted peer of a client. */
export interface ScriptedServer {
  readonly link: ClientTransport | ClientTransportFactory
  /** Calls in the order they came. */
  readonly calls: Arrived[]
  /** Cancelled requests: by a notification, or by closing the stream. */
  readonly cancelled: RequestId[]
  /** Requests and notifications that arrived too late. */
  readonly stray: string[]
  /** Says how far a call got. */
  progress(call: Arrived, progress: number): void
  answer(call: Arrived): void
  /** Hangs up: on everything, or on one call where each has a connection of its own. */
  hangUp(call: Arrived | undefined): void
}

const info = { name: 'hand', version: '1' }

function handshakeAnswer(revision: ProtocolVersion): JsonObject {
  return revision === '2026-07-28'
    ? {
        resultType: 'complete',
        supportedVersions: [revision],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      }
    : { protocolVersion: revision, capabilities: { tools: {} }, serverInfo: info }
}

function given(revision: ProtocolVersion): JsonObject {
  return { content: [], ...(revision === '2026-07-28' ? { resultType: 'complete' } : {}) }
}

function tokenIn(params: JsonObject | undefined): unknown {
  const meta = params?.['_meta']
  return isObject(meta) ? meta['progressToken'] : undefined
}

const notice = (call: Arrived, progress: number): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: call.token, progress },
})

/** The scripted peer for one channel for everything. */
export function scriptedChannel(revision: ProtocolVersion): ScriptedServer {
  const calls: Arrived[] = []
  const cancelled: RequestId[] = []
  const stray: string[] = []
  let send: (message: object) => void = () => {}
  let lose: () => void = () => {}
  let up = true
  const receive = (message: JsonRpcMessage): void => {
    if (!up) stray.push(JSON.stringify(message))
    if (!('method' in message)) return
    const { method, params } = message
    if (method === 'notifications/cancelled') {
      const id = params?.['requestId']
      if (typeof id === 'number') cancelled.push(id)
      return
    }
    if (!('id' in message)) return
    const { id } = message
    if (method === 'tools/call') calls.push({ id, token: tokenIn(params) })
    else send({ jsonrpc: '2.0', id, result: handshakeAnswer(revision) })
  }
  const link = new DuplexTransport('memory', async (events) => {
    send = (message) => events.text(JSON.stringify(message))
    lose = () => events.lost(new McpError('CONNECTION_CLOSED', 'The far end hung up'))
    return { send: async (text) => receive(JSON.parse(text)), close: async () => {} }
  })
  return {
    link,
    calls,
    cancelled,
    stray,
    progress: (call, progress) => up && send(notice(call, progress)),
    answer: (call) => up && send({ jsonrpc: '2.0', id: call.id, result: given(revision) }),
    hangUp: () => {
      up = false
      lose()
    },
  }
}

/** The scripted peer for HTTP, where each call is answered on a stream of its own. */
export function scriptedHttp(revision: ProtocolVersion): ScriptedServer {
  const calls: Arrived[] = []
  const cancelled: RequestId[] = []
  const streams = new Map<RequestId, ReadableStreamDefaultController<Uint8Array>>()
  const write = (id: RequestId, message: object): void => {
    streams.get(id)?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`))
  }
  const open = (id: RequestId, signal: AbortSignal | null | undefined): Response => {
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        streams.set(id, stream)
      },
    })
    const onAbort = (): void => {
      streams.get(id)?.error(signal?.reason)
      if (streams.delete(id) && revision === '2026-07-28') cancelled.push(id)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const fetch = async (_: URL, { method: verb, body, signal }: RequestInit): Promise<Response> => {
    if (verb !== 'POST') return new Response(null, { status: verb === 'GET' ? 405 : 200 })
    const { id, method, params } = JSON.parse(String(body))
    if (method === 'notifications/cancelled') cancelled.push(params.requestId)
    if (id === undefined) return new Response(null, { status: 202 })
    if (method !== 'tools/call')
      return Response.json({ jsonrpc: '2.0', id, result: handshakeAnswer(revision) })
    calls.push({ id, token: tokenIn(params) })
    return open(id, signal)
  }
  return {
    link: http('http://127.0.0.1/mcp', { fetch: fetch }),
    calls,
    cancelled,
    stray: [],
    progress: (call, progress) => write(call.id, notice(call, progress)),
    answer: ({ id }) => {
      write(id, { jsonrpc: '2.0', id, result: given(revision) })
      streams.get(id)?.close()
      streams.delete(id)
    },
    hangUp: (call) => {
      if (call === undefined) return
      streams.get(call.id)?.error(new Error('hung up'))
      streams.delete(call.id)
    },
  }
}
