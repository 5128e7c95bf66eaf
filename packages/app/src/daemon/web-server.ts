import type { Channel, HostService, PeerServer } from '@jackfield/host/service'
import type { WebServer } from '@jackfield/web'

/** The first frame after the token: requests the web server of a host process for as long as the connection is open. */
export interface WebRequest {
  readonly web: { readonly port?: number }
}

/** The response. */
export type WebReply =
  /** A login link. `isStarted`: the server was started for this command. */
  | { readonly link: string; readonly isStarted: boolean }
  | { readonly warning: string }
  /** The server cannot be started. */
  | { readonly fault: string }

export interface DaemonWebServerOptions {
  readonly service: HostService
  readonly peers: PeerServer
  /** The session file; see `sessionsFile`. */
  readonly file: string
  readonly onWarning: (message: string) => void
}

/** The web server of a host process. It runs while at least one command uses it. */
export class DaemonWebServer {
  readonly #options: DaemonWebServerOptions
  readonly #users = new Set<Channel>()
  #server: WebServer | undefined
  #lastStep: Promise<void> = Promise.resolve()

  constructor(options: DaemonWebServerOptions) {
    this.#options = options
  }

  /** Takes the channel of a client. If its first frame requests the web server, the channel is handled here from then on. */
  intercept(channel: Channel): Channel {
    return {
      get unsent() {
        return channel.unsent
      },
      send: (frame) => channel.send(frame),
      close: (reason) => channel.close(reason),
      listen: (message, closed) => {
        let isFirst = true
        channel.listen(
          (frame) => {
            const request = isFirst ? parseRequest(frame) : undefined
            isFirst = false
            if (request !== undefined) this.#addUser(channel, request.web)
            else if (!this.#users.has(channel)) message(frame)
          },
          (reason) => {
            this.#removeUser(channel)
            closed(reason)
          },
        )
      },
    }
  }

  /** Stops the server, also while commands use it. */
  async close(): Promise<void> {
    this.#users.clear()
    await this.#enqueue(() => this.#stopIfUnused())
  }

  #addUser(channel: Channel, { port }: WebRequest['web']): void {
    this.#users.add(channel)
    this.#enqueue(async () => {
      if (!this.#users.has(channel)) return
      const isStarted = this.#server === undefined
      try {
        this.#server ??= await this.#start(port)
        sendReply(channel, { link: this.#server.link(), isStarted })
      } catch (error) {
        this.#users.delete(channel)
        sendReply(channel, { fault: error instanceof Error ? error.message : String(error) })
        channel.close()
      }
    })
  }

  #removeUser(channel: Channel): void {
    if (this.#users.delete(channel)) this.#enqueue(() => this.#stopIfUnused())
  }

  async #start(port: number | undefined): Promise<WebServer> {
    const { service, peers, file, onWarning } = this.#options
    // Loaded on demand, since few host processes serve a page.
    const { serveWeb } = await import('@jackfield/web')
    const server = await serveWeb({
      peers,
      apps: service.host.apps,
      file,
      ...(port !== undefined && { port }),
      onWarning: (warning) => {
        onWarning(warning)
        for (const user of this.#users) sendReply(user, { warning })
      },
    })
    // Start failures of servers are shown on the page.
    service.start().catch(() => {})
    return server
  }

  async #stopIfUnused(): Promise<void> {
    if (this.#users.size > 0) return
    await this.#server?.close()
    this.#server = undefined
  }

  /** Runs starts and stops one after another. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#lastStep = this.#lastStep.then(work)
    return this.#lastStep
  }
}

function sendReply(channel: Channel, frame: WebReply): void {
  channel.send(JSON.stringify(frame))
}

function parseRequest(frame: string): WebRequest | undefined {
  if (!frame.startsWith('{"web":')) return undefined
  try {
    const { web }: { web?: { port?: unknown } | null } = JSON.parse(frame)
    return { web: typeof web?.port === 'number' ? { port: web.port } : {} }
  } catch {
    // An unreadable frame is answered by the host.
    return undefined
  }
}
