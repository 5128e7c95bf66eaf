import { request as httpRequest } from 'node:http'
import type { JsonObject, Server } from '@jackfield/sdk'
import { type ServeHttpOptions, serveHttp } from '@jackfield/sdk/http'
import { afterEach } from 'vitest'
import { EventReader, type ServerSentEvent } from '../../src/jsonrpc/sse.ts'
import {
  ask,
  echo,
  hang,
  hung,
  initialize,
  initialized,
  meta,
  settle,
  type TestServer,
  type Tool,
  testServer,
} from './support.ts'

export interface Ask {
  method?: string
  path?: string
  headers?: Record<string, string | string[] | undefined>
  /** Sent as it is when text or bytes, else as JSON. */
  body?: unknown
}

export interface Answer {
  readonly status: number
  header(name: string): string | undefined
  /** The whole body, once it ended. */
  text(): Promise<string>
  /** The body as JSON. */
  json(): Promise<JsonObject>
  /** Events so far, as they come in. */
  readonly events: ServerSentEvent[]
  /** Messages among the events so far. */
  messages(): JsonObject[]
  /** Whether the body ended or broke. */
  readonly over: () => boolean
  /** Breaks the connection off. */
  drop(): void
}

export interface Mounted {
  send(ask?: Ask): Promise<Answer>
  readonly handler: ReturnType<typeof serveHttp>
  readonly url: string
  close(): Promise<void>
}

export type Adapter = (server: Server, options?: ServeHttpOptions) => Promise<Mounted>

const keys = ['k'.repeat(32)]
const quiet = (options?: ServeHttpOptions): ServeHttpOptions => ({ keys, onWarning: () => {}, ...options })

const postHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

function prepare({ method = 'POST', path = '/mcp', headers = {}, body }: Ask) {
  const named: NonNullable<Ask['headers']> = {
    ...(method === 'POST' ? postHeaders : method === 'GET' ? { accept: 'text/event-stream' } : {}),
    ...headers,
  }
  const all = Object.entries(named).flatMap(([name, value]): [string, string | string[]][] =>
    value === undefined ? [] : [[name, value]],
  )
  const bytes =
    body === undefined
      ? undefined
      : Buffer.from(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body))
  return { method, path, headers: Object.fromEntries(all), bytes }
}

/** Collects a body that comes in pieces. */
class Collected {
  readonly events: ServerSentEvent[] = []
  readonly #reader = new EventReader({ onEvent: (event) => this.events.push(event) })
  readonly #chunks: Uint8Array[] = []
  readonly #ended: Promise<void>
  #end: () => void = () => {}
  isOver = false

  constructor() {
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#reader.push(chunk)
  }

  end(): void {
    this.isOver = true
    this.#end()
  }

  async text(): Promise<string> {
    await this.#ended
    return Buffer.concat(this.#chunks).toString()
  }

  messages(): JsonObject[] {
    return this.events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data))
  }
}

function answer(
  status: number,
  header: (name: string) => string | undefined,
  body: Collected,
  drop: () => void,
): Answer {
  return {
    status,
    header,
    drop,
    text: () => body.text(),
    json: async () => JSON.parse(await body.text()),
    events: body.events,
    messages: () => body.messages(),
    over: () => body.isOver,
  }
}

/** Over a real socket, through `listen` and the Node adapter. */
export const nodeAdapter: Adapter = async (server, options) => {
  const handler = serveHttp(server, quiet(options))
  const { port, url, close } = await handler.listen()
  return { handler, url, close, send: sendingTo(port) }
}

/** Sends to a port of this machine. */
export function sendingTo(port: number): Mounted['send'] {
  return (ask = {}) => {
    const { method, path, headers, bytes } = prepare(ask)
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        { host: '127.0.0.1', port, method, path, headers, agent: false },
        (response) => {
          const body = new Collected()
          response.on('data', (chunk) => body.push(chunk))
          response.on('error', () => body.end())
          response.on('close', () => body.end())
          const get = (name: string): string | undefined => {
            const value = response.headers[name]
            return Array.isArray(value) ? value.join(', ') : value
          }
          resolve(answer(response.statusCode ?? 0, get, body, () => request.destroy()))
        },
      )
      request.on('error', reject)
      request.end(bytes)
    })
  }
}

/** Through the web adapter, with web requests and responses. */
export const webAdapter: Adapter = async (server, options) => {
  const handler = serveHttp(server, quiet(options))
  const url = 'http://localhost:3000/mcp'
  return {
    handler,
    url,
    close: () => handler.close(),
    send: async (ask = {}) => {
      const { method, path, headers, bytes } = prepare(ask)
      const controller = new AbortController()
      const init = new Headers()
      for (const [name, value] of Object.entries(headers)) {
        for (const one of Array.isArray(value) ? value : [value]) init.append(name, one)
      }
      const response = await handler.fetch(
        new Request(`http://localhost:3000${path}`, {
          method,
          headers: init,
          signal: controller.signal,
          ...(bytes === undefined ? {} : { body: bytes }),
        }),
      )
      const body = new Collected()
      const reader = response.body?.getReader()
      const pump = async (): Promise<void> => {
        for (;;) {
          const read = await reader?.read()
          if (read === undefined || read.done) return
          body.push(read.value)
        }
      }
      pump().then(
        () => body.end(),
        () => body.end(),
      )
      return answer(
        response.status,
        (name) => response.headers.get(name) ?? undefined,
        body,
        () => {
          reader?.cancel().catch(() => {})
          controller.abort()
        },
      )
    },
  }
}

export const adapters: [string, Adapter][] = [
  ['node', nodeAdapter],
  ['web', webAdapter],
]

/** A request of 2026-07-28 with every header it needs. */
export function modern(
  method: string,
  params: JsonObject = {},
  headers: Ask['headers'] = {},
  id: string | number = 1,
): Ask {
  const name = params['name'] ?? params['uri']
  return {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
    body: { jsonrpc: '2.0', id, method, params: { _meta: meta(), ...params } },
  }
}

/** A client of the legacy era: one session. */
export async function session(
  mounted: Pick<Mounted, 'send'>,
  version = '2025-11-25',
  more: Ask['headers'] = {},
  capabilities?: JsonObject,
) {
  const first = await mounted.send({ body: initialize(version, 'init', capabilities), headers: more })
  const id = first.header('mcp-session-id') ?? ''
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': version, ...more }
  const send = (ask: Ask): Promise<Answer> =>
    mounted.send({ ...ask, headers: { ...headers, ...ask.headers } })
  const post = (body: unknown, extra: Ask['headers'] = {}): Promise<Answer> => send({ body, headers: extra })
  await post(initialized)
  return {
    id,
    first,
    send,
    post,
    call: (requestId: string | number, name: string, params: JsonObject = {}): Promise<Answer> =>
      post({ jsonrpc: '2.0', id: requestId, method: 'tools/call', params: { name, ...params } }),
    get: (extra: Ask['headers'] = {}): Promise<Answer> => send({ method: 'GET', headers: extra }),
    end: (): Promise<Answer> => send({ method: 'DELETE' }),
  }
}

/** Says three times how far it is, and is done. */
const progress: Tool = async (_args, { notify }) => {
  for (const step of [1, 2, 3]) {
    notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: step } })
    await settle(1)
  }
  return 'done'
}

/** A server for each test, mounted by one of the adapters and closed after it, and sessions with it. */
export function sessionsOver(mount: Adapter) {
  let placed: { mounted: Mounted; server: TestServer } | undefined
  const here = (): { mounted: Mounted; server: TestServer } => {
    if (placed === undefined) throw new Error('nothing was started yet')
    return placed
  }
  afterEach(() => here().mounted.close())
  const start = async (options?: ServeHttpOptions, tools: Record<string, Tool> = {}): Promise<Mounted> => {
    const server = testServer({ echo, ask, hang, hung, progress, ...tools })
    placed = { server, mounted: await mount(server, options) }
    return placed.mounted
  }
  const begin = async (version?: string, options?: ServeHttpOptions, tools?: Record<string, Tool>) =>
    session(await start(options, tools), version)
  return {
    start,
    begin,
    get mounted(): Mounted {
      return here().mounted
    },
    get server(): TestServer {
      return here().server
    },
  }
}
