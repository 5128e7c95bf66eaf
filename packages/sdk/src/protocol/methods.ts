import type { JsonObject, RequestId } from '../jsonrpc/message.ts'
import type {
  CallToolResult,
  ClientCapabilities,
  CompleteParams,
  CompleteResult,
  GetPromptResult,
  Implementation,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  LoggingLevel,
  ReadResourceResult,
  Result,
  ServerCapabilities,
  SubscriptionFilter,
} from './definitions.ts'
import type { ProgressToken } from './meta.ts'
import type { Questions } from './server-requests.ts'

/** Published revisions, oldest first. */
export const protocolVersions = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
] as const

/** One published revision of the specification. */
export type ProtocolVersion = (typeof protocolVersions)[number]

const firstVersion: ProtocolVersion = '2024-11-05'
/** The latest revision. */
export const latestVersion: ProtocolVersion = '2026-07-28'
/** The latest revision with sessions. */
export const latestSessionVersion: ProtocolVersion = '2025-11-25'

type Page = { cursor?: string; _meta?: JsonObject }
type Meta = { _meta?: JsonObject }

interface InitializeParams extends Meta {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}

interface InitializeResult extends Result {
  protocolVersion: string
  capabilities: ServerCapabilities
  serverInfo: Implementation
  instructions?: string
}

interface DiscoverResult extends Result {
  supportedVersions: string[]
  capabilities: ServerCapabilities
  instructions?: string
  ttlMs?: number
  cacheScope?: 'public' | 'private'
}

/** Requests a client sends, with their params and results. */
export interface ClientRequests {
  initialize: { params: InitializeParams; result: InitializeResult }
  ping: { params: Meta; result: Result }
  'server/discover': { params: Meta; result: DiscoverResult }
  'tools/list': { params: Page; result: ListToolsResult }
  'tools/call': { params: Meta & { name: string; arguments?: JsonObject }; result: CallToolResult }
  'resources/list': { params: Page; result: ListResourcesResult }
  'resources/templates/list': { params: Page; result: ListResourceTemplatesResult }
  'resources/read': { params: Meta & { uri: string }; result: ReadResourceResult }
  'resources/subscribe': { params: Meta & { uri: string }; result: Result }
  'resources/unsubscribe': { params: Meta & { uri: string }; result: Result }
  'subscriptions/listen': { params: Meta & { notifications: SubscriptionFilter }; result: Result }
  'prompts/list': { params: Page; result: ListPromptsResult }
  'prompts/get': {
    params: Meta & { name: string; arguments?: Record<string, string> }
    result: GetPromptResult
  }
  'completion/complete': { params: Meta & CompleteParams; result: CompleteResult }
  'logging/setLevel': { params: Meta & { level: LoggingLevel }; result: Result }
}

/** The notifications a server sends. */
export interface ServerNotifications {
  'notifications/progress': {
    progressToken: ProgressToken
    progress: number
    total?: number
    message?: string
    _meta?: JsonObject
  }
  'notifications/message': { level: LoggingLevel; logger?: string; data: unknown; _meta?: JsonObject }
  'notifications/tools/list_changed': Meta
  'notifications/prompts/list_changed': Meta
  'notifications/resources/list_changed': Meta
  'notifications/resources/updated': Meta & { uri: string }
  'notifications/subscriptions/acknowledged': Meta & { notifications: SubscriptionFilter }
  'notifications/cancelled': Meta & { requestId: RequestId; reason?: string }
  'notifications/elicitation/complete': Meta & { elicitationId: string }
  /** Part of the tasks extension. */
  'notifications/tasks': JsonObject
  /** The same on 2025-11-25, where tasks are part of the protocol. */
  'notifications/tasks/status': JsonObject
}

export type ClientMethod = keyof ClientRequests

/** A notification from a server, with its params. */
export type ServerNotification = {
  [M in keyof ServerNotifications]: { method: M; params: ServerNotifications[M] }
}[keyof ServerNotifications]

/** One request method, as data. */
export interface MethodRow {
  /** The sender. */
  from: 'client' | 'server'
  /** First revision with the method. */
  since: ProtocolVersion
  /** Last revision with the method; absent if the latest has it. */
  until?: ProtocolVersion
  /** The server capability it requires. */
  capability?: 'tools' | 'resources' | 'prompts' | 'completions' | 'logging'
  /** Whether its handler may request input from the client. */
  asks?: true
  /** The param mirrored into the `Mcp-Name` header. */
  named?: string
  /** Whether its result carries `ttlMs` and `cacheScope`. */
  cacheable?: true
}

/** Every request method of every revision. */
export const methods: Readonly<Record<ClientMethod | keyof Questions, MethodRow>> = {
  initialize: { from: 'client', since: firstVersion, until: latestSessionVersion },
  ping: { from: 'client', since: firstVersion, until: latestSessionVersion },
  'server/discover': { from: 'client', since: latestVersion, cacheable: true },
  'tools/list': { from: 'client', since: firstVersion, capability: 'tools', cacheable: true },
  'tools/call': { from: 'client', since: firstVersion, capability: 'tools', asks: true, named: 'name' },
  'resources/list': { from: 'client', since: firstVersion, capability: 'resources', cacheable: true },
  'resources/templates/list': {
    from: 'client',
    since: firstVersion,
    capability: 'resources',
    cacheable: true,
  },
  'resources/read': {
    from: 'client',
    since: firstVersion,
    capability: 'resources',
    asks: true,
    named: 'uri',
    cacheable: true,
  },
  'resources/subscribe': {
    from: 'client',
    since: firstVersion,
    until: latestSessionVersion,
    capability: 'resources',
  },
  'resources/unsubscribe': {
    from: 'client',
    since: firstVersion,
    until: latestSessionVersion,
    capability: 'resources',
  },
  'subscriptions/listen': { from: 'client', since: latestVersion },
  'prompts/list': { from: 'client', since: firstVersion, capability: 'prompts', cacheable: true },
  'prompts/get': { from: 'client', since: firstVersion, capability: 'prompts', asks: true, named: 'name' },
  'completion/complete': { from: 'client', since: firstVersion, capability: 'completions' },
  'logging/setLevel': {
    from: 'client',
    since: firstVersion,
    until: latestSessionVersion,
    capability: 'logging',
  },
  'elicitation/create': { from: 'server', since: '2025-06-18' },
  'sampling/createMessage': { from: 'server', since: firstVersion },
  'roots/list': { from: 'server', since: firstVersion },
}

const rows: ReadonlyMap<string, MethodRow> = new Map(Object.entries(methods))

/** The row of a request method in any revision. */
export function rowOf(method: string): MethodRow | undefined {
  return rows.get(method)
}

/** The client requests of each revision. */
const clientRows: Readonly<Record<string, ReadonlyMap<string, MethodRow>>> = Object.fromEntries(
  protocolVersions.map((version) => [
    version,
    new Map([...rows].filter(([, row]) => isClientMethodOf(row, version))),
  ]),
)

function isClientMethodOf({ from, since, until }: MethodRow, version: ProtocolVersion): boolean {
  return from === 'client' && since <= version && version <= (until ?? version)
}

/** The row of a client request in a revision, or undefined if the revision does not have it. */
export function methodRow(method: string, version: ProtocolVersion): MethodRow | undefined {
  return clientRows[version]?.get(method)
}
