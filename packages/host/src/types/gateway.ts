import type { Server } from '@jackfield/sdk'

/** What a gateway shows, and as what. All of it has defaults. */
export interface GatewayOptions {
  /** What it is called. Default `jackfield`. */
  name?: string
  title?: string
  /** Default the host's own. */
  version?: string
  /**
   * Globs over the names that tools and prompts have in the host (`server__tool`); resources and templates go by
   * `server__` and their URI. Default everything.
   */
  only?: readonly string[]
  /** Milliseconds a request waits for its client to come back with answers. Default 600 000. */
  heldMs?: number
  /** Hears of what cannot be offered, and of failures that clients are not told. */
  onWarning?: (message: string) => void
}

/** The servers of a host as one server. */
export interface OpenGateway {
  /** To be served over stdio, HTTP or in memory, to clients of every revision. */
  readonly server: Server
  /** Ends every request that waits. */
  close(): void
}

/**
 * Shows what the host's servers offer to other clients. Each of their requests goes the way of all requests of this
 * host, as caller `gateway`: policy, questions to the person, activity log. What a server asks on account of a request
 * is put to the client that sent it where it can answer, else to the person.
 */
export interface GatewayDesk {
  /**
   * Opens a gateway. Before the host is started, so that servers with sessions are told at their start what clients
   * may answer.
   */
  open(options?: GatewayOptions): OpenGateway
}

/** The gateway of one user. */
export interface UserGateway {
  readonly server: Server
  /** Ends the gateway, and the host behind it where it is this user's own. */
  close(): Promise<void>
}

/** Who uses a gateway over HTTP, and where it listens. */
export interface GatewayFrontOptions {
  /** A bearer token for each user, of 16 characters at least, or `sha256:` and the digest of one in hexadecimal. */
  tokens: Readonly<Record<string, string>>
  /** Opens the gateway of a user. Give each a host of their own, so that connections and stores are kept apart. */
  open: (user: string) => Promise<UserGateway>
  /** Default 127.0.0.1. */
  host?: string
  /** Default 0: any free one. */
  port?: number
  /** Default `/mcp`. */
  path?: string
  /** Names it answers to besides `host` and the loopback names. */
  allowedHosts?: readonly string[]
  onWarning?: (message: string) => void
}

/** A gateway that listens. */
export interface GatewayFront {
  /** Where clients connect, with the path. */
  readonly url: string
  /** Stops listening, and closes the gateway of every user. */
  close(): Promise<void>
}
