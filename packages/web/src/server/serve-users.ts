import { lstatSync, rmSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { createConnection } from 'node:net'
import { dirname } from 'node:path'
import { AppPages } from './app-pages.ts'
import { Blobs } from './blobs.ts'
import { Cookie } from './cookie.ts'
import { Guard } from './guard.ts'
import { UserHosts, type UserHostsOptions } from './hosts.ts'
import { closeHttpServer, createHttpServer, serveRequests } from './http-server.ts'
import type { OidcClient, OidcClientOptions } from './oidc-client.ts'
import { PageFiles } from './page-files.ts'
import { browserKind } from './peer-name.ts'
import { RequestServer } from './requests.ts'
import { builtPage, WebServerRunningError } from './serve.ts'
import { lockSessions, SessionStore, type WebSession } from './session-store.ts'
import { callbackPath, SignIn, signedOutPath } from './sign-in.ts'
import { SocketServer } from './sockets.ts'
import { AllowList } from './users.ts'

const defaultMaxUsers = 100
const defaultSessionMs = 28_800_000
const defaultIdleMs = 600_000
const maxConnections = 4_096
/** Only the user and the group of the socket can connect to it. */
const socketMode = 0o660
/** Length of a Unix socket path, in bytes, that every system supports. */
const maxSocketPathBytes = 100
/** Browsers remember for a year that the origin has TLS. */
const transportSecurity = 'max-age=31536000'

/** Options of `serveWebUsers`. */
export interface ServeWebUsersOptions extends Pick<UserHostsOptions, 'open'> {
  /** The origin that browsers see, of a proxy with TLS: `https://jackfield.example.org`. */
  origin: string
  /** A Unix socket for the proxy, or a port of 127.0.0.1; 0 takes any free one. */
  listen: string | number
  /** The OpenID Connect issuer and the client to use with it. The redirect URI is `<origin>/oidc/callback`. */
  oidc: Pick<OidcClientOptions, 'issuer' | 'clientId' | 'clientSecret'>
  /** Who may sign in: `ann@example.org`, `@example.org`, `sub:<subject>`, or `everyone` whom the issuer signs in. */
  allow: readonly string[]
  /**
   * The domain below which every server's apps have a name of their own, `a-<site>.<domain>` and `p-<site>.<domain>`. Default: no
   * apps are shown.
   */
  appsDomain?: string
  /** SQLite file of sessions and login keys; made with mode 0600. It has hashes of secrets only. */
  file: string
  /** Folder of the built page. Default: that of this package. */
  page?: string
  /** Maximum number of open hosts. Default 100. */
  maxUsers?: number
  /** Milliseconds for which a session lasts. Default 8 hours. */
  sessionMs?: number
  /** Milliseconds without a browser and without work after which the host of a user is closed. Default 10 minutes. */
  idleMs?: number
  /** Called with warnings for the operator: failed sign-ins and requests. */
  onWarning: (message: string) => void
}

/** A running web server for several people. */
export interface UsersWebServer extends AsyncDisposable {
  /** The origin that browsers see. */
  readonly url: string
  /** Where it listens: the path of the socket, or the port. */
  readonly listening: string | number
  /** Users whose hosts are open. */
  readonly openHosts: number
  /** The browsers that are signed in, of all users. */
  sessions(): WebSession[]
  /** Ends a session and closes its sockets; false if there is no such session. */
  revoke(id: string): boolean
  /** Closes every connection and the hosts of the users. */
  close(): Promise<void>
}

/**
 * Serves the web app to several people, behind a proxy that ends TLS. They sign in at an OpenID issuer, and each has a host of
 * their own. Nothing that the proxy says about a request is believed: the checks are against `origin`.
 * @throws TypeError for an origin, issuer, rule or domain that cannot be used
 * @throws WebServerRunningError if another server runs with this file
 * @throws Error if it cannot listen
 */
export async function serveWebUsers(options: ServeWebUsersOptions): Promise<UsersWebServer> {
  const { onWarning, sessionMs = defaultSessionMs, file, oidc } = options
  const origin = parseOrigin(options.origin)
  const pattern = options.appsDomain === undefined ? undefined : appOriginPattern(options.appsDomain, origin)
  const allow = new AllowList(options.allow)
  // Its libraries are loaded on demand: most programs serve one person.
  const { OidcClient } = await import('./oidc-client.ts')
  const client = new OidcClient({
    ...{ ...oidc, allow, onWarning },
    redirectUri: `${origin}${callbackPath}`,
    signedOutUri: `${origin}${signedOutPath}`,
  })
  const lock = lockSessions(file)
  if (lock === undefined) throw new WebServerRunningError(file)
  let sessions: SessionStore | undefined
  try {
    sessions = new SessionStore(file, { sessionMs })
    sessions.removeDisallowed((user) => user.issuer === oidc.issuer && allow.has(user))
    // Warns at the start about an issuer that cannot be reached; sign-ins try again.
    await client.ready().catch(() => {})
    return await startServer({ ...options, origin }, { sessions, client, pattern, lock })
  } catch (error) {
    sessions?.close()
    lock[Symbol.dispose]()
    throw error
  }
}

async function startServer(
  options: ServeWebUsersOptions,
  dependencies: {
    readonly sessions: SessionStore
    readonly client: OidcClient
    /** The origins of apps; undefined where none are shown. */
    readonly pattern: string | undefined
    readonly lock: Disposable
  },
): Promise<UsersWebServer> {
  const { origin, listen, open, page = builtPage, onWarning } = options
  const { maxUsers = defaultMaxUsers, idleMs = defaultIdleMs } = options
  const { sessions, client, pattern, lock } = dependencies
  const server = createHttpServer({ maxConnections })
  const listening = await listenAt(server, listen)
  const guard = new Guard(origin)
  const hosts = new UserHosts({ open, maxUsers, idleMs, onWarning })
  const appPages =
    pattern === undefined ? undefined : new AppPages(pattern, { apps: hosts, frameAncestor: origin })
  const blobs = new Blobs()
  const files = new PageFiles(page)
  const sockets = new SocketServer({
    ...{ hosts, sessions, onWarning },
    nameOf: browserKind,
    build: () => files.build(),
  })
  const requests = new RequestServer({
    ...{ guard, sessions, sockets, hosts, blobs, files, onWarning },
    nameOf: browserKind,
    cookie: new Cookie('__Host-jackfield', { sameSite: 'Strict' }),
    apps: appPages?.pattern,
    signIn: new SignIn({ client, sessions, origin, onWarning }),
  })
  serveRequests(server, requests, (request, response) => {
    response.setHeader('Strict-Transport-Security', transportSecurity)
    if (appPages?.isFor(request) !== true) return false
    appPages.serve(request, response)
    return true
  })
  const close = async (): Promise<void> => {
    blobs.close()
    await closeHttpServer(server, sockets, () => hosts.close())
    sessions.close()
    lock[Symbol.dispose]()
  }
  let closing: Promise<void> | undefined
  const closeOnce = (): Promise<void> => {
    closing ??= close()
    return closing
  }
  return {
    url: origin,
    listening,
    get openHosts() {
      return hosts.count
    },
    sessions: () => sessions.list(),
    revoke(id) {
      const ended = sessions.remove(id)
      sockets.endSession(id)
      return ended
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}

/** @throws TypeError if the text is not an https origin */
function parseOrigin(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'https:' && (text === url.origin || text === `${url.origin}/`)) return url.origin
  throw new TypeError(`"${text}" is no https origin. Write it as https://jackfield.example.org.`)
}

/** The pattern of the origins of apps below a domain. @throws TypeError if the domain is invalid or that of the page */
function appOriginPattern(domain: string, origin: string): string {
  const url = URL.parse(`https://${domain}`)
  if (url === null || url.host !== domain || domain.includes('*'))
    throw new TypeError(`"${domain}" is no domain. Write it as apps.example.net.`)
  if (url.origin === origin)
    throw new TypeError('The domain of apps has to be another one than that of the page.')
  return `https://*.${domain}`
}

async function listenAt(server: Server, target: string | number): Promise<string | number> {
  if (typeof target === 'number') {
    await listenOn(server, { host: '127.0.0.1', port: target, exclusive: true })
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : target
  }
  await prepareSocket(target)
  // The mode is set at creation: with a later `chmod`, other users could connect before it.
  const previousMask = process.umask(0o777 & ~socketMode)
  const listening = listenOn(server, { path: target, exclusive: true })
  process.umask(previousMask)
  await listening
  return target
}

function listenOn(server: Server, options: Parameters<Server['listen']>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`The web server cannot listen: ${error.message}. Choose another address.`)),
    )
    server.listen(options, resolve)
  })
}

/** Removes the socket file of a server that was killed. @throws TypeError if the path cannot be used */
async function prepareSocket(path: string): Promise<void> {
  if (Buffer.byteLength(path) > maxSocketPathBytes)
    throw new TypeError(`The path of the socket has more than ${maxSocketPathBytes} bytes: ${path}`)
  const folder = statSync(dirname(path), { throwIfNoEntry: false })
  if (folder === undefined) throw new TypeError(`There is no folder ${dirname(path)} for the socket.`)
  if ((folder.mode & 0o002) !== 0 && (folder.mode & 0o1000) === 0)
    throw new TypeError(
      `Everybody can replace files in ${dirname(path)}. Choose another folder for the socket.`,
    )
  const existing = lstatSync(path, { throwIfNoEntry: false })
  if (existing === undefined) return
  if (!existing.isSocket()) throw new TypeError(`${path} is a file and no socket.`)
  if (await isInUse(path)) throw new TypeError(`Another program listens at ${path}.`)
  rmSync(path)
}

function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const stream = createConnection(path)
    stream.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
    stream.once('connect', () => {
      stream.destroy()
      resolve(true)
    })
  })
}
