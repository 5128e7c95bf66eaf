import { excerpt, invalid, McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { orAborted } from '../jsonrpc/promises.ts'
import type { ClientCapabilities, Implementation } from '../protocol/definitions.ts'
import {
  latestSessionVersion,
  latestVersion,
  type ProtocolVersion,
  protocolVersions,
} from '../protocol/methods.ts'
import { requireKnown } from '../request/object-members.ts'
import type { Server } from '../server/server.ts'
import { http } from '../transports/client/http.ts'
import type { ClientTransport, ClientTransportFactory } from '../transports/client/transport.ts'
import { type CallDeadline, withDeadline } from './call-deadline.ts'
import { defaultTimeoutMs, McpClient, type McpClientOptions } from './client.ts'
import { ClientConnection } from './client-connection.ts'
import { guardCallback, HandlerRegistry } from './handlers.ts'
import { IncomingRequests } from './incoming-requests.ts'
import { type ClientIdentity, initialize, negotiate } from './negotiate.ts'
import { isEndpointMissing } from './retry.ts'
import { SessionClient } from './session-client.ts'
import { StatelessClient } from './stateless-client.ts'
import type { Client, ConnectOptions, ServerFacts } from './types.ts'

const defaultConnectMs = 30_000
const defaultProbeMs = 5_000
const maxPrinted = 100
const maxPrintedChars = 1000
const optionNames = Object.keys({
  onElicit: true,
  onSample: true,
  onRoots: true,
  elicitation: true,
  sampling: true,
  info: true,
  revisions: true,
  experimental: true,
  extensions: true,
  relay: true,
  connectTimeoutMs: true,
  probeTimeoutMs: true,
  timeoutMs: true,
  maxTotalMs: true,
  maxRounds: true,
  maxQuestions: true,
  logLevel: true,
  onLog: true,
  onChange: true,
  maxListBytes: true,
  maxListPages: true,
  cache: true,
  onWarning: true,
  telemetry: true,
  onMessage: true,
  onElicitationComplete: true,
  onClose: true,
  signal: true,
} satisfies Record<keyof ConnectOptions, true>)
const toHttp = 'it is an option of http: connect(http(url, { … }))'
const toInfo = 'the name and version of this client are "info"'
const insteadOf: ReadonlyMap<string, string> = new Map([
  ['headers', toHttp],
  ['auth', toHttp],
  ['fetch', toHttp],
  ['name', toInfo],
  ['version', toInfo],
  ['clientInfo', toInfo],
  ['capabilities', 'they follow from the handlers, such as "onElicit"'],
  ['onElicitation', 'the handler is "onElicit"'],
  ['onSampling', 'the handler is "onSample"'],
])
const defaultInfo: Implementation = { name: 'jackfield', version: '0' }

/** What to connect to: a URL, a server in this process, a transport, or a function that returns a new transport. */
export type Target = string | URL | Server | ClientTransport | ClientTransportFactory

/**
 * Connects to a server and negotiates the protocol revision. A URL is connected to over Streamable HTTP, a server value
 * in this process; `stdio`, `socket` and `http` create other transports.
 * @throws McpError 'CONNECT_FAILED' if the server cannot be reached or started, 'VERSION_MISMATCH' without a common revision,
 *   'UNAUTHORIZED' without credentials, 'TIMEOUT' after `connectTimeoutMs`, 'CANCELLED' by `signal`, 'HTTP' and 'PROTOCOL' for an
 *   invalid response, 'INVALID' for invalid options. Everything that was opened is closed before
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation
 */
export function connect<S extends Server>(target: S, options?: ConnectOptions): Promise<Client<S>>
export function connect<S = unknown>(target: Target, options?: ConnectOptions): Promise<Client<S>>
export async function connect(target: Target, given: ConnectOptions = {}): Promise<Client> {
  requireKnown('The options object of connect', given, optionNames, (name) => insteadOf.get(name))
  const options = guardCallbacks(given)
  const handlers = new HandlerRegistry(options)
  const identity: ClientIdentity = {
    info: options.info ?? defaultInfo,
    versions: offeredVersions(options),
    capabilities: (era) => handlers.declare(era),
    probeTimeoutMs: options.probeTimeoutMs ?? defaultProbeMs,
  }
  const transport = await transportFor(target)
  const { connectTimeoutMs = defaultConnectMs, signal } = options
  try {
    return await withDeadline('connect', connectTimeoutMs, signal, (deadline) =>
      establish(transport, options, handlers, identity, deadline).catch((error) => {
        const older =
          'older' in transport && identity.versions.some((one) => one < latestVersion) && transport.older
        if (!older || !isEndpointMissing(error)) throw error
        return establish(older, options, handlers, identity, deadline).catch(() => {
          // The first failure is more specific than that of the fallback.
          throw deadline.signal.aborted ? deadline.signal.reason : error
        })
      }),
    )
  } catch (error) {
    if (!(error instanceof McpError) || error.code !== 'CONNECTION_CLOSED') throw error
    // Not `cause: error`: its message and details would be printed twice.
    const details = { ...error.details }
    throw new McpError('CONNECT_FAILED', error.message, { cause: error.cause, details })
  }
}

/** Connects over one transport and creates the client. */
async function establish(
  transport: ClientTransport | ClientTransportFactory,
  options: ConnectOptions,
  handlers: HandlerRegistry,
  identity: ClientIdentity,
  deadline: CallDeadline,
): Promise<Client> {
  let client: McpClient | undefined
  let last: ClientConnection | undefined
  const open = async (): Promise<ClientConnection> => {
    await last?.transport.close()
    const connection = new ClientConnection(newTransport(transport, last), options)
    last = connection
    const incoming = new IncomingRequests(connection, handlers)
    const started = connection.start({
      request: (message, cause) => {
        const facts = client?.server
        if (facts?.era !== 'stateless')
          incoming.accept(message, cause, facts?.revision ?? latestSessionVersion)
        else connection.warn(`Ignored ${message.method}: revision ${facts.revision} has no server requests`)
      },
      notification: (message) => {
        if (message.method === 'notifications/cancelled') incoming.cancel(message)
        else client?.onNotification(message)
      },
      log: (message) => options.onLog?.(message),
      requestEnded: (id, error) => incoming.requestEnded(id, error),
    })
    await orAborted(started, deadline.signal)
    return connection
  }
  try {
    deadline.signal.throwIfAborted()
    const { connection, facts } = await negotiate(open, identity, deadline)
    const era = eraClientFor(connection, facts, identity, options)
    const connected = new McpClient({ connection, handlers, options, era })
    client = connected
    const { logLevel } = options
    if (logLevel !== undefined && facts.capabilities.logging !== undefined)
      await connected.setLogLevel(logLevel)
    connected.closed.then((reason) => options.onClose?.(reason))
    return connected
  } catch (error) {
    await last?.transport.close()
    throw error
  }
}

function newTransport(
  transport: ClientTransport | ClientTransportFactory,
  last: ClientConnection | undefined,
): ClientTransport {
  if (typeof transport === 'function') return transport()
  if (last === undefined) return transport
  throw new McpError(
    'CONNECT_FAILED',
    'The server closed the connection on server/discover, and this transport cannot be reopened. Give connect a function that returns a new transport, or allow only older revisions in "revisions".',
  )
}

async function transportFor(target: Target): Promise<ClientTransport | ClientTransportFactory> {
  if (typeof target === 'string' || target instanceof URL) return http(target)
  if (typeof target === 'function') return target
  const given: unknown = target
  if (!isObject(given) || !('request' in given || 'handle' in given)) {
    throw invalid(
      'The first argument of connect must be a URL, a server, or a transport such as stdio({ command })',
    )
  }
  if ('request' in target) return target
  // Keeps the server out of bundles for browsers.
  const { memory } = await import('../transports/client/memory.ts')
  return memory(target)
}

function offeredVersions({ revisions = protocolVersions }: ConnectOptions): ProtocolVersion[] {
  const known = protocolVersions.filter((version) => revisions.includes(version)).reverse()
  if (known.length > 0) return known
  throw invalid(`"revisions" must contain at least one of ${protocolVersions.join(', ')}`)
}

function eraClientFor(
  connection: ClientConnection,
  facts: ServerFacts,
  identity: ClientIdentity,
  options: ConnectOptions,
): McpClientOptions['era'] {
  const { onLog, relay, timeoutMs = defaultTimeoutMs } = options
  if (facts.era === 'stateless') {
    const { info } = identity
    // A relay sends the level of each requester.
    const { logLevel = onLog === undefined || relay !== undefined ? undefined : 'info' } = options
    const capabilities = (): ClientCapabilities => identity.capabilities('stateless')
    return (publish, invalidate) =>
      new StatelessClient({ connection, facts, info, capabilities, logLevel, timeoutMs, publish, invalidate })
  }
  const versions = identity.versions.filter((version) => version < latestVersion)
  const renew = (): Promise<ServerFacts> =>
    withDeadline('connect', options.connectTimeoutMs ?? defaultConnectMs, undefined, (deadline) =>
      initialize({ connection, identity, deadline }, versions),
    )
  return (publish) => new SessionClient({ connection, facts, timeoutMs, initialize: renew, publish })
}

/** Prints warnings, each once for a connection. */
function printedOnce(): (message: string) => void {
  const printed = new Set<string>()
  return (message) => {
    if (printed.has(message) || printed.size >= maxPrinted) return
    printed.add(message)
    console.warn(`[mcp client] ${excerpt(message, maxPrintedChars)}`)
  }
}

function guardCallbacks(options: ConnectOptions): ConnectOptions {
  const { onWarning, onLog, onChange, onMessage, onElicitationComplete, onClose } = options
  const report = guardCallback(onWarning ?? printedOnce(), 'onWarning', () => {})
  return {
    ...options,
    onWarning: report,
    ...(onLog && { onLog: guardCallback(onLog, 'onLog', report) }),
    ...(onChange && { onChange: guardCallback(onChange, 'onChange', report) }),
    ...(onMessage && { onMessage: guardCallback(onMessage, 'onMessage', report) }),
    ...(onElicitationComplete && {
      onElicitationComplete: guardCallback(onElicitationComplete, 'onElicitationComplete', report),
    }),
    ...(onClose && { onClose: guardCallback(onClose, 'onClose', report) }),
  }
}
