import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createHostClient,
  createPeerServer,
  type HostClient,
  HostService,
  type HostServiceOptions,
  type PeerServer,
} from '@jackfield/host/service'
import { serveWeb, type WebServer } from '@jackfield/web'
import { onTestFinished } from 'vitest'
import WebSocket from 'ws'

/** A host with its web server for a test. */
export interface Rig {
  readonly service: HostService
  readonly peers: PeerServer
  readonly web: WebServer
  readonly port: number
  readonly warnings: string[]
  readonly file: string
  /** Closes the host and its peer server. */
  end(): Promise<void>
  /** Sends a request as the page does: with its `Host`, and its `Origin` where a browser sends one. */
  ask(method: string, path: string, options?: TestRequest): Promise<TestResponse>
  /** Logs a browser in. */
  login(headers?: Record<string, string>): Promise<Browser>
}

export interface TestRequest {
  /** Override the headers of the page; an empty value removes one. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
}

export interface TestResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly bytes: Buffer
}

/** Both secrets of a session. */
export interface Browser {
  /** As a `Cookie` header has it. */
  readonly cookie: string
  readonly pageKey: string
}

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'jackfield-web-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A built page of a few files. */
export function builtPage(): string {
  const folder = tempFolder()
  mkdirSync(join(folder, 'assets'))
  const index =
    '<!doctype html><title>Page</title><meta name="build" content="__BUILD__"><script type="module" src="/assets/index-AbCd1234.js"></script><style nonce="__NONCE__">h1{color:red}</style><h1>Page</h1>'
  writeFileSync(join(folder, 'index.html'), index)
  writeFileSync(join(folder, 'assets', 'index-AbCd1234.js'), 'document.title = "Ready"\n')
  writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, '.secret.js'), 'secret')
  return folder
}

/** Serves a host until the test ends. `port`: any free one by default; `usual` leaves the option out. */
export async function rig(
  options: { file?: string; page?: string; port?: number | 'usual' } = {},
  host: Partial<HostServiceOptions> = {},
): Promise<Rig> {
  const service = new HostService({ servers: {}, models: [], version: '1', ...host })
  const peers = await createPeerServer(service)
  const file = options.file ?? join(tempFolder(), 'web.db')
  const warnings: string[] = []
  const { page = builtPage(), port: requestedPort = 0 } = options
  const onWarning = (message: string): void => void warnings.push(message)
  let ended: Promise<void> | undefined
  const end = async (): Promise<void> => {
    peers.close('the host ends')
    await service.close()
  }
  const endOnce = (): Promise<void> => {
    ended ??= end()
    return ended
  }
  onTestFinished(endOnce)
  const serveOptions = { peers, apps: service.host.apps, onWarning, file, page }
  const web = await serveWeb(
    requestedPort === 'usual' ? serveOptions : { ...serveOptions, port: requestedPort },
  )
  onTestFinished(() => web.close())
  const port = Number(new URL(web.url).port)
  const ask: Rig['ask'] = (method, path, options) => send(port, method, path, options)
  return {
    service,
    peers,
    web,
    port,
    warnings,
    file,
    end: endOnce,
    ask,
    async login(headers = {}) {
      const key = keyOf(web.link())
      const { headers: responseHeaders, body } = await ask('POST', '/login', {
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ key }),
      })
      const { pageKey }: { pageKey: string } = JSON.parse(body)
      return { cookie: responseHeaders['set-cookie']?.[0]?.split(';')[0] ?? '', pageKey }
    },
  }
}

export function send(
  port: number,
  method: string,
  path: string,
  options: TestRequest = {},
): Promise<TestResponse> {
  const defaults = {
    Host: `127.0.0.1:${port}`,
    ...(method !== 'GET' && method !== 'HEAD' && { Origin: `http://127.0.0.1:${port}` }),
    ...(options.body !== undefined && { 'Content-Length': String(Buffer.byteLength(options.body)) }),
  }
  const entries = Object.entries({ ...defaults, ...options.headers })
  const headers = Object.fromEntries(entries.filter(([, value]) => value.length > 0))
  return new Promise((resolve, reject) => {
    const clientRequest = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers,
      setHost: false,
      agent: false,
    })
    clientRequest.once('error', reject)
    clientRequest.once('response', async (response) => {
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      const bytes = Buffer.concat(parts)
      const { statusCode: status = 0, headers: responseHeaders } = response
      resolve({ status, headers: responseHeaders, body: bytes.toString(), bytes })
    })
    clientRequest.end(options.body)
  })
}

/** The key of a login link. */
export function keyOf(link: string): string {
  return new URL(link).hash.replace('#k=', '')
}

/** A WebSocket of a page, before its first message. */
export function openSocket(
  port: number,
  { cookie = '', path = '/socket', headers = {} }: { cookie?: string; path?: string; headers?: object } = {},
  options: { autoPong?: boolean } = {},
): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { Origin: `http://127.0.0.1:${port}`, ...(cookie !== '' && { Cookie: cookie }), ...headers },
    ...options,
  })
  socket.on('error', () => {})
  onTestFinished(() => socket.terminate())
  return socket
}

/** How a socket ends: the code and the reason of its close, or the status of a refused handshake. */
export async function closeOf(
  socket: WebSocket,
): Promise<{ code: number; reason: string } | { status: number }> {
  const refused = new Promise<{ status: number }>((resolve) =>
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      resolve({ status: response.statusCode ?? 0 })
    }),
  )
  const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
  return await Promise.race([refused, closed])
}

/** A client of the host over a WebSocket, as in the page. It reconnects if the socket is lost. */
export function webClient(
  port: number,
  { cookie, pageKey }: Browser,
  onSocket: (socket: WebSocket) => void = () => {},
  headers: object = {},
): HostClient {
  const client = createHostClient({
    name: 'page',
    async connect() {
      const socket = openSocket(port, { cookie, headers })
      const frames: string[] = []
      let message = (frame: string): void => void frames.push(frame)
      socket.on('message', (data) => message(String(data)))
      await once(socket, 'open')
      onSocket(socket)
      socket.send(pageKey)
      return {
        unsent: 0,
        send: (frame) => socket.send(frame, () => {}),
        close: () => socket.close(),
        listen(listener, closed) {
          message = listener
          for (const frame of frames) listener(frame)
          socket.once('close', (code, reason) => closed(String(reason) || String(code)))
        },
      }
    },
  })
  onTestFinished(() => client.close())
  return client
}

/** Resolves when a condition is true. @throws Error after 20 s */
export async function until(condition: () => boolean, description: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within 20 s: ${description}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
