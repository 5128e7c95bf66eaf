import { invalidParams } from '../jsonrpc/error.ts'
import { readJson } from '../jsonrpc/exact-json.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import type { ClientCapabilities, Implementation, LoggingLevel } from './definitions.ts'

/** The `_meta` keys the specification reserves. */
export const MetaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  /** The task a message belongs to; 2025-11-25 only. */
  relatedTask: 'io.modelcontextprotocol/related-task',
  progressToken: 'progressToken',
} as const

/** Identifies the request of a progress notification: a string or an integer that its sender chose. */
export type ProgressToken = string | number

/** The levels of log messages, from least to most severe (RFC 5424). */
export const loggingLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

/** Whether a level is at least as severe as `wanted`; false if that is undefined. */
export function isAtLeast(level: LoggingLevel, wanted: LoggingLevel | undefined): boolean {
  return wanted !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(wanted)
}

const extensionId =
  /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\/[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/

/** Whether a text is a valid extension id: dot-separated labels, a slash and a name. */
export function isExtensionId(text: string): boolean {
  return extensionId.test(text)
}

/** The sender of a stateless request, as its `_meta` describes it. */
export interface PeerMeta {
  version: string
  info: Implementation | undefined
  capabilities: ClientCapabilities
  logLevel: LoggingLevel | undefined
}

/** The `_meta` of params or of a result; empty if they have none. */
export function metaOf(holder: Readonly<JsonObject> | undefined): Readonly<JsonObject> {
  const meta = holder?.['_meta']
  return isObject(meta) ? meta : {}
}

/** Whether a request is of the stateless era: its params have their own protocol version. */
export function isStatelessRequest(params: unknown): boolean {
  return isObject(params) && metaOf(params)[MetaKey.protocolVersion] !== undefined
}

/**
 * Reads the sender from the `_meta` of a stateless request.
 * @throws RpcError -32602 if a required field is missing or malformed
 */
export function readPeerMeta(meta: unknown): PeerMeta {
  if (!isObject(meta)) throw invalidParams(`params._meta with "${MetaKey.protocolVersion}" is required`)
  const version = meta[MetaKey.protocolVersion]
  if (typeof version !== 'string') throw invalidParams(`"${MetaKey.protocolVersion}" must be a string`)
  const capabilities = meta[MetaKey.clientCapabilities]
  if (!isCapabilities(capabilities))
    throw invalidParams(`"${MetaKey.clientCapabilities}" must be an object of objects`)
  const info = meta[MetaKey.clientInfo]
  if (info !== undefined && !isImplementation(info)) {
    throw invalidParams(`"${MetaKey.clientInfo}" must have a "name" and a "version"`)
  }
  const logLevel = meta[MetaKey.logLevel]
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) {
    throw invalidParams(`"${MetaKey.logLevel}" must be one of ${loggingLevels.join(', ')}`)
  }
  return { version, info, capabilities, logLevel }
}

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return typeof value === 'string' && (loggingLevels as readonly string[]).includes(value)
}

export function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string'
}

/** Maximum characters of a `clientInfo` member in a session. */
const infoChars = 1024
/** Maximum icons of a client in a session. */
const maxIcons = 4
/** Maximum characters of a client's capabilities as JSON. */
const capabilityChars = 16_384

/**
 * Bounded copies of the client's `info` and `capabilities` for a session, which do not keep the `initialize` message alive.
 * Texts are cut at 1024 characters; larger icons are left out.
 * @throws RpcError -32602 for capabilities of more than 16,384 characters
 */
export function boundIdentity(
  info: Implementation,
  capabilities: ClientCapabilities,
): { info: Implementation; capabilities: ClientCapabilities; chars: number } {
  const { name, version, title, description, websiteUrl, icons } = info
  const bounded: Implementation = { name: name.slice(0, infoChars), version: version.slice(0, infoChars) }
  if (typeof title === 'string') bounded.title = title.slice(0, infoChars)
  if (typeof description === 'string') bounded.description = description.slice(0, infoChars)
  if (typeof websiteUrl === 'string' && websiteUrl.length <= infoChars) bounded.websiteUrl = websiteUrl
  if (Array.isArray(icons)) {
    bounded.icons = icons.filter((icon) => JSON.stringify(icon).length <= infoChars).slice(0, maxIcons)
  }
  const text = JSON.stringify(capabilities)
  if (text.length > capabilityChars) {
    throw invalidParams(`"capabilities" may have at most ${capabilityChars} characters`)
  }
  const infoText = JSON.stringify(bounded)
  return { info: readJson(infoText), capabilities: readJson(text), chars: infoText.length + text.length }
}

const knownCapabilities = ['roots', 'sampling', 'elicitation', 'experimental', 'extensions']

/** Whether a value has the shape of client capabilities: an object whose known members are objects. */
export function isCapabilities(value: unknown): value is ClientCapabilities {
  if (!isObject(value)) return false
  for (const name of knownCapabilities) {
    if (value[name] !== undefined && !isObject(value[name])) return false
  }
  return true
}
