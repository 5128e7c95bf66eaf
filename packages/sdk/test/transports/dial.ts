import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect as dialSocket, type NetConnectOpts } from 'node:net'
import type { Readable } from 'node:stream'
import { MetaKey, type RequestId, type Server } from '@jackfield/sdk'
import { isObject } from '../../../../test/setup/json.ts'
import { RemoteMessages } from '../../../../test/setup/remote-messages.ts'
import { LineReader } from '../../src/jsonrpc/line-reader.ts'
import { isRequestId } from '../../src/jsonrpc/parse.ts'
import { EventReader, type ServerSentEvent } from '../../src/jsonrpc/sse.ts'
import { DuplexConnection } from '../../src/transports/server/duplex-connection.ts'

/** Receives one JSON value from the server; `cause` is the request on whose stream it came. */
export type Receive = (value: unknown, cause: RequestId | undefined) => void

/** The client's end of a transport, without our client: values are sent unchanged, valid or not. */
export interface RawConnection {
  /** Sends one JSON value. Over HTTP it settles when the server has taken it. */
  send(value: unknown): Promise<void>
  /** Closes the response stream of a request, where each has its own. */
  hangUp?(id: RequestId): void
  /** Has the server shut the connection down. Absent where it ends with all others, when the server closes. */
  end?(): Promise<void>
  close(): Promise<void>
}

export async function dialMemory(server: Server, receive: Receive): Promise<RawConnection> {
  const connection = new DuplexConnection(server, (message) => {
    const text = JSON.stringify(message)
    queueMicrotask(() => receive(JSON.parse(text), undefined))
  })
  return {
    send: async (value) => {
      connection.receive(JSON.parse(JSON.stringify(value)))
    },
    end: () => connection.shutdown(),
    close: () => connection.close(),
  }
}

export async function dialLines(to: NetConnectOpts, receive: Receive): Promise<RawConnection> {
  const reached = dialSocket(to)
  await once(reached, 'connect')
  readLines(reached, receive)
  return {
    send: async (value) => {
      reached.write(`${JSON.stringify(value)}\n`)
    },
    async close() {
      if (!reached.closed) {
        reached.destroy()
        await once(reached, 'close')
      }
    },
  }
}

export async function dialProcess(args: readonly string[], receive: Receive): Promise<RawConnection> {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [...args])
  child.stderr.resume()
  const remote = new RemoteMessages()
  readLines(child.stdout, (value, ...more) => {
    remote.received(value)
    receive(value, ...more)
  })
  return {
    send: async (value) => {
      child.stdin.write(remote.sent(`${JSON.stringify(value)}\n`))
    },
    async end() {
      child.stdin.end()
    },
    async close() {
      child.stdin.end()
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
    },
  }
}

function readLines(stream: Readable, receive: Receive): void {
  const lines = new LineReader({
    maxBytes: 4 * 1024 * 1024,
    onLine: (text) => receive(JSON.parse(text), undefined),
    onTooLong: () => {},
    onNotUtf8: () => {},
  })
  stream.on('data', (chunk: Uint8Array) => lines.push(chunk))
  stream.on('error', () => {})
}

/** Streamable HTTP in both eras: the headers of a message follow from its `_meta`. */
export function dialHttp(url: URL, receive: Receive): RawConnection {
  const all = new AbortController()
  const streams = new Map<RequestId, AbortController>()
  let session: Record<string, string> = {}
  const listen = async (): Promise<void> => {
    const headers = { accept: 'text/event-stream', ...session }
    const response = await fetch(url, { headers, signal: all.signal })
    if (response.ok) read(response, (event) => receiveEvent(event, receive, undefined))
  }
  return {
    async send(value) {
      const id = idOf(value)
      const stop = new AbortController()
      if (id !== undefined) streams.set(id, stop)
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(statelessHeaders(value) ?? session),
        },
        body: JSON.stringify(value),
        signal: AbortSignal.any([all.signal, stop.signal]),
      })
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
        read(response, (event) => receiveEvent(event, receive, id))
      } else {
        const text = await response.text()
        const answer: unknown = text === '' ? undefined : JSON.parse(text)
        session = sessionIn(response, answer) ?? session
        if (answer !== undefined) receive(answer, id)
      }
      if (isObject(value) && value['method'] === 'notifications/initialized') await listen()
    },
    hangUp(id) {
      streams.get(id)?.abort()
    },
    async close() {
      const name = session['mcp-session-id']
      if (name !== undefined) await fetch(url, { method: 'DELETE', headers: session })
      all.abort()
    },
  }
}

/** The transport of 2024-11-05: one stream for received messages, and the endpoint it names for sent ones. */
export async function dialSse(url: URL, receive: Receive): Promise<RawConnection> {
  const stop = new AbortController()
  const { signal } = stop
  const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal })
  const inbox = await new Promise<URL>((resolve) => {
    read(response, (event) => {
      if (event.event === 'endpoint') resolve(new URL(event.data, url))
      else receiveEvent(event, receive, undefined)
    })
  })
  return {
    async send(value) {
      const headers = { 'content-type': 'application/json' }
      const sent = await fetch(inbox, { method: 'POST', headers, body: JSON.stringify(value), signal })
      const text = await sent.text()
      if (!sent.ok && text !== '') receive(JSON.parse(text), undefined)
    },
    close: async () => stop.abort(),
  }
}

function idOf(value: unknown): RequestId | undefined {
  return isObject(value) && 'method' in value && isRequestId(value['id']) ? value['id'] : undefined
}

function statelessHeaders(value: unknown): Record<string, string> | undefined {
  const { method, params } = isObject(value) ? value : {}
  const { _meta: meta, name, uri, taskId } = isObject(params) ? params : {}
  const version = isObject(meta) ? meta[MetaKey.protocolVersion] : undefined
  if (typeof version !== 'string') return undefined
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': String(method) }
  const named = [taskId, name, uri].find((one) => typeof one === 'string')
  return named === undefined ? headers : { ...headers, 'mcp-name': String(named) }
}

/** The headers of a session that begins with this answer. */
function sessionIn(response: Response, answer: unknown): Record<string, string> | undefined {
  const id = response.headers.get('mcp-session-id')
  const { protocolVersion } = isObject(answer) && isObject(answer['result']) ? answer['result'] : {}
  return id === null || typeof protocolVersion !== 'string'
    ? undefined
    : { 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion }
}

function receiveEvent(
  { data, event = 'message' }: ServerSentEvent,
  receive: Receive,
  cause: RequestId | undefined,
): void {
  if (event === 'message' && data !== '') receive(JSON.parse(data), cause)
}

/** Reads a stream until it ends, breaks, or is closed. */
function read(response: Response, onEvent: (event: ServerSentEvent) => void): void {
  const events = new EventReader({ onEvent })
  const pump = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) events.push(chunk)
  }
  pump().catch(() => {})
}
