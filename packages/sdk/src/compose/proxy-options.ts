// For `Symbol.asyncDispose` in the published types, whatever "lib" their users compile with.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Target } from '../client/connect.ts'
import type { ConnectOptions } from '../client/types.ts'
import type { Caller } from '../core/exchange.ts'
import type { Implementation } from '../protocol/definitions.ts'
import type { MethodRow } from '../protocol/methods.ts'
import type { Middleware, Server } from '../server/server.ts'
import type { HeldBounds } from './held.ts'

/** An extension that client and upstream server speak with each other through the proxy. */
export interface RelayedExtension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** Its request methods, each with the param its `Mcp-Name` header mirrors. Default: none. */
  readonly methods?: Readonly<Record<string, Pick<MethodRow, 'asks' | 'named'>>>
  /** Reserved `_meta` keys of it that travel end to end. Default: none. */
  readonly meta?: readonly string[]
}

/** What a proxy lets grow. */
export interface ProxyLimits extends HeldBounds {
  /** Connections upstream besides the proxy's own. Over stdio each is a process. */
  readonly connections: number
  /** Connections of one principal among them. */
  readonly connectionsOfOne: number
  /** Resources watched upstream at once. */
  readonly watchedUris: number
  /** Milliseconds one request may take upstream in all. */
  readonly totalMs: number
}

/**
 * How a proxy shows the server behind it, for whom it connects, and how much it keeps. All of it has
 * defaults.
 */
export interface ProxyOptions {
  /** Name it shows its clients. Default: the upstream server's with `-proxy` behind it. */
  name?: string
  /** Default: the upstream server's. */
  version?: string
  title?: string
  /** Default: the upstream server's. */
  instructions?: string
  /** Wraps the handling of every request, outermost first. */
  use?: readonly Middleware[]
  /** Who the proxy says it is upstream, which revisions it speaks there, and what it reports. */
  connect?: Pick<
    ConnectOptions,
    'info' | 'revisions' | 'connectTimeoutMs' | 'probeTimeoutMs' | 'onWarning' | 'onMessage'
  >
  /**
   * The upstream server as one principal reaches it, with credentials that are theirs there. Each principal then has
   * connections of its own, and others for requests with other scopes or through another OAuth client. What a client
   * sent to authenticate itself here never goes upstream, and is not given to this function. Default: everybody is
   * served with the proxy's own credentials.
   */
  targetFor?: (caller: Caller) => Target | Promise<Target>
  /**
   * Serves everybody over the proxy's one connection, for servers that may run only once. One with sessions can then
   * ask nobody anything, and mixes what it keeps for its session. Default false.
   */
  oneConnectionForEverybody?: boolean
  /** Extensions to relay. Default: none, and none is declared in either direction. */
  extensions?: readonly RelayedExtension[]
  /** Other limits than the default ones. */
  limits?: Partial<ProxyLimits>
  /** Hears of every failure whose text the peer was not shown. Default: writes to stderr where there is one. */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
}

/** A server whose every answer comes from another one. */
export interface ProxiedServer extends Server {
  /** What is known of the upstream server; as it was last while it is away. */
  readonly upstream: Implementation | undefined
  /** Ends the connections upstream that it opened, and every call that waits. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export const proxyLimits: ProxyLimits = {
  connections: 100,
  connectionsOfOne: 50,
  watchedUris: 1024,
  totalMs: 3_600_000,
  held: 256,
  heldOfOne: 32,
  heldMs: 600_000,
}
