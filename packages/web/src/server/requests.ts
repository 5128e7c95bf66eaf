import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Download as StreamedDownload } from '@jackfield/host/service'
import { type Blobs, dispositionOf } from './blobs.ts'
import type { Cookie } from './cookie.ts'
import type { Guard } from './guard.ts'
import { blobPolicy, pagePermissions, pagePolicy, securityHeaders } from './headers.ts'
import type { Hosts } from './hosts.ts'
import { isPageRoute, type PageFiles } from './page-files.ts'
import { readBody, refuse, refuseRaw, send, sendJson, sendNotice } from './responses.ts'
import type { SessionStore, WebSession } from './session-store.ts'
import { callbackPath, logoutPath, type SignIn, signedOutPath, signInPath } from './sign-in.ts'
import type { SocketServer } from './sockets.ts'
import { userKey, userLabel } from './users.ts'
import { maxWrong, WrongLogins } from './wrong-logins.ts'

/** Bytes of the body of a login. */
const maxLoginBytes = 1_024
const longestPath = 4_096

const openedByAnotherSite = {
  title: { en: 'Opened by another site', 'zh-CN': '由其他网站打开' },
  html: {
    en: 'A page of another site led here. <a href="">Open it</a> if you expected that.',
    'zh-CN': '您是从其他网站的页面来到这里的。如果这符合您的预期，请<a href="">打开此页面</a>。',
  },
}
const notBuilt = {
  title: { en: 'The page is not built', 'zh-CN': '页面尚未构建' },
  html: {
    en: 'Run <code>npm run build</code> in the repository, then reload this page.',
    'zh-CN': '请在代码仓库中运行 <code>npm run build</code>，然后重新加载此页面。',
  },
}

/** What the requests of one web server are served from. */
export interface RequestServerOptions {
  readonly guard: Guard
  readonly sessions: SessionStore
  readonly sockets: SocketServer
  readonly hosts: Hosts
  /** Tickets of the program that runs the server. */
  readonly blobs: Blobs
  readonly files: PageFiles
  /** One half of a session. */
  readonly cookie: Cookie
  /** The origins of the pages of apps; undefined where there are none. */
  readonly apps: string | undefined
  /** What a browser is called, by its `User-Agent`. */
  readonly nameOf: (userAgent: string | undefined) => string
  /** The sign-in at an issuer; undefined where login links log browsers in. */
  readonly signIn?: SignIn
  readonly onWarning: (message: string) => void
}

/** Serves the HTTP requests of a web server: the page, logins, blobs and the handshakes of WebSockets. */
export class RequestServer {
  readonly #options: RequestServerOptions
  readonly #wrong = new WrongLogins()

  constructor(options: RequestServerOptions) {
    this.#options = options
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#serve(request, response)
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy()
      else refuse(response, 500, 'The web server failed. Its messages say why.')
      // A browser that leaves before the response ends is no failure.
      const hasLeft = Object(error).code === 'ERR_STREAM_PREMATURE_CLOSE'
      if (!hasLeft && (!request.destroyed || request.complete))
        this.#options.onWarning(failureOf(request, error))
    }
  }

  /** Serves the handshake of a WebSocket. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => stream.destroy())
    try {
      this.#upgrade(request, stream, head)
    } catch (error) {
      refuseRaw(stream, 500, 'The web server failed. Its messages say why.')
      this.#options.onWarning(failureOf(request, error))
    }
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const { guard, sockets } = this.#options
    const refusal = guard.refusal(request)
    const address = addressOf(request)
    if (refusal !== undefined) refuseRaw(stream, refusal.status, refusal.message)
    else if (address?.path !== '/socket') refuseRaw(stream, 404, 'There is no WebSocket here.')
    else if (request.headers.upgrade?.toLowerCase() !== 'websocket' || request.method !== 'GET')
      refuseRaw(stream, 400, 'This address takes the handshake of a WebSocket.')
    else {
      const build = new URLSearchParams(address.query).get('build') ?? undefined
      sockets.upgrade(request, stream, head, { session: this.#sessionOf(request), build })
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { guard, signIn } = this.#options
    const { path, query = '' } = addressOf(request) ?? {}
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isPage = isRead && path !== undefined && isPageRoute(path)
    if (isPage && guard.isLocalhost(request))
      return send(response, 307, { headers: { Location: `${guard.origin}${request.url}` } })
    const refusal = guard.refusal(request, {
      fromOtherSites: signIn?.isOpenTo(path) === true,
      fromPrograms: signIn !== undefined && path === logoutPath,
    })
    if (refusal !== undefined) {
      if (isPage && refusal.status === 403 && request.headers['sec-fetch-dest'] === 'document')
        return sendNotice(response, 403, openedByAnotherSite)
      return refuse(response, refusal.status, refusal.message)
    }
    if (path === undefined) return refuse(response, 400, 'The address is too long or no path.')
    const [, folder = '', rest = ''] = /^\/([a-z]+)\/([\w-]+)$/.exec(path) ?? []
    if (isPage) return this.#sendPage(response)
    const atIssuer = signIn && signInWork(path, signIn, request, response, query)
    if (atIssuer !== undefined) return await this.#allow(request, response, { GET: atIssuer })
    if (signIn !== undefined && path === logoutPath)
      return await this.#allow(request, response, {
        POST: () => signIn.logOut(request, response, (id) => this.#end(id)),
      })
    if (path === '/login')
      return await this.#allow(request, response, { POST: () => this.#login(request, response) })
    if (path === '/logout')
      return await this.#allow(request, response, { POST: () => this.#logout(request, response) })
    if (path === '/sessions')
      return await this.#allow(request, response, { GET: () => this.#listSessions(request, response) })
    if (folder === 'sessions')
      return await this.#allow(request, response, { DELETE: () => this.#endSession(request, response, rest) })
    if (folder === 'blob')
      return await this.#allow(request, response, {
        GET: () => this.#download(request, response, rest),
        PUT: () => this.#upload(request, response, rest),
      })
    if (path === '/socket')
      return refuse(response, 426, 'This address is a WebSocket.', { Upgrade: 'websocket' })
    const file = this.#options.files.find(path)
    if (file === undefined && !isPageRoute(path))
      return refuse(response, 404, 'There is nothing at this address.')
    if (file === undefined || !isRead) return notAllowed(response, 'GET, HEAD')
    const { contentType, isImmutable } = file
    const caching = isImmutable ? 'private, max-age=31536000, immutable' : 'no-cache'
    response.writeHead(200, { ...securityHeaders(), 'Content-Type': contentType, 'Cache-Control': caching })
    if (request.method === 'HEAD') response.end()
    else await pipeline(createReadStream(file.path), response)
  }

  async #allow(
    request: IncomingMessage,
    response: ServerResponse,
    methods: Readonly<Partial<Record<string, () => void | Promise<void>>>>,
  ): Promise<void> {
    const work = methods[request.method ?? '']
    if (work === undefined) notAllowed(response, Object.keys(methods).join(', '))
    else await work()
  }

  #sendPage(response: ServerResponse): void {
    const { files, apps, signIn } = this.#options
    const index = files.index()
    if (index === undefined) {
      sendNotice(response, 503, notBuilt)
      return
    }
    const nonce = randomBytes(16).toString('base64')
    const body = index
      .replaceAll('__NONCE__', nonce)
      .replaceAll('__APPS__', apps ?? '')
      .replaceAll('__SIGN_IN__', signIn === undefined ? '' : signInPath)
    send(response, 200, {
      contentType: 'text/html; charset=utf-8',
      body,
      policy: pagePolicy(nonce, apps),
      headers: { 'Permissions-Policy': pagePermissions(apps) },
    })
  }

  async #login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sessions, signIn, nameOf, onWarning } = this.#options
    // Counted per browser where unauthenticated users can send logins, so that they do not block the others.
    const browsers = signIn?.browsersIn(request) ?? []
    const [origin = ''] = browsers
    const seconds = this.#wrong.secondsToWait(origin)
    if (seconds !== undefined)
      return refuse(response, 429, `Too many wrong logins. Try again in ${seconds} s.`, {
        'Retry-After': String(seconds),
      })
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
      return refuse(response, 415, 'A login is JSON: {"key":"…"}.')
    const body = await readBody(request, response, maxLoginBytes)
    if (body === undefined) return refuse(response, 413, `A login has at most ${maxLoginBytes} bytes.`)
    const key = keyIn(body)
    if (key === undefined) return refuse(response, 400, 'A login is JSON: {"key":"…"}.')
    const known = this.#sessionOf(request)
    const login = sessions.login(key, nameOf(request.headers['user-agent']), { known, browsers })
    if (login === undefined) {
      if (this.#wrong.add(origin) === maxWrong)
        onWarning(`${maxWrong} wrong logins within a minute. Logins are refused until the minute is over.`)
      const again = signIn === undefined ? 'Run jackfield web for another one.' : 'Sign in again.'
      return refuse(response, 401, `This login link was used already, or is older than a minute. ${again}`)
    }
    const { session, cookie, pageKey } = login
    // Another person signed in with this browser.
    if (known !== undefined && known.id !== session.id) this.#end(known.id)
    sendJson(
      response,
      { pageKey, expires: session.expires },
      { 'Set-Cookie': this.#options.cookie.header(cookie, sessions.sessionMs) },
    )
  }

  async #logout(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cookie, signIn } = this.#options
    const session = this.#provenSession(request)
    if (session === undefined) return this.#notLoggedIn(response)
    this.#end(session.id)
    const headers = { 'Set-Cookie': cookie.header('', 0) }
    if (signIn === undefined) send(response, 204, { headers })
    else sendJson(response, { next: await signIn.afterLogout() }, headers)
  }

  #listSessions(request: IncomingMessage, response: ServerResponse): void {
    const own = this.#provenSession(request)
    if (own === undefined) {
      this.#notLoggedIn(response)
      return
    }
    const { user } = own
    const sessions = this.#options.sessions.list(user).map(({ user: _, ...one }) => ({
      ...one,
      isThis: one.id === own.id,
    }))
    const hours = Math.round(this.#options.sessions.sessionMs / 3_600_000)
    sendJson(response, { sessions, ...(user !== undefined && { user: userLabel(user), hours }) })
  }

  #endSession(request: IncomingMessage, response: ServerResponse, id: string): void {
    const own = this.#provenSession(request)
    const other = this.#options.sessions.find(id)
    if (own === undefined) this.#notLoggedIn(response)
    else if (other !== undefined && isOfSameUser(own, other) && this.#end(id)) send(response, 204)
    else refuse(response, 404, 'There is no such session.')
  }

  #end(id: string): boolean {
    const ended = this.#options.sessions.remove(id)
    this.#options.sockets.endSession(id)
    return ended
  }

  async #download(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    const session = this.#sessionOf(request)
    if (session === undefined) return this.#notLoggedIn(response)
    const use = await this.#options.hosts.use(session)
    try {
      await this.#send(response, ticket, use?.peers.download(ticket))
    } finally {
      use?.release()
    }
  }

  async #send(response: ServerResponse, ticket: string, made: StreamedDownload | undefined): Promise<void> {
    if (made !== undefined) {
      response.writeHead(200, {
        ...securityHeaders(blobPolicy),
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': dispositionOf(made.name),
      })
      // A reader that goes away ends the work.
      await pipeline(made.pieces, response).catch(() => response.destroy())
      return
    }
    const download = this.#options.blobs.download(ticket)
    if (download === undefined) {
      noTicket(response)
      return
    }
    const { bytes, contentType, disposition } = download
    const headers = { 'Content-Disposition': disposition }
    send(response, 200, { contentType, body: bytes, headers, policy: blobPolicy })
  }

  async #upload(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    if (this.#sessionOf(request) === undefined) return this.#notLoggedIn(response)
    const upload = this.#options.blobs.upload(ticket)
    if (upload === undefined) return noTicket(response)
    const { maxBytes, resolve, reject } = upload
    try {
      const bytes = await readBody(request, response, maxBytes)
      if (bytes === undefined) {
        reject(new Error(`The upload is larger than ${maxBytes} bytes`))
        return refuse(response, 413, `This upload has at most ${maxBytes} bytes.`)
      }
      resolve(bytes)
      send(response, 204)
    } catch (error) {
      reject(new Error('The upload was cut', { cause: error }))
      response.destroy()
    }
  }

  /** The session of the cookie, one of the two halves. */
  #sessionOf(request: IncomingMessage): WebSession | undefined {
    for (const value of this.#options.cookie.valuesIn(request)) {
      const session = this.#options.sessions.sessionOfCookie(value)
      if (session !== undefined) return session
    }
    return undefined
  }

  /** The session of a request with both halves: the cookie, and the page key as a bearer token. */
  #provenSession(request: IncomingMessage): WebSession | undefined {
    const session = this.#sessionOf(request)
    const [, pageKey] = /^Bearer ([\w-]+)$/.exec(request.headers.authorization ?? '') ?? []
    if (session === undefined || pageKey === undefined) return undefined
    return this.#options.sessions.isPageKey(session.id, pageKey) ? session : undefined
  }

  #notLoggedIn(response: ServerResponse): void {
    const again =
      this.#options.signIn === undefined ? 'Run jackfield web for a login link.' : 'Open the page to sign in.'
    refuse(response, 401, `This browser is not logged in. ${again}`)
  }
}

/** What an address of a sign-in does; undefined for other addresses. */
function signInWork(
  path: string,
  signIn: SignIn,
  ...[request, response, query]: [IncomingMessage, ServerResponse, string]
): (() => void | Promise<void>) | undefined {
  if (path === signInPath || path.startsWith(`${signInPath}/`)) return () => signIn.begin(request, response)
  if (path === callbackPath) return () => signIn.finish(request, response, query)
  return path === signedOutPath ? () => signIn.signedOut(response) : undefined
}

function isOfSameUser({ user: one }: WebSession, { user: other }: WebSession): boolean {
  return (one && userKey(one)) === (other && userKey(other))
}

function notAllowed(response: ServerResponse, methods: string): void {
  refuse(response, 405, `This address takes ${methods}.`, { Allow: methods })
}

function noTicket(response: ServerResponse): void {
  refuse(response, 404, 'This ticket was used already, or is older than a minute.')
}

/** Path and query of a request; undefined where its target is no path, or is too long. */
function addressOf({ url = '' }: IncomingMessage): { path: string; query: string } | undefined {
  if (!url.startsWith('/') || url.length > longestPath) return undefined
  const [path = '', ...query] = url.split('?')
  return { path, query: query.join('?') }
}

function keyIn(body: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value !== 'object' || value === null || !('key' in value)) return undefined
    return typeof value.key === 'string' ? value.key : undefined
  } catch {
    return undefined
  }
}

function failureOf({ method = '' }: IncomingMessage, error: unknown): string {
  return `A ${method} request failed: ${error instanceof Error ? error.message : String(error)}`
}
