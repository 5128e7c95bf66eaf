import type { Backplane, Server } from '@jackfield/sdk'
import type { Authenticate } from '@jackfield/sdk/http'

/** Options of a gateway. */
export interface GatewayOptions {
  /** The name of the server. Default `jackfield`. */
  name?: string
  /** The `title` of the server's `Implementation`. Default none. */
  title?: string
  /** The version of the server. Default: that of Jackfield. */
  version?: string
  /**
   * Globs over the host names of tools and prompts (`server__tool`); resources and templates match as `server__`
   * followed by their URI. Default everything.
   */
  only?: readonly string[]
  /** Milliseconds that a request waits for the responses of its client. Default 600 000. */
  heldMs?: number
  /** Called for definitions that cannot be offered, and for failures that clients do not see. */
  onWarning?: (message: string) => void
}

/** The servers of a host as one server. */
export interface OpenGateway {
  /** The server to pass to a transport: stdio, HTTP or in memory. It supports clients of every revision. */
  readonly server: Server
  /** Ends every request that waits for its client, and the conversations of the gateway. */
  close(): void
}

/**
 * Offers the host's servers to other clients. Their requests are handled like all requests of this host, with the
 * caller `gateway`: policy, questions to the user, activity log. A server's request for input is forwarded to the
 * client whose request caused it if that client supports it, otherwise it is asked of the user.
 */
export interface GatewayService {
  /**
   * Opens a gateway. Call it before the host is started, so that servers with sessions see the capabilities of clients
   * in `initialize`.
   */
  open(options?: GatewayOptions): OpenGateway
}

/** The gateway of one user. */
export interface UserGateway {
  /** The server for the clients of this user. */
  readonly server: Server
  /** Ends the gateway, and the host behind it if it belongs to this user. */
  close(): Promise<void>
}

/** Options of a gateway over HTTP: its users, and where it listens. */
export interface GatewayFrontOptions {
  /** A bearer token for each user, of 16 characters at least, or `sha256:` and the digest of one in hexadecimal. */
  tokens?: Readonly<Record<string, string>>
  /**
   * Identifies users in place of `tokens`, such as `bearer` of `@jackfield/sdk/auth` for the access tokens of an OpenID issuer: each
   * principal is a user. Its documents, such as protected-resource metadata, are served, too.
   */
  authenticate?: Authenticate
  /**
   * Opens the gateway of a user. Give each a host of their own, so that connections and stores are kept apart. With `authenticate`, the
   * user may have any characters: it is no file name.
   */
  open: (user: string) => Promise<UserGateway>
  /**
   * Maximum users with an open gateway. Beyond it, the least recently used gateway without requests is closed; if there is none, the
   * request gets status 503. Default 100, or the number of `tokens`.
   */
  maxUsers?: number
  /** The address to listen on. Default 127.0.0.1. */
  host?: string
  /** The port to listen on. Default 0: any free port. */
  port?: number
  /** The path of the endpoint. Default `/mcp`. */
  path?: string
  /** Accepted host names besides `host` and the loopback names. */
  allowedHosts?: readonly string[]
  /**
   * Secrets of at least 32 bytes that encrypt `requestState`: the first encrypts, all decrypt. Nodes that share a `backplane` have
   * the same. Default: a random one.
   */
  keys?: readonly (string | Uint8Array)[]
  /**
   * What the nodes of one gateway share, such as `redisBackplane` of `@jackfield/redis`: with it, every node serves the sessions of
   * all users. Each node has a host of its own for each of its users, so a balancer routes by the `Authorization` header while
   * that node runs. Needs `keys`. It is not closed with the gateway. Default: sessions end with this process.
   */
  backplane?: Backplane
  /**
   * Path of the health checks, such as `/healthz`: `GET /healthz/live` gets 200, and `GET /healthz/ready` gets 200, and 503 while
   * the gateway drains. Neither needs a token. Default: not served.
   */
  health?: string
  /** Called for failures that clients do not see. */
  onWarning?: (message: string) => void
}

/** A gateway that listens. */
export interface GatewayFront {
  /** Where clients connect, with the path. */
  readonly url: string
  /**
   * Fails the readiness check, waits for the responses of running requests, and then closes the gateway.
   * @param options `settleMs`: milliseconds for balancers to notice, default 5000; `graceMs`: milliseconds for requests to finish
   *   afterwards, default 25 000
   */
  drain(options?: { settleMs?: number; graceMs?: number }): Promise<void>
  /** Stops listening, and closes the gateway of every user. */
  close(): Promise<void>
}
