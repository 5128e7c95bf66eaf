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

/** What a served test has. */
export interface Rig {
  readonly service: HostService
  readonly peers: PeerServer
  readonly web: WebServer
  readonly port: number
  readonly warnings: string[]
  readonly file: string
  /** Ends the host. */
  end(): Promise<void>
  /** Sends a request as the page does: with its `Host`, and its `Origin` where a browser sends one. */
  ask(method: string, path: string, options?: Asked): Promise<Answer>
  /** Logs a browser in. */
  login(headers?: Record<string, string>): Promise<Browser>
}

export interface Asked {
  /** In place of those of the page; an empty one is left out. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly bytes: Buffer
}

/** Both halves of a session. */
export interface Browser {
  /** As a `Cookie` header has it. */
  readonly cookie: string
  readonly pageKey: string
}

export function tempFolder(): string {
  const made = mkdtempSync(join(tmpdir(), 'jackfield-web-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
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

/** Serves a host until the test is over. `port`: default any free one; `usual` is that of a server without the option. */
export async function rig(
  given: { file?: string; page?: string; port?: number | 'usual' } = {},
  host: Partial<HostServiceOptions> = {},
): Promise<Rig> {
  const service = new HostService({ servers: {}, models: [], version: '1', ...host })
  const peers = await createPeerServer(service)
  const file = given.file ?? join(tempFolder(), 'web.db')
  const warnings: string[] = []
  const { page = builtPage(), port: wanted = 0 } = given
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
  const options = { peers, apps: service.host.apps, onWarning, file, page }
  const web = await serveWeb(wanted === 'usual' ? options : { ...options, port: wanted })
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
      const { headers: got, body } = await ask('POST', '/login', {
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ key }),
      })
      const { pageKey }: { pageKey: string } = JSON.parse(body)
      return { cookie: got['set-cookie']?.[0]?.split(';')[0] ?? '', pageKey }
    },
  }
}

export function send(port: number, method: string, path: string, options: Asked = {}): Promise<Answer> {
  const own = {
    Host: `127.0.0.1:${port}`,
    ...(method !== 'GET' && method !== 'HEAD' && { Origin: `http://127.0.0.1:${port}` }),
    ...(options.body !== undefined && { 'Content-Length': String(Buffer.byteLength(options.body)) }),
  }
  const given = Object.entries({ ...own, ...options.headers })
  const headers = Object.fromEntries(given.filter(([, value]) => value.length > 0))
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method, path, headers, setHost: false, agent: false })
    asked.once('error', reject)
    asked.once('response', async (response) => {
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      const bytes = Buffer.concat(parts)
      const { statusCode: status = 0, headers: got } = response
      resolve({ status, headers: got, body: bytes.toString(), bytes })
    })
    asked.end(options.body)
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
export async function endOf(
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

/** A client of the host over a WebSocket, as the page has one. It connects again where the socket is lost. */
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

/** Resolves when a condition is true. */
export async function until(isTrue: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`Not within 20 s: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
