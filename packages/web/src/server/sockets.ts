import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Channel } from '@jackfield/host/service'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Hosts } from './hosts.ts'
import type { SessionStore, WebSession } from './session-store.ts'

/** Bytes of one message of a browser. */
const maxMessageBytes = 1_048_576
/** Milliseconds within which the first message has to arrive. */
const firstMessageMs = 2_000
/** Milliseconds between two pings. */
const pingMs = 15_000
/** Pings without a pong after which a connection is closed. */
const maxMissedPongs = 2
/** Sockets of a user. */
const maxSockets = 64
/** Sockets of a user that have not sent their page key yet. */
const maxUnauthenticated = 16
/** Milliseconds within which a browser has to complete the closing handshake. */
const closeMs = 1_000
/** Bytes of the reason of a close frame (RFC 6455, section 5.5). */
const maxReasonBytes = 123

/** Close codes, by which the page decides what to do next. */
export const CloseCode = {
  /** The server stops. Connect again. */
  goingAway: 1001,
  unsupportedData: 1003,
  /** Too many sockets are open. Connect again later. */
  tryAgainLater: 1013,
  /** The host closed the connection; the reason says why. Connect again. */
  closedByHost: 4000,
  /** There is no valid session: a login link is needed. */
  loginNeeded: 4401,
  /** The page key did not arrive within 2 s. Connect again. */
  noPageKey: 4408,
  /** The page is of another build than the one that this server sends. Reload it. */
  newBuild: 4426,
} as const

export interface SocketServerOptions {
  readonly hosts: Hosts
  readonly sessions: SessionStore
  /** What a browser is called, by its `User-Agent`. */
  readonly nameOf: (userAgent: string | undefined) => string
  /** Identifies the page that this server sends now; undefined where it is not built. */
  readonly build: () => string | undefined
  readonly onWarning: (message: string) => void
}

/** A socket with its session. */
interface SessionSocket {
  readonly socket: WebSocket
  readonly session: WebSession
}

/** Serves the WebSocket of each tab as a channel of the host. */
export class SocketServer {
  readonly #options: SocketServerOptions
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  })
  /** Sockets whose page key has not arrived yet. */
  readonly #unauthenticated = new Set<SessionSocket>()
  readonly #authenticated = new Set<SessionSocket>()
  readonly #missedPongs = new WeakMap<WebSocket, number>()
  readonly #timer: NodeJS.Timeout

  constructor(options: SocketServerOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#ping(), pingMs)
  }

  /**
   * Completes the handshake of a request whose `Host` and `Origin` were checked. A browser learns the reason of a refusal only
   * from a close code, so that a socket without a session is opened too, and closed before anything is read from it.
   */
  upgrade(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    {
      session,
      build,
    }: { session: WebSession | undefined /** Identifies the page of the tab. */; build: string | undefined },
  ): void {
    this.#server.handleUpgrade(request, stream, head, (socket) => {
      // `ws` reports an invalid frame here and closes the socket itself.
      socket.on('error', () => {})
      if (session === undefined) close(socket, CloseCode.loginNeeded, 'login needed')
      else if (this.#isFullFor(session)) close(socket, CloseCode.tryAgainLater, 'too many connections')
      else
        this.#authenticate(
          { socket, session },
          build,
          `web · ${this.#options.nameOf(request.headers['user-agent'])}`,
        )
    })
  }

  #isFullFor({ user }: WebSession): boolean {
    const countOf = (sockets: Iterable<SessionSocket>): number =>
      [...sockets].filter(({ session }) => session.user?.subject === user?.subject).length
    const unauthenticated = countOf(this.#unauthenticated)
    return (
      unauthenticated >= maxUnauthenticated || unauthenticated + countOf(this.#authenticated) >= maxSockets
    )
  }

  /** Closes the sockets of a session that ended. */
  endSession(id: string): void {
    for (const { socket, session } of this.#authenticated)
      if (session.id === id) close(socket, CloseCode.loginNeeded, 'the session ended')
  }

  close(): void {
    clearInterval(this.#timer)
    for (const socket of this.#sockets()) close(socket, CloseCode.goingAway, 'the host ends')
  }

  /** Destroys the sockets that `close` could not close. */
  terminate(): void {
    for (const socket of this.#sockets()) socket.terminate()
  }

  #sockets(): WebSocket[] {
    return [...this.#unauthenticated, ...this.#authenticated].map(({ socket }) => socket)
  }

  /** Waits for the first message, which has to be the page key of the session, and then serves the socket. */
  #authenticate(candidate: SessionSocket, build: string | undefined, name: string): void {
    const { sessions, build: current } = this.#options
    const { socket, session } = candidate
    this.#unauthenticated.add(candidate)
    const timer = setTimeout(
      () => close(socket, CloseCode.noPageKey, 'the page key did not arrive within 2 s'),
      firstMessageMs,
    )
    const stopWaiting = (): void => {
      clearTimeout(timer)
      this.#unauthenticated.delete(candidate)
    }
    socket.once('close', stopWaiting)
    socket.once('message', (data, isBinary) => {
      if (socket.readyState !== socket.OPEN) return
      stopWaiting()
      const pageKey = isBinary ? '' : String(data)
      try {
        if (!sessions.isPageKey(session.id, pageKey)) close(socket, CloseCode.loginNeeded, 'login needed')
        else if (build !== undefined && build !== current())
          close(socket, CloseCode.newBuild, 'the page is of another build')
        else {
          sessions.markUsed(session.id)
          void this.#serve(candidate, name)
        }
      } catch (error) {
        this.#warn(error)
        close(socket, CloseCode.tryAgainLater, 'the sessions cannot be read')
      }
    })
  }

  async #serve(authenticated: SessionSocket, name: string): Promise<void> {
    const { socket, session } = authenticated
    this.#authenticated.add(authenticated)
    socket.once('close', () => this.#authenticated.delete(authenticated))
    socket.on('pong', () => this.#missedPongs.set(socket, 0))
    const channel = socketChannel(socket)
    try {
      const lease = await this.#options.hosts.acquire(session)
      if (lease === undefined) close(socket, CloseCode.tryAgainLater, 'too many users')
      else if (socket.readyState !== socket.OPEN) lease.release()
      else {
        socket.once('close', lease.release)
        lease.peers.serve(channel, name)
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#options.onWarning(`A host cannot be opened: ${reason}`)
      close(socket, CloseCode.tryAgainLater, 'the host cannot be opened')
    }
  }

  /** Reports an error of the session store, such as a full disk, which must not end the host. */
  #warn(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    this.#options.onWarning(`The sessions of the web server cannot be read: ${reason}`)
  }

  /** The ids of valid sessions; undefined if they cannot be read. */
  #validSessions(): ReadonlySet<string> | undefined {
    try {
      return new Set(this.#options.sessions.list().map(({ id }) => id))
    } catch (error) {
      this.#warn(error)
      return undefined
    }
  }

  #ping(): void {
    const valid = this.#validSessions()
    for (const { socket, session } of this.#authenticated) {
      const missed = this.#missedPongs.get(socket) ?? 0
      if (valid?.has(session.id) === false) close(socket, CloseCode.loginNeeded, 'the session ended')
      else if (missed >= maxMissedPongs) socket.terminate()
      else {
        this.#missedPongs.set(socket, missed + 1)
        socket.ping()
      }
    }
  }
}

/**
 * A WebSocket as a channel of the host, with one frame in each message. The socket is paused until the channel has a listener;
 * frames that have arrived by then are buffered.
 */
function socketChannel(socket: WebSocket): Channel {
  let closing: string | undefined
  const buffered: string[] = []
  let receive = (frame: string): void => void buffered.push(frame)
  socket.on('message', (data, isBinary) => {
    if (socket.readyState !== socket.OPEN) return
    if (isBinary) close(socket, CloseCode.unsupportedData, 'frames are text')
    else receive(String(data))
  })
  socket.pause()
  return {
    get unsent() {
      return socket.bufferedAmount
    },
    send(frame) {
      if (socket.readyState === socket.OPEN) socket.send(frame)
    },
    listen(message, closed) {
      // A listener may not be called before this method has returned.
      queueMicrotask(() => {
        receive = message
        for (const frame of buffered.splice(0)) message(frame)
        socket.resume()
      })
      socket.once('close', (code, reason) =>
        closed(closing ?? (String(reason) || `closed with code ${code}`)),
      )
    },
    close(reason = 'this side closed the connection') {
      closing ??= reason
      close(socket, CloseCode.closedByHost, reason)
    },
  }
}

/** Closes a socket; destroys it if the browser does not complete the closing handshake within a second. */
function close(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === socket.CLOSING || socket.readyState === socket.CLOSED) return
  // A paused socket would not read the answer.
  socket.resume()
  socket.close(code, truncateReason(reason))
  const timer = setTimeout(() => socket.terminate(), closeMs)
  socket.once('close', () => clearTimeout(timer))
}

function truncateReason(reason: string): string {
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(maxReasonBytes))
  return reason.slice(0, read)
}
