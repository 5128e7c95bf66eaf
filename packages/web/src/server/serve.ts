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

/** What a web server serves, and where. */
export interface ServeWebOptions {
  /** Serves the clients of a host. */
  peers: PeerServer
  /** The apps of the host. Default: none are shown. */
  apps?: Pick<AppService, 'document'>
  /** SQLite file of sessions, login keys and the port; made with mode 0600. It has hashes of secrets only. */
  file: string
  /** The address to listen on. Only 127.0.0.1 is possible. */
  host?: '127.0.0.1'
  /**
   * The port to listen on, also next time; 0 takes any free one, once. Default: that of last time, else the first free one of
   * 7411 to 7419.
   */
  port?: number
  /** Folder of the built page. Default: that of this package. */
  page?: string
  /** Called with what the person should know: another port, wrong logins, failed requests. */
  onWarning: (message: string) => void
}

/** A running web server. */
export interface WebServer extends AsyncDisposable {
  /** `http://127.0.0.1:7411` */
  readonly url: string
  /** Tickets for downloads and uploads. */
  readonly blobs: Blobs
  /** Makes a login link. It is valid once, for 60 s. */
  link(): string
  /** The browsers that are logged in. */
  sessions(): WebSession[]
  /** Logs a browser out and closes its sockets; false where there is no such session. */
  revoke(id: string): boolean
  /** Closes every connection. The host and its peer server stay open. */
  close(): Promise<void>
}

/**
 * Serves the web app of a host on 127.0.0.1.
 * @throws WebServerRunningError where another server runs with this file
 * @throws Error where the file cannot be used, or no port is free
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
  { peers, apps, page = builtPage, port: wanted, onWarning }: ServeWebOptions,
  sessions: SessionStore,
  lock: Disposable,
): Promise<WebServer> {
  const server = createHttpServer({ maxConnections })
  const port = await listen(server, wanted, sessions, onWarning)
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
    link: () => linkOf(guard.origin, sessions),
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

/** Serves the pages of apps at the port of last time, else at any free one. */
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
 * Makes a login link of the web server that runs with a file, in whichever process; undefined where none runs.
 * @throws Error where the server does not listen yet, or no longer
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
    return linkOf(`http://${host}:${port}`, sessions)
  } finally {
    sessions.close()
  }
}

function linkOf(origin: string, sessions: SessionStore): string {
  return `${origin}/#k=${sessions.addLoginKey()}`
}

async function listen(
  server: Server,
  wanted: number | undefined,
  sessions: SessionStore,
  onWarning: (message: string) => void,
): Promise<number> {
  const known = sessions.port('preferred')
  const usual = Array.from({ length: portCount }, (_, n) => firstPort + n)
  const ports = wanted === undefined ? [...new Set([known ?? firstPort, ...usual])] : [wanted]
  for (const port of ports) {
    const got = await tryPort(server, port)
    if (got === undefined) continue
    if (wanted !== 0) sessions.setPort('preferred', got)
    if (wanted === undefined && known !== undefined && known !== got)
      onWarning(
        `Port ${known} is in use by another program, so the web app is at ${got} from now on. Bookmarks of port ${known} no longer work, and browsers log in again.`,
      )
    return got
  }
  throw new Error(
    wanted === undefined
      ? `The web server cannot listen on ${host}: the ports ${ports.join(', ')} are in use. Choose another one.`
      : `The web server cannot listen on port ${wanted} of ${host}: it is in use or not permitted. Choose another one.`,
  )
}

/** Listens on a port and gives it; undefined where it is in use or not permitted. */
function tryPort(server: Server, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off('listening', listening)
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined)
      else reject(error)
    }
    const listening = (): void => {
      server.off('error', failed)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : undefined)
    }
    server.once('error', failed)
    server.once('listening', listening)
    server.listen({ port, host, exclusive: true })
  })
}
