import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Channel, PeerServer } from '@jackfield/host/service'
import { type WebSocket, WebSocketServer } from 'ws'
import { browserName } from './peer-name.ts'
import type { SessionStore, WebSession } from './session-store.ts'

/** Bytes of one message of a browser. */
const mostMessageBytes = 1_048_576
/** Milliseconds within which the first message has to arrive. */
const firstMessageMs = 2_000
/** Milliseconds between two pings. */
const pingMs = 15_000
/** Pings without a pong after which a connection is closed. */
const mostMissed = 2
const mostSockets = 64
/** Sockets that have not sent their page key yet. */
const mostUnproven = 16
/** Milliseconds within which a browser has to take part in closing. */
const closeMs = 1_000
/** Bytes of the reason of a close frame (RFC 6455, section 5.5). */
const longestReason = 123

/** Why a socket is closed, for the page. */
export const CloseCode = {
  /** The server ends. Connect again. */
  goingAway: 1001,
  unsupportedData: 1003,
  /** Too many sockets are open. Connect again later. */
  tryAgainLater: 1013,
  /** The host closed the connection; the reason says why. Connect again. */
  closedByHost: 4000,
  /** There is no session, or no longer: a login link is needed. */
  loginNeeded: 4401,
  /** The page key did not arrive within 2 s. Connect again. */
  noPageKey: 4408,
  /** The page is of another build than the one that this server sends. Reload it. */
  newBuild: 4426,
} as const

export interface SocketServerOptions {
  readonly peers: PeerServer
  readonly sessions: SessionStore
  /** Identifies the page that this server sends now; undefined where it is not built. */
  readonly build: () => string | undefined
  readonly onWarning: (message: string) => void
}

/** A socket whose page key was right. */
interface Proven {
  readonly socket: WebSocket
  readonly session: string
}

/** Serves the WebSocket of each tab as a channel of the host. */
export class SocketServer {
  readonly #options: SocketServerOptions
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: mostMessageBytes,
  })
  readonly #unproven = new Set<WebSocket>()
  readonly #proven = new Set<Proven>()
  readonly #missed = new WeakMap<WebSocket, number>()
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
      // `ws` reports a faulty frame here and closes the socket itself.
      socket.on('error', () => {})
      const isFull = this.#proven.size + this.#unproven.size >= mostSockets
      if (isFull || this.#unproven.size >= mostUnproven)
        close(socket, CloseCode.tryAgainLater, 'too many connections')
      else if (session === undefined) close(socket, CloseCode.loginNeeded, 'login needed')
      else this.#prove(socket, session, build, `web · ${browserName(request.headers['user-agent'])}`)
    })
  }

  /** Closes the sockets of a session that ended. */
  endSession(id: string): void {
    for (const { socket, session } of this.#proven)
      if (session === id) close(socket, CloseCode.loginNeeded, 'the session ended')
  }

  close(): void {
    clearInterval(this.#timer)
    for (const socket of this.#sockets()) close(socket, CloseCode.goingAway, 'the host ends')
  }

  /** Ends what `close` could not end. */
  terminate(): void {
    for (const socket of this.#sockets()) socket.terminate()
  }

  #sockets(): WebSocket[] {
    return [...this.#unproven, ...Array.from(this.#proven, ({ socket }) => socket)]
  }

  /** Serves a socket once its first message is the page key of its session. */
  #prove(socket: WebSocket, session: WebSession, build: string | undefined, name: string): void {
    const { sessions, build: current } = this.#options
    this.#unproven.add(socket)
    const timer = setTimeout(
      () => close(socket, CloseCode.noPageKey, 'the page key did not arrive within 2 s'),
      firstMessageMs,
    )
    const over = (): void => {
      clearTimeout(timer)
      this.#unproven.delete(socket)
    }
    socket.once('close', over)
    socket.once('message', (data, isBinary) => {
      if (socket.readyState !== socket.OPEN) return
      over()
      const pageKey = isBinary ? '' : String(data)
      try {
        if (!sessions.isPageKey(session.id, pageKey)) close(socket, CloseCode.loginNeeded, 'login needed')
        else if (build !== undefined && build !== current())
          close(socket, CloseCode.newBuild, 'the page is of another build')
        else {
          sessions.markUsed(session.id)
          this.#serve(socket, session.id, name)
        }
      } catch (error) {
        this.#warn(error)
        close(socket, CloseCode.tryAgainLater, 'the sessions cannot be read')
      }
    })
  }

  #serve(socket: WebSocket, session: string, name: string): void {
    const proven = { socket, session }
    this.#proven.add(proven)
    socket.once('close', () => this.#proven.delete(proven))
    socket.on('pong', () => this.#missed.set(socket, 0))
    this.#options.peers.serve(socketChannel(socket), name)
  }

  /** A full disk or a locked file must not end the host. */
  #warn(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    this.#options.onWarning(`The sessions of the web server cannot be read: ${reason}`)
  }

  /** The sessions that are valid now; undefined where they cannot be read. */
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
    for (const { socket, session } of this.#proven) {
      const missed = this.#missed.get(socket) ?? 0
      if (valid?.has(session) === false) close(socket, CloseCode.loginNeeded, 'the session ended')
      else if (missed >= mostMissed) socket.terminate()
      else {
        this.#missed.set(socket, missed + 1)
        socket.ping()
      }
    }
  }
}

/** A WebSocket as a channel of the host, with one frame in each message. */
function socketChannel(socket: WebSocket): Channel {
  let closing: string | undefined
  return {
    get unsent() {
      return socket.bufferedAmount
    },
    send(frame) {
      if (socket.readyState === socket.OPEN) socket.send(frame)
    },
    listen(message, closed) {
      socket.on('message', (data, isBinary) => {
        if (socket.readyState !== socket.OPEN) return
        if (isBinary) close(socket, CloseCode.unsupportedData, 'frames are text')
        else message(String(data))
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

/** Closes a socket, also where the browser does not take part in it. */
function close(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === socket.CLOSING || socket.readyState === socket.CLOSED) return
  socket.close(code, bounded(reason))
  const timer = setTimeout(() => socket.terminate(), closeMs)
  socket.once('close', () => clearTimeout(timer))
}

function bounded(reason: string): string {
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(longestReason))
  return reason.slice(0, read)
}
