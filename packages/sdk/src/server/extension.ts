import type { Caller, Exchange, Outcome, Peer } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { MethodRow, ProtocolVersion } from '../protocol/methods.ts'
import type { Definitions, Middleware, Server } from './server.ts'

/** One request method that an extension adds. */
export interface ExtensionMethod extends Pick<MethodRow, 'asks' | 'named'> {
  /** First revision it is served on. Default: the first of all. */
  since?: ProtocolVersion
  /** Last revision it is served on. Default: no last one. */
  until?: ProtocolVersion
  /** Serves clients that did not declare the extension too. Default false: they are refused with -32021. */
  open?: boolean
  handle(exchange: Exchange): Promise<Outcome> | Outcome
}

/**
 * Something beyond the core protocol that a server offers, off until it is named in `defineServer`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#extensions
 */
export interface Extension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** What the server declares under `capabilities.extensions`. Default `{}`. */
  readonly settings?: JsonObject
  /** Further capabilities on some revisions, for what was not an extension there yet. */
  capabilities?(version: ProtocolVersion, caller?: Caller): ServerCapabilities & JsonObject
  readonly methods?: Readonly<Record<string, ExtensionMethod>>
  /**
   * What it stores in the memory of this process, and how to store it for all processes: the end of a warning. Absent where every
   * process can reach it.
   */
  readonly memoryOnly?: string
  /** What it adds to the server's own definitions. */
  readonly definitions?: Definitions
  /**
   * Looks at the server's definitions before they are taken, its own ones and what `add` brings later.
   * @throws McpError 'INVALID' for one that this extension could not serve
   */
  check?(definitions: Definitions): void
  /** Wraps the handling of every request, inside the server's own `use`. */
  readonly use?: Middleware
  /** Called once, with the server that it became a part of and a way to have a request served past every layer. */
  attach?(server: Server, serve: (exchange: Exchange) => Promise<Outcome>): void
}

/** Whether a peer declared that it speaks an extension. */
export function declares(peer: Peer, extension: string): boolean {
  return peer.capabilities.extensions?.[extension] !== undefined
}

/**
 * Refuses a peer that did not declare an extension.
 * @throws RpcError -32021, naming what is required
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
    const { since = '2024-11-05', until = version, asks, named } = method
    if (version < since || version > until) return undefined
    const row: MethodRow = { from: 'client', since }
    if (asks !== undefined) row.asks = asks
    if (named !== undefined) row.named = named
    return row
  }

  /** Serves a request by its extension; undefined for a method of none. */
  handle(exchange: Exchange): Promise<Outcome> | Outcome | undefined {
    const found = this.#byName.get(exchange.method)
    if (found === undefined || this.row(exchange.method, exchange.peer.revision.version) === undefined) {
      return undefined
    }
    if (found.method.open !== true) requireExtension(exchange.peer, found.extension.id)
    return found.method.handle(exchange)
  }
}
