import type { Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { AppService } from '@jackfield/host'
import type { PeerServer } from '@jackfield/host/service'
import { AppPageServer, type AppPagesOptions } from './app-pages.ts'
import { Blobs } from './blobs.ts'
import { Cookie } from './cookie.ts'
import { Guard } from './guard.ts'
import { singleHost } from './hosts.ts'
import { closeHttpServer, createHttpServer, serveRequests } from './http-server.ts'
import { PageFiles } from './page-files.ts'
import { browserName } from './peer-name.ts'
import { RequestServer } from './requests.ts'
import { lockSessions, SessionStore, type WebSession } from './session-store.ts'
import { SocketServer } from './sockets.ts'

const host = '127.0.0.1'
/** The port that is tried first, and how many are tried. */
const firstPort = 7411
const portCount = 9
const maxConnections = 256

/** Folder of the built page of this package. */
export const builtPage: string = fileURLToPath(new URL('../../dist/app', import.meta.url))

/** Options of `serveWeb`. */
export interface ServeWebOptions {
  /** The peer server of the host. */
  peers: PeerServer
  /** The apps of the host. Default: none are shown. */
  apps?: Pick<AppService, 'document'>
  /** SQLite file of sessions, login keys and the port; made with mode 0600. It has hashes of secrets only. */
  file: string
  /** The address to listen on. Only 127.0.0.1 is possible. */
  host?: '127.0.0.1'
  /**
   * The port to listen on, which is remembered in `file`; 0 uses any free one and remembers nothing. Default: the remembered port,
   * else the first free one of 7411 to 7419.
   */
  port?: number
  /** Folder of the built page. Default: that of this package. */
  page?: string
  /** Called with warnings for the user: a changed port, wrong logins, failed requests. */
  onWarning: (message: string) => void
}

/** A running web server. */
export interface WebServer extends AsyncDisposable {
  /** `http://127.0.0.1:7411` */
  readonly url: string
  /** Downloads and uploads by ticket. */
  readonly blobs: Blobs
  /** Creates a login link. It is valid once, for 60 s. */
  link(): string
  /** The browsers that are logged in. */
  sessions(): WebSession[]
  /** Logs a browser out and closes its sockets; false if there is no such session. */
  revoke(id: string): boolean
  /** Closes every connection. The host and its peer server stay open. */
  close(): Promise<void>
}

/**
 * Serves the web app of a host on 127.0.0.1.
 * @throws WebServerRunningError if another server runs with this file
 * @throws Error if the file cannot be used, or no port is free
 */
export async function serveWeb(options: ServeWebOptions): Promise<WebServer> {
  const { file } = options
  if (options.host !== undefined && options.host !== host)
    throw new TypeError(`The web server listens on ${host} only, not on ${options.host}.`)
  const lock = lockSessions(file)
  if (lock === undefined) throw new WebServerRunningError(file)
  let sessions: SessionStore | undefined
  try {
    sessions = new SessionStore(file)
    sessions.setPort('listening', undefined)
    return await startServer(options, sessions, lock)
  } catch (error) {
    sessions?.close()
    lock[Symbol.dispose]()
    throw error
  }
}

async function startServer(
  { peers, apps, page = builtPage, port: requestedPort, onWarning }: ServeWebOptions,
  sessions: SessionStore,
  lock: Disposable,
): Promise<WebServer> {
  const server = createHttpServer({ maxConnections })
  const port = await listen(server, requestedPort, sessions, onWarning)
  const guard = new Guard(`http://${host}:${port}`)
  const appPages = apps && (await startAppPages(sessions, { apps, frameAncestor: guard.origin }))
  const blobs = new Blobs()
  const files = new PageFiles(page)
  const hosts = singleHost(peers)
  const nameOf = (userAgent: string | undefined): string => browserName(userAgent)
  const sockets = new SocketServer({ hosts, sessions, nameOf, build: () => files.build(), onWarning })
  const requests = new RequestServer({
    ...{ guard, sessions, sockets, hosts, blobs, files, nameOf, onWarning },
    // Cookies ignore ports: with the port in their name, two hosts do not overwrite each other's.
    cookie: new Cookie(`jackfield-${port}`, { sameSite: 'Strict' }),
    apps: appPages?.pages.pattern,
  })
  serveRequests(server, requests)
  sessions.setPort('listening', port)
  const close = async (): Promise<void> => {
    sessions.setPort('listening', undefined)
    blobs.close()
    await closeHttpServer(server, sockets, () => appPages?.close())
    sessions.close()
    lock[Symbol.dispose]()
  }
  let closing: Promise<void> | undefined
  const closeOnce = (): Promise<void> => {
    closing ??= close()
    return closing
  }
  return {
    url: guard.origin,
    blobs,
    link: () => createLoginLink(guard.origin, sessions),
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

/** Serves the pages of apps at the same port as before if it is free, else at any free one. */
async function startAppPages(sessions: SessionStore, options: AppPagesOptions): Promise<AppPageServer> {
  const pages = await AppPageServer.start(sessions.port('apps'), options)
  sessions.setPort('apps', pages.port)
  return pages
}

/** Another web server runs with the same file; see `linkToRunning`. */
export class WebServerRunningError extends Error {
  override readonly name: string = 'WebServerRunningError'

  constructor(file: string) {
    super(`A web server runs already with ${file}. Use it, or end it first.`)
  }
}

/**
 * Creates a login link for the web server that runs with a file, in this or another process; undefined if none runs.
 * @throws Error if the server is starting or stopping
 */
export function linkToRunning(file: string): string | undefined {
  const lock = lockSessions(file)
  if (lock !== undefined) {
    lock[Symbol.dispose]()
    return undefined
  }
  const sessions = new SessionStore(file)
  try {
    const port = sessions.port('listening')
    if (port === undefined)
      throw new Error(`The web server of ${file} is about to start or to end. Try again in a moment.`)
    return createLoginLink(`http://${host}:${port}`, sessions)
  } finally {
    sessions.close()
  }
}

function createLoginLink(origin: string, sessions: SessionStore): string {
  return `${origin}/#k=${sessions.addLoginKey()}`
}

async function listen(
  server: Server,
  requestedPort: number | undefined,
  sessions: SessionStore,
  onWarning: (message: string) => void,
): Promise<number> {
  const preferredPort = sessions.port('preferred')
  const defaultPorts = Array.from({ length: portCount }, (_, offset) => firstPort + offset)
  const ports =
    requestedPort === undefined
      ? [...new Set([preferredPort ?? firstPort, ...defaultPorts])]
      : [requestedPort]
  for (const port of ports) {
    const boundPort = await tryPort(server, port)
    if (boundPort === undefined) continue
    if (requestedPort !== 0) sessions.setPort('preferred', boundPort)
    if (requestedPort === undefined && preferredPort !== undefined && preferredPort !== boundPort)
      onWarning(
        `Port ${preferredPort} is in use by another program, so the web app is at ${boundPort} from now on. Bookmarks of port ${preferredPort} no longer work, and browsers log in again.`,
      )
    return boundPort
  }
  throw new Error(
    requestedPort === undefined
      ? `The web server cannot listen on ${host}: the ports ${ports.join(', ')} are in use. Choose another one.`
      : `The web server cannot listen on port ${requestedPort} of ${host}: it is in use or not permitted. Choose another one.`,
  )
}

/** Listens on a port and returns it; undefined if it is in use or not permitted. */
function tryPort(server: Server, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off('listening', onListening)
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined)
      else reject(error)
    }
    const onListening = (): void => {
      server.off('error', onError)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : undefined)
    }
    server.once('error', onError)
    server.once('listening', onListening)
    server.listen({ port, host, exclusive: true })
  })
}
