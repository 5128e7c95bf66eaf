import { describeValue, ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { orAborted } from '../jsonrpc/promises.ts'
import { withSafeIcons } from '../protocol/content.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/definitions.ts'
import { isImplementation, MetaKey, metaOf } from '../protocol/meta.ts'
import { latestVersion, type ProtocolVersion } from '../protocol/methods.ts'
import { CallDeadline } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest } from './client-connection.ts'
import { sanitizeServerFacts } from './result-shapes.ts'
import { isEndpointMissing, isGatewayFailure, retryPastGateway } from './retry.ts'
import { envelope } from './stateless-client.ts'
import type { ServerFacts } from './types.ts'

interface Handshake {
  readonly connection: ClientConnection
  readonly identity: ClientIdentity
  readonly deadline: CallDeadline
}

/**
 * Starts a session: `initialize`, then `notifications/initialized`. `versions` are offered newest first.
 * @throws McpError 'VERSION_MISMATCH' when the server answers with a revision that was not offered
 */
export async function initialize(
  handshake: Handshake,
  versions: readonly ProtocolVersion[],
): Promise<ServerFacts> {
  return completeInitialize(handshake, await sendInitialize(handshake, versions), versions)
}

/** Sends `initialize`, and again with an older version if the server rejects the first and names others. */
async function sendInitialize(
  handshake: Handshake,
  versions: readonly ProtocolVersion[],
  signal: AbortSignal = handshake.deadline.signal,
): Promise<JsonObject> {
  const { connection, identity, deadline } = handshake
  const [newest] = versions
  if (newest === undefined) throw new McpError('VERSION_MISMATCH', 'No revision is left to offer the server')
  const params = {
    protocolVersion: newest,
    capabilities: identity.capabilities('session'),
    clientInfo: identity.info,
  }
  try {
    return (await connection.request({ method: 'initialize', params, deadline, signal })).result
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { supported } = isObject(error.data) ? error.data : {}
    const named: unknown[] = Array.isArray(supported) ? supported : []
    const others = versions.filter((version) => version !== newest && named.includes(version))
    if (others.length > 0) return sendInitialize(handshake, others, signal)
    throw new McpError(
      'CONNECT_FAILED',
      `The server refused the connection: ${error.message} (error ${error.code} on initialize with ${newest})`,
      { cause: error },
    )
  }
}

/** Reads the result of `initialize` and completes the handshake. */
async function completeInitialize(
  { connection, deadline }: Handshake,
  result: JsonObject,
  versions: readonly ProtocolVersion[],
): Promise<ServerFacts> {
  const facts = readInitializeResult(result, versions)
  connection.transport.adopt(facts.revision)
  const ready = connection.transport
    .notify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    .catch((error) => {
      if (connection.isOpen) connection.warn(`The server rejected notifications/initialized: ${error}`)
    })
  await orAborted(ready, deadline.signal)
  await orAborted(connection.transport.listen(), deadline.signal)
  return facts
}

function readInitializeResult(result: JsonObject, versions: readonly ProtocolVersion[]): ServerFacts {
  const { protocolVersion, capabilities = {}, serverInfo, instructions } = result
  const revision = versions.find((version) => version === protocolVersion)
  if (revision === undefined) {
    const named =
      protocolVersion === undefined ? 'no protocolVersion' : `revision ${describeValue(protocolVersion)}`
    throw new McpError(
      'VERSION_MISMATCH',
      `The server responded to initialize with ${named}; this client offered ${versions.join(', ')}`,
    )
  }
  if (!isCapabilitySet(capabilities)) {
    throw new McpError('PROTOCOL', 'The capabilities in the result of initialize are not objects')
  }
  sanitizeServerFacts(serverInfo, capabilities)
  return {
    info: isImplementation(serverInfo) ? withSafeIcons(serverInfo) : undefined,
    revision,
    era: 'session',
    capabilities,
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
}

/** Whether a value is an object whose known capabilities are objects. */
function isCapabilitySet(value: unknown): value is ServerCapabilities {
  return (
    isObject(value) &&
    ['experimental', 'logging', 'completions', 'prompts', 'resources', 'tools', 'extensions'].every(
      (name) => value[name] === undefined || isObject(value[name]),
    )
  )
}

function newestOf(versions: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  return [...versions].sort().at(-1)
}

/** The client info and revisions that are sent while connecting. */
export interface ClientIdentity {
  readonly info: Implementation
  /** Revisions to offer, newest first. */
  readonly versions: readonly ProtocolVersion[]
  capabilities(era: 'session' | 'stateless'): ClientCapabilities
  readonly probeTimeoutMs: number
}

const olderRevisionsHint = 'To connect to servers of older revisions, allow them in the option "revisions".'

type ProbeResult =
  | { readonly kind: 'stateless'; readonly facts: ServerFacts }
  /** Not stateless. `version` is the newest older one that the server named; `lost` is the failure if it sent no JSON-RPC response. */
  | {
      readonly kind: 'session'
      readonly version?: ProtocolVersion
      readonly reason: string
      readonly lost?: McpError
    }
  /** The connection closed. */
  | { readonly kind: 'closed'; readonly error: McpError }
  | { readonly kind: 'unanswered' }

/**
 * Negotiates the revision: `server/discover` first, then `initialize` on the same connection. Only a server that closes
 * the connection on `server/discover` is reconnected, through `open`.
 */
export async function negotiate(
  open: () => Promise<ClientConnection>,
  identity: ClientIdentity,
  deadline: CallDeadline,
): Promise<{ connection: ClientConnection; facts: ServerFacts }> {
  const { versions } = identity
  const statelessVersions = versions.filter(isStateless)
  const sessionVersions = versions.filter((version) => !isStateless(version))
  const connection = await open()
  const handshake: Handshake = { connection, identity, deadline }
  const [preferred] = statelessVersions
  if (preferred === undefined) return { connection, facts: await initialize(handshake, sessionVersions) }

  const stopProbe = new AbortController()
  const probeDeadline = new CallDeadline({
    label: 'server/discover',
    idleMs: identity.probeTimeoutMs,
    totalMs: Number.POSITIVE_INFINITY,
  })
  const probeSignal = AbortSignal.any([deadline.signal, stopProbe.signal])
  const probe = discover(handshake, preferred, probeDeadline, probeSignal).finally(() =>
    probeDeadline.close(),
  )
  if (sessionVersions.length === 0)
    return { connection, facts: requireStateless(await probe, statelessVersions) }
  const probed = await unlessUnanswered(probe, probeDeadline)
  switch (probed.kind) {
    case 'stateless':
      return { connection, facts: probed.facts }
    case 'session': {
      const { version: newest = latestVersion } = probed
      const offered = sessionVersions.filter((version) => version <= newest)
      return { connection, facts: await initialize(handshake, offered) }
    }
    case 'unanswered':
      return { connection, facts: await initializeOrDiscover(handshake, sessionVersions, probe, stopProbe) }
    case 'closed': {
      const reopened = { ...handshake, connection: await open() }
      return { connection: reopened.connection, facts: await initialize(reopened, sessionVersions) }
    }
  }
}

function isStateless(version: ProtocolVersion): boolean {
  return version >= latestVersion
}

function requireStateless(probed: ProbeResult, statelessVersions: readonly ProtocolVersion[]): ServerFacts {
  if (probed.kind === 'stateless') return probed.facts
  if (probed.kind === 'closed') throw probed.error
  if (probed.kind === 'session' && probed.lost !== undefined) {
    const { code, message, details, cause } = probed.lost
    // Servers of older revisions respond like this.
    const hint = isEndpointMissing(probed.lost) ? ` ${olderRevisionsHint}` : ''
    throw new McpError(code, message + hint, { cause, details: { ...details } })
  }
  const reason = probed.kind === 'session' ? ` (${probed.reason})` : ''
  throw new McpError(
    'VERSION_MISMATCH',
    `The server does not support ${statelessVersions.join(' or ')}${reason}. ${olderRevisionsHint}`,
  )
}

async function unlessUnanswered(
  probe: Promise<ProbeResult>,
  probeDeadline: CallDeadline,
): Promise<ProbeResult> {
  try {
    return await orAborted(probe, probeDeadline.signal)
  } catch (error) {
    if (error === probeDeadline.signal.reason) return { kind: 'unanswered' }
    throw error
  }
}

/** Sends `initialize` while `server/discover` is still unanswered; the first usable response wins. */
async function initializeOrDiscover(
  handshake: Handshake,
  sessionVersions: readonly ProtocolVersion[],
  probe: Promise<ProbeResult>,
  stopProbe: AbortController,
): Promise<ServerFacts> {
  const stopInitialize = new AbortController()
  const lateDiscovery = new Promise<ServerFacts>((resolve) => {
    probe.then(
      (probed) => {
        if (probed.kind === 'stateless') resolve(probed.facts)
      },
      () => {},
    )
  })
  try {
    const signal = AbortSignal.any([handshake.deadline.signal, stopInitialize.signal])
    const offered = sendInitialize(handshake, sessionVersions, signal).then((result) => ({ result }))
    // A server that refuses `initialize` may still respond to `server/discover`.
    const refused = offered.catch(async (error) => {
      const probed = await probe.catch(() => undefined)
      if (probed?.kind === 'stateless') return probed.facts
      throw error
    })
    const first = await Promise.race([refused, lateDiscovery])
    if (!('result' in first)) return first
    stopProbe.abort(new McpError('CANCELLED', 'The server started a session instead'))
    return await completeInitialize(handshake, first.result, sessionVersions)
  } finally {
    stopInitialize.abort(new McpError('CANCELLED', 'The server responded to server/discover after all'))
  }
}

/**
 * Sends `server/discover`, and again if the server names another version. Rejects if connecting is pointless. Both
 * deadlines are paused while the user logs in.
 */
async function discover(
  { connection, identity, deadline }: Handshake,
  preferred: ProtocolVersion,
  probeDeadline: CallDeadline,
  signal: AbortSignal,
): Promise<ProbeResult> {
  let version = preferred
  const pause = (): (() => void) => {
    const resume = [deadline.pause(), probeDeadline.pause()]
    return () => {
      for (const one of resume) one()
    }
  }
  for (let attempt = 0; ; attempt++) {
    const meta = envelope(version, identity.info, identity.capabilities('stateless'), undefined)
    try {
      const out = { method: 'server/discover', params: { _meta: meta }, deadline, signal, pause }
      return readDiscoverResult(await requestDiscover(out, connection, probeDeadline), identity)
    } catch (error) {
      if (!(error instanceof RpcError)) return probeFailure(error, connection)
      const named = supportedIn(error)
      const ours = named && identity.versions.filter((version) => named.includes(version))
      const isStatelessError =
        error.code === ErrorCode.HeaderMismatch || error.code === ErrorCode.MissingRequiredClientCapability
      if (named === undefined && !isStatelessError) return probeRpcError(error)
      if (ours !== undefined) {
        const newest = newestOf(ours)
        if (newest === undefined) throw mismatch(named ?? [], identity)
        if (!isStateless(newest)) return { kind: 'session', version: newest, reason: error.message }
        version = newest
      }
      if (attempt > 0) {
        const message = `The server rejected server/discover twice: ${error.message} (${error.code})`
        throw new McpError('CONNECT_FAILED', message, { cause: error })
      }
    }
  }
}

/**
 * Retries gateway failures, which do not depend on the server's revision. The probe's deadline is paused between
 * attempts and restarts with each.
 */
async function requestDiscover(
  outgoing: OutgoingRequest & { readonly signal: AbortSignal },
  connection: ClientConnection,
  probeDeadline: CallDeadline,
): Promise<JsonObject> {
  let resume = (): void => {}
  const attempt = async (): Promise<JsonObject> => {
    resume()
    try {
      return (await connection.request(outgoing)).result
    } catch (error) {
      if (isGatewayFailure(error)) resume = probeDeadline.pause()
      throw error
    }
  }
  return retryPastGateway(attempt, connection, outgoing.signal, () => outgoing.deadline.leftMs)
}

function supportedIn({ code, data }: RpcError): string[] | undefined {
  if (code !== ErrorCode.UnsupportedProtocolVersion || !isObject(data)) return undefined
  const { supported } = data
  return Array.isArray(supported) && supported.every((name) => typeof name === 'string')
    ? supported
    : undefined
}

/** Interprets a failure of `server/discover`. Rethrows it if the server cannot be reached at all. */
function probeFailure(error: unknown, connection: ClientConnection): ProbeResult {
  if (isGatewayFailure(error) || !(error instanceof McpError)) throw error
  switch (error.code) {
    case 'CONNECTION_CLOSED':
      return connection.isOpen
        ? { kind: 'session', reason: error.message, lost: error }
        : { kind: 'closed', error }
    case 'HTTP':
    case 'PROTOCOL':
      return { kind: 'session', reason: error.message, lost: error }
    default:
      throw error
  }
}

/** Interprets a JSON-RPC error that does not name revisions. An internal error may have any cause. */
function probeRpcError({ code, message }: RpcError): ProbeResult {
  if (code !== ErrorCode.InternalError) return { kind: 'session', reason: message }
  const advice = `server/discover failed on the server: ${message} (${code}). Check the server's log.`
  return { kind: 'session', reason: message, lost: new McpError('CONNECT_FAILED', advice) }
}

function readDiscoverResult(result: JsonObject, identity: ClientIdentity): ProbeResult {
  const { supportedVersions, capabilities, instructions, resultType = 'complete' } = result
  if (
    resultType !== 'complete' ||
    !Array.isArray(supportedVersions) ||
    !supportedVersions.every((name) => typeof name === 'string') ||
    !isCapabilitySet(capabilities)
  ) {
    return { kind: 'session', reason: 'its result of server/discover is invalid' }
  }
  const newest = newestOf(identity.versions.filter((version) => supportedVersions.includes(version)))
  if (newest === undefined) throw mismatch(supportedVersions, identity)
  if (!isStateless(newest)) return { kind: 'session', version: newest, reason: `it supports ${newest}` }
  return {
    kind: 'stateless',
    facts: {
      info: readServerInfo(result),
      revision: newest,
      era: 'stateless',
      capabilities,
      instructions: typeof instructions === 'string' ? instructions : undefined,
    },
  }
}

function readServerInfo(result: JsonObject): Implementation | undefined {
  const info = [metaOf(result)[MetaKey.serverInfo], result['serverInfo']].find(isImplementation)
  sanitizeServerFacts(info, result['capabilities'])
  return info && withSafeIcons(info)
}

function mismatch(supported: readonly string[], identity: ClientIdentity): McpError {
  return new McpError(
    'VERSION_MISMATCH',
    `The server supports ${supported.join(', ') || 'no revision that it names'}; this client allows ${identity.versions.join(', ')}`,
    { details: { supported: [...supported] } },
  )
}
