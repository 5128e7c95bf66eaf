import type { Caller, Peer } from '../core/exchange.ts'
import { ErrorCode, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities, ServerCapabilities } from '../protocol/capabilities.ts'
import { isCapabilities, isImplementation, isLoggingLevel, keptIdentity } from '../protocol/client-meta.ts'
import type { LoggingLevel } from '../protocol/definitions.ts'
import { latestLegacy } from '../protocol/eras.ts'
import { loggingLevels } from '../protocol/meta.ts'
import type { Revision } from '../protocol/revision.ts'
import { revisionOf, revisions } from '../protocol/revisions.ts'
import type { Server } from '../server/server.ts'

/** What `initialize` established. */
export interface Initialized {
  readonly peer: Peer
  readonly result: JsonObject
  /** Characters of what is kept of the client's identity and capabilities. */
  readonly chars: number
}

/**
 * Negotiates the revision and capabilities of a client that sends `initialize`.
 * @param offer the capabilities to declare, of those that the server has on this revision
 * @throws RpcError -32602 for params that are not valid
 */
export function initialize(
  server: Server,
  caller: Caller,
  params: JsonObject | undefined,
  offer: (capabilities: ServerCapabilities) => ServerCapabilities = (capabilities) => capabilities,
): Initialized {
  const { protocolVersion, capabilities, clientInfo } = params ?? {}
  if (typeof protocolVersion !== 'string') throw invalid('"protocolVersion" must be a string')
  if (!isCapabilities(capabilities)) throw invalid('"capabilities" must be an object of objects')
  if (!isImplementation(clientInfo)) throw invalid('"clientInfo" must have a "name" and a "version"')
  const revision = negotiated(protocolVersion)
  const kept = keptIdentity(clientInfo, capabilities)
  const peer: Peer = {
    ...caller,
    revision,
    capabilities: kept.capabilities,
    info: kept.info,
    logLevel: defaultLogLevel(server),
  }
  const result: JsonObject = {
    protocolVersion: revision.version,
    capabilities: offer(offeredTo(server.capabilitiesOn(revision.version, caller), capabilities)),
    serverInfo: server.info,
  }
  if (server.instructions !== undefined) result['instructions'] = server.instructions
  return { peer, chars: kept.chars, result: revision.result('initialize', result, server.info) }
}

/** Level of log messages for a client of an older revision that did not set one; undefined without logging. */
export function defaultLogLevel(server: Server): LoggingLevel | undefined {
  return server.capabilities.logging === undefined ? undefined : 'info'
}

/**
 * The level of a `logging/setLevel` request.
 * @throws RpcError -32602 for any other value
 */
export function requireLoggingLevel(level: unknown): LoggingLevel {
  if (isLoggingLevel(level)) return level
  throw invalid(`"level" must be one of ${loggingLevels.join(', ')}`)
}

/** Clients of older revisions are offered extensions only if they declare some themselves. */
function offeredTo(offered: ServerCapabilities, client: ClientCapabilities): ServerCapabilities {
  if (client.extensions !== undefined) return offered
  const { extensions: _extensions, ...rest } = offered
  return rest
}

/** The revision both sides will speak: the requested one if it has sessions, else the newest that does. */
function negotiated(requested: string): Revision {
  const revision = revisionOf(requested)
  return revision?.era === 'session' ? revision : revisions[latestLegacy]
}

function invalid(why: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${why}`)
}
