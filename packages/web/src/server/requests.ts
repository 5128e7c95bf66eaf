import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Download as StreamedDownload } from '@jackfield/host/service'
import { attachmentDisposition, type Blobs } from './blobs.ts'
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
import { maxWrongLogins, WrongLogins } from './wrong-logins.ts'

/** Bytes of the body of a login. */
const maxLoginBytes = 1_024
const maxPathCharacters = 4_096

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

/** What a `RequestServer` needs to answer requests. */
export interface RequestServerOptions {
  readonly guard: Guard
  readonly sessions: SessionStore
  readonly sockets: SocketServer
  readonly hosts: Hosts
  /** Downloads and uploads of the program that runs the server. */
  readonly blobs: Blobs
  readonly files: PageFiles
  /** Holds one of the two secrets of a session; the page has the other. */
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
  readonly #wrongLogins = new WrongLogins()

  constructor(options: RequestServerOptions) {
    this.#options = options
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#serve(request, response)
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy()
      else refuse(response, 500, 'The web server failed. Its messages say why.')
      // A client that disconnects before the response ends is not an error of the server.
      const isDisconnected = Object(error).code === 'ERR_STREAM_PREMATURE_CLOSE'
      if (!isDisconnected && (!request.destroyed || request.complete))
        this.#options.onWarning(failureMessage(request, error))
    }
  }

  /** Serves the handshake of a WebSocket. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => stream.destroy())
    try {
      this.#upgrade(request, stream, head)
    } catch (error) {
      refuseRaw(stream, 500, 'The web server failed. Its messages say why.')
      this.#options.onWarning(failureMessage(request, error))
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
      sockets.upgrade(request, stream, head, { session: this.#cookieSession(request), build })
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
    const [, collection = '', id = ''] = /^\/([a-z]+)\/([\w-]+)$/.exec(path) ?? []
    if (isPage) return this.#sendPage(response)
    const signInHandler = signIn && handlerOfSignIn(path, signIn, request, response, query)
    if (signInHandler !== undefined) return await this.#dispatch(request, response, { GET: signInHandler })
    if (signIn !== undefined && path === logoutPath)
      return await this.#dispatch(request, response, {
        POST: () => signIn.logOut(request, response, (id) => this.#removeSession(id)),
      })
    if (path === '/login')
      return await this.#dispatch(request, response, { POST: () => this.#login(request, response) })
    if (path === '/logout')
      return await this.#dispatch(request, response, { POST: () => this.#logout(request, response) })
    if (path === '/sessions')
      return await this.#dispatch(request, response, { GET: () => this.#listSessions(request, response) })
    if (collection === 'sessions')
      return await this.#dispatch(request, response, {
        DELETE: () => this.#endSession(request, response, id),
      })
    if (collection === 'blob')
      return await this.#dispatch(request, response, {
        GET: () => this.#download(request, response, id),
        PUT: () => this.#upload(request, response, id),
      })
    if (path === '/socket')
      return refuse(response, 426, 'This address is a WebSocket.', { Upgrade: 'websocket' })
    const file = this.#options.files.find(path)
    if (file === undefined && !isPageRoute(path))
      return refuse(response, 404, 'There is nothing at this address.')
    if (file === undefined || !isRead) return refuseMethod(response, 'GET, HEAD')
    const { contentType, isImmutable } = file
    const caching = isImmutable ? 'private, max-age=31536000, immutable' : 'no-cache'
    response.writeHead(200, { ...securityHeaders(), 'Content-Type': contentType, 'Cache-Control': caching })
    if (request.method === 'HEAD') response.end()
    else await pipeline(createReadStream(file.path), response)
  }

  async #dispatch(
    request: IncomingMessage,
    response: ServerResponse,
    handlers: Readonly<Partial<Record<string, () => void | Promise<void>>>>,
  ): Promise<void> {
    const handler = handlers[request.method ?? '']
    if (handler === undefined) refuseMethod(response, Object.keys(handlers).join(', '))
    else await handler()
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
    const seconds = this.#wrongLogins.secondsToWait(origin)
    if (seconds !== undefined)
      return refuse(response, 429, `Too many wrong logins. Try again in ${seconds} s.`, {
        'Retry-After': String(seconds),
      })
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
      return refuse(response, 415, 'A login is JSON: {"key":"…"}.')
    const body = await readBody(request, response, maxLoginBytes)
    if (body === undefined) return refuse(response, 413, `A login has at most ${maxLoginBytes} bytes.`)
    const key = parseLoginKey(body)
    if (key === undefined) return refuse(response, 400, 'A login is JSON: {"key":"…"}.')
    const currentSession = this.#cookieSession(request)
    const login = sessions.login(key, nameOf(request.headers['user-agent']), { currentSession, browsers })
    if (login === undefined) {
      if (this.#wrongLogins.add(origin) === maxWrongLogins)
        onWarning(
          `${maxWrongLogins} wrong logins within a minute. Logins are refused until the minute is over.`,
        )
      const advice = signIn === undefined ? 'Run jackfield web for another one.' : 'Sign in again.'
      return refuse(response, 401, `This login link was used already, or is older than a minute. ${advice}`)
    }
    const { session, cookie, pageKey } = login
    // Another person signed in with this browser.
    if (currentSession !== undefined && currentSession.id !== session.id)
      this.#removeSession(currentSession.id)
    sendJson(
      response,
      { pageKey, expires: session.expires },
      { 'Set-Cookie': this.#options.cookie.header(cookie, sessions.sessionMs) },
    )
  }

  async #logout(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cookie, signIn } = this.#options
    const session = this.#authenticatedSession(request)
    if (session === undefined) return this.#refuseNotLoggedIn(response)
    this.#removeSession(session.id)
    const headers = { 'Set-Cookie': cookie.header('', 0) }
    if (signIn === undefined) send(response, 204, { headers })
    else sendJson(response, { next: await signIn.afterLogout() }, headers)
  }

  #listSessions(request: IncomingMessage, response: ServerResponse): void {
    const current = this.#authenticatedSession(request)
    if (current === undefined) {
      this.#refuseNotLoggedIn(response)
      return
    }
    const { user } = current
    const sessions = this.#options.sessions.list(user).map(({ user: _, ...session }) => ({
      ...session,
      isThis: session.id === current.id,
    }))
    const hours = Math.round(this.#options.sessions.sessionMs / 3_600_000)
    sendJson(response, { sessions, ...(user !== undefined && { user: userLabel(user), hours }) })
  }

  #endSession(request: IncomingMessage, response: ServerResponse, id: string): void {
    const current = this.#authenticatedSession(request)
    const other = this.#options.sessions.find(id)
    if (current === undefined) this.#refuseNotLoggedIn(response)
    else if (other !== undefined && isOfSameUser(current, other) && this.#removeSession(id))
      send(response, 204)
    else refuse(response, 404, 'There is no such session.')
  }

  #removeSession(id: string): boolean {
    const ended = this.#options.sessions.remove(id)
    this.#options.sockets.endSession(id)
    return ended
  }

  async #download(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    const session = this.#cookieSession(request)
    if (session === undefined) return this.#refuseNotLoggedIn(response)
    const lease = await this.#options.hosts.acquire(session)
    try {
      await this.#send(response, ticket, lease?.peers.download(ticket))
    } finally {
      lease?.release()
    }
  }

  async #send(
    response: ServerResponse,
    ticket: string,
    exported: StreamedDownload | undefined,
  ): Promise<void> {
    if (exported !== undefined) {
      response.writeHead(200, {
        ...securityHeaders(blobPolicy),
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': attachmentDisposition(exported.name),
      })
      // A client that disconnects cancels the export.
      await pipeline(exported.pieces, response).catch(() => response.destroy())
      return
    }
    const download = this.#options.blobs.download(ticket)
    if (download === undefined) {
      refuseTicket(response)
      return
    }
    const { bytes, contentType, disposition } = download
    const headers = { 'Content-Disposition': disposition }
    send(response, 200, { contentType, body: bytes, headers, policy: blobPolicy })
  }

  async #upload(request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    if (this.#cookieSession(request) === undefined) return this.#refuseNotLoggedIn(response)
    const upload = this.#options.blobs.upload(ticket)
    if (upload === undefined) return refuseTicket(response)
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

  /** The session of the cookie. The cookie alone gives no access to the host. */
  #cookieSession(request: IncomingMessage): WebSession | undefined {
    for (const value of this.#options.cookie.valuesIn(request)) {
      const session = this.#options.sessions.sessionOfCookie(value)
      if (session !== undefined) return session
    }
    return undefined
  }

  /** The session of a request that has both secrets: the cookie, and the page key as a bearer token. */
  #authenticatedSession(request: IncomingMessage): WebSession | undefined {
    const session = this.#cookieSession(request)
    const [, pageKey] = /^Bearer ([\w-]+)$/.exec(request.headers.authorization ?? '') ?? []
    if (session === undefined || pageKey === undefined) return undefined
    return this.#options.sessions.isPageKey(session.id, pageKey) ? session : undefined
  }

  #refuseNotLoggedIn(response: ServerResponse): void {
    const advice =
      this.#options.signIn === undefined ? 'Run jackfield web for a login link.' : 'Open the page to sign in.'
    refuse(response, 401, `This browser is not logged in. ${advice}`)
  }
}

/** The handler of a path of the sign-in; undefined for other paths. */
function handlerOfSignIn(
  path: string,
  signIn: SignIn,
  ...[request, response, query]: [IncomingMessage, ServerResponse, string]
): (() => void | Promise<void>) | undefined {
  if (path === signInPath || path.startsWith(`${signInPath}/`)) return () => signIn.begin(request, response)
  if (path === callbackPath) return () => signIn.finish(request, response, query)
  return path === signedOutPath ? () => signIn.signedOut(response) : undefined
}

function isOfSameUser({ user: first }: WebSession, { user: second }: WebSession): boolean {
  return (first && userKey(first)) === (second && userKey(second))
}

function refuseMethod(response: ServerResponse, methods: string): void {
  refuse(response, 405, `This address takes ${methods}.`, { Allow: methods })
}

function refuseTicket(response: ServerResponse): void {
  refuse(response, 404, 'This ticket was used already, or is older than a minute.')
}

/** Path and query of a request; undefined if its target is not a path, or is too long. */
function addressOf({ url = '' }: IncomingMessage): { path: string; query: string } | undefined {
  if (!url.startsWith('/') || url.length > maxPathCharacters) return undefined
  const [path = '', ...query] = url.split('?')
  return { path, query: query.join('?') }
}

function parseLoginKey(body: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value !== 'object' || value === null || !('key' in value)) return undefined
    return typeof value.key === 'string' ? value.key : undefined
  } catch {
    return undefined
  }
}

function failureMessage({ method = '' }: IncomingMessage, error: unknown): string {
  return `A ${method} request failed: ${error instanceof Error ? error.message : String(error)}`
}
