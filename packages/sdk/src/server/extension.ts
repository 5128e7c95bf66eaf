import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ServerCapabilities } from '../protocol/definitions.ts'
import { type MethodRow, type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import type { Caller, Exchange, Outcome, Peer } from '../request/exchange.ts'
import type { Definitions, Middleware, Server } from './server.ts'

/** One request method that an extension adds: its handler, and the revisions that have it. */
export interface ExtensionMethod extends Pick<MethodRow, 'asks' | 'named'> {
  /** First revision it is served on. Default: the first of all. */
  since?: ProtocolVersion
  /** Last revision it is served on. Default: no last one. */
  until?: ProtocolVersion
  /** Also serves clients that did not declare the extension. Default false: they are rejected with -32021. */
  open?: boolean
  /** Serves one request. Throw an `RpcError` for an error response. */
  handle(exchange: Exchange): Promise<Outcome> | Outcome
}

/**
 * An extension of the protocol, enabled by `extensions` of `defineServer`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
 */
export interface Extension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** What the server declares under `capabilities.extensions`. Default `{}`. */
  readonly settings?: JsonObject
  /** Additional capabilities on revisions where this is not an extension yet. Default: none. */
  capabilities?(version: ProtocolVersion, caller?: Caller): ServerCapabilities & JsonObject
  /** Its request methods, by name. Default: none. */
  readonly methods?: Readonly<Record<string, ExtensionMethod>>
  /**
   * The end of a warning: what this extension stores in the memory of this process, and how to store it for all processes. Absent
   * if all processes share its state.
   */
  readonly memoryOnly?: string
  /** What it adds to the server's own definitions. */
  readonly definitions?: Definitions
  /**
   * Validates the server's definitions before they are added.
   * @throws McpError 'INVALID' for one that this extension cannot serve
   */
  check?(definitions: Definitions): void
  /** Middleware for every request, inside the server's own `use`. Default: none. */
  readonly use?: Middleware
  /** Called once with the server, and a function that serves a request without middleware. */
  attach?(server: Server, serve: (exchange: Exchange) => Promise<Outcome>): void
}

/** Whether a client declared an extension. */
export function declares(peer: Peer, extension: string): boolean {
  return peer.capabilities.extensions?.[extension] !== undefined
}

/**
 * Requires that the client declared an extension.
 * @throws RpcError -32021, naming the extension
 */
export function requireExtension(peer: Peer, extension: string): void {
  if (declares(peer, extension)) return
  throw new RpcError(
    ErrorCode.MissingRequiredClientCapability,
    `This request needs the extension ${extension}, which was not declared`,
    { requiredCapabilities: { extensions: { [extension]: {} } } },
  )
}

/** The methods of several extensions, by name. */
export class ExtensionMethods {
  readonly #byName: ReadonlyMap<string, { readonly extension: Extension; readonly method: ExtensionMethod }>

  constructor(extensions: readonly Extension[]) {
    this.#byName = new Map(
      extensions.flatMap((extension) =>
        Object.entries(extension.methods ?? {}).map(([name, method]) => [name, { extension, method }]),
      ),
    )
  }

  /** The row of a method on a revision, in the form core methods have. */
  row(name: string, version: ProtocolVersion): MethodRow | undefined {
    const method = this.#byName.get(name)?.method
    if (method === undefined) return undefined
    const { since = protocolVersions[0], until = version, asks, named } = method
    if (version < since || version > until) return undefined
    const row: MethodRow = { from: 'client', since }
    if (asks !== undefined) row.asks = asks
    if (named !== undefined) row.named = named
    return row
  }

  /** Serves a request by its extension; undefined for an unknown method. */
  handle(exchange: Exchange): Promise<Outcome> | Outcome | undefined {
    const entry = this.#byName.get(exchange.method)
    if (entry === undefined || this.row(exchange.method, exchange.peer.revision.version) === undefined) {
      return undefined
    }
    if (entry.method.open !== true) requireExtension(exchange.peer, entry.extension.id)
    return entry.method.handle(exchange)
  }
}
