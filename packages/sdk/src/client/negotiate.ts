import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { inWords, isObject } from '../jsonrpc/parse.ts'
import { withSafeIcons } from '../protocol/content.ts'
import type {
  ClientCapabilities,
  Implementation,
  LoggingLevel,
  ServerCapabilities,
  SubscriptionFilter,
} from '../protocol/definitions.ts'
import { isImplementation, MetaKey } from '../protocol/meta.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import { latest } from '../protocol/revision.ts'
import { CallDeadline, type LinkedSignal, linkedSignal, orAborted } from './call-deadline.ts'
import type { ClientConnection, OutgoingRequest, ReceivedResult } from './client-connection.ts'
import { envelope } from './modern.ts'
import { tidyGreeting } from './result-shapes.ts'
import { isGatewayFailure, pastGateway } from './retry.ts'
import type { CallOptions, ServerChange, ServerFacts, Watch } from './types.ts'

/**
 * Begins a session: `initialize`, then `notifications/initialized`. `versions` are those to offer, newest first.
 * @throws McpError 'VERSION_MISMATCH' when the server answers with a revision that was not offered
 */
export async function initialize(
  wire: ClientConnection,
  greeting: ClientIdentity,
  versions: readonly ProtocolVersion[],
  scope: CallDeadline,
): Promise<ServerFacts> {
  return begin(wire, await offer(wire, greeting, versions, scope), versions, scope)
}

/** Sends `initialize`, again where the server names a version it would rather have. */
export async function offer(
  wire: ClientConnection,
  greeting: ClientIdentity,
  versions: readonly ProtocolVersion[],
  scope: CallDeadline,
  signal: AbortSignal = scope.signal,
): Promise<JsonObject> {
  const [newest] = versions
  if (newest === undefined) throw new McpError('VERSION_MISMATCH', 'No revision is left to offer the server')
  const params = {
    protocolVersion: newest,
    capabilities: greeting.capabilities('session'),
    clientInfo: greeting.info,
  }
  try {
    return (await wire.exchange({ method: 'initialize', params, scope, signal })).result
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const named = namedIn(error)
    const others = versions.filter((version) => version !== newest && named.includes(version))
    if (others.length > 0) return offer(wire, greeting, others, scope, signal)
    throw new McpError(
      'CONNECT_FAILED',
      `The server refused to begin a session at ${newest}: ${error.message} (${error.code})`,
      { cause: error },
    )
  }
}

/** Takes the answer to `initialize` and makes the session ready for use. */
export async function begin(
  wire: ClientConnection,
  result: JsonObject,
  versions: readonly ProtocolVersion[],
  scope: CallDeadline,
): Promise<ServerFacts> {
  const facts = readInitializeResult(result, versions)
  wire.link.adopt(facts.revision)
  const ready = wire.link.notify({ jsonrpc: '2.0', method: 'notifications/initialized' }).catch((error) => {
    if (wire.isOpen) wire.warn(`The server did not take notifications/initialized: ${error}`)
  })
  await orAborted(ready, scope.signal)
  await orAborted(wire.link.listen(), scope.signal)
  return facts
}

function namedIn({ data }: RpcError): unknown[] {
  return isObject(data) && Array.isArray(data['supported']) ? data['supported'] : []
}

function readInitializeResult(result: JsonObject, versions: readonly ProtocolVersion[]): ServerFacts {
  const { protocolVersion, capabilities = {}, serverInfo, instructions } = result
  const revision = versions.find((version) => version === protocolVersion)
  if (revision === undefined) {
    throw new McpError(
      'VERSION_MISMATCH',
      `The server speaks ${inWords(protocolVersion)}; this client allows ${versions.join(', ')} here`,
    )
  }
  if (!isCapabilitySet(capabilities)) {
    throw new McpError(
      'PROTOCOL',
      'The capabilities in the answer to initialize are not an object of objects',
    )
  }
  tidyGreeting(serverInfo, capabilities)
  return {
    info: isImplementation(serverInfo) ? withSafeIcons(serverInfo) : undefined,
    revision,
    era: 'session',
    capabilities,
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
}

/** Whether a value has the form of server capabilities: an object whose known members are objects. */
export function isCapabilitySet(value: unknown): value is ServerCapabilities {
  return (
    isObject(value) &&
    ['experimental', 'logging', 'completions', 'prompts', 'resources', 'tools', 'extensions'].every(
      (name) => value[name] === undefined || isObject(value[name]),
    )
  )
}

/** The newest of some versions. */
export function newestOf(versions: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  return [...versions].sort().at(-1)
}

/** How this client introduces itself. */
export interface ClientIdentity {
  readonly info: Implementation
  /** Revisions to offer, newest first. */
  readonly versions: readonly ProtocolVersion[]
  capabilities(era: 'session' | 'stateless'): ClientCapabilities
  readonly probeTimeoutMs: number
}

/** A server, met. */
export interface NegotiatedServer {
  readonly wire: ClientConnection
  readonly facts: ServerFacts
}

const olderHint = 'To reach a server of older revisions, allow them in the option "revisions".'

type Probed =
  | { readonly kind: 'modern'; readonly facts: ServerFacts }
  /** No sign of the modern era; `version` when the server named one that is older, `lost` when it failed to answer. */
  | {
      readonly kind: 'legacy'
      readonly version?: ProtocolVersion
      readonly why: string
      readonly lost?: McpError
    }
  /** The connection did not survive the question. */
  | { readonly kind: 'gone'; readonly error: McpError }
  | { readonly kind: 'silent' }

/**
 * Learns once which revision the server speaks: `server/discover` first, `initialize` where that says nothing. The
 * same process and connection serve both; only a server that ends on the question is started again, through `open`.
 */
export async function negotiate(
  open: () => Promise<ClientConnection>,
  greeting: ClientIdentity,
  scope: CallDeadline,
): Promise<NegotiatedServer> {
  const { versions } = greeting
  const modern = versions.filter(isModern)
  const legacy = versions.filter((version) => !isModern(version))
  const wire = await open()
  const [preferred] = modern
  if (preferred === undefined) return { wire, facts: await initialize(wire, greeting, legacy, scope) }

  const asking = linkedSignal(scope.signal)
  const { probeTimeoutMs: ms } = greeting
  const patience = new CallDeadline({
    what: 'server/discover',
    idleMs: ms,
    totalMs: Number.POSITIVE_INFINITY,
  })
  const probe = discover(wire, greeting, preferred, [scope, patience], asking.signal).finally(() => {
    asking.release()
    patience.close()
  })
  if (legacy.length === 0) return { wire, facts: modernOnly(await probe, modern) }
  const probed = await orSilence(probe, patience)
  switch (probed.kind) {
    case 'modern':
      return { wire, facts: probed.facts }
    case 'legacy':
      return { wire, facts: await initialize(wire, greeting, legacyFrom(legacy, probed.version), scope) }
    case 'silent':
      return { wire, facts: await initializeOrLate(wire, greeting, legacy, scope, probe, asking) }
    case 'gone': {
      const fresh = await open()
      return { wire: fresh, facts: await initialize(fresh, greeting, legacy, scope) }
    }
  }
}

function isModern(version: ProtocolVersion): boolean {
  return version >= latest
}

function legacyFrom(
  legacy: readonly ProtocolVersion[],
  wanted: ProtocolVersion | undefined,
): readonly ProtocolVersion[] {
  return wanted === undefined ? legacy : legacy.filter((version) => version <= wanted)
}

function modernOnly(probed: Probed, modern: readonly ProtocolVersion[]): ServerFacts {
  if (probed.kind === 'modern') return probed.facts
  if (probed.kind === 'gone') throw probed.error
  if (probed.kind === 'legacy' && probed.lost !== undefined) throw withOlderHint(probed.lost)
  const why = probed.kind === 'legacy' ? ` (${probed.why})` : ''
  throw new McpError(
    'VERSION_MISMATCH',
    `The server does not speak ${modern.join(' or ')}${why}. ${olderHint}`,
  )
}

/** A failure of HTTP, with a hint where a server of an older revision could answer so. */
function withOlderHint({ code, message, details, cause }: McpError): McpError {
  const { status } = details
  const older = code === 'HTTP' && (status === 400 || status === 404 || status === 405)
  return new McpError(code, older ? `${message} ${olderHint}` : message, { cause, details: { ...details } })
}

async function orSilence(probe: Promise<Probed>, patience: CallDeadline): Promise<Probed> {
  try {
    return await orAborted(probe, patience.signal)
  } catch (error) {
    if (error === patience.signal.reason) return { kind: 'silent' }
    throw error
  }
}

/** A slow server may still answer the first question, and is then modern after all. */
async function initializeOrLate(
  wire: ClientConnection,
  greeting: ClientIdentity,
  legacy: readonly ProtocolVersion[],
  scope: CallDeadline,
  probe: Promise<Probed>,
  asking: LinkedSignal,
): Promise<ServerFacts> {
  const offering = linkedSignal(scope.signal)
  const late = new Promise<ServerFacts>((resolve) => {
    probe.then(
      (probed) => {
        if (probed.kind === 'modern') resolve(probed.facts)
      },
      () => {},
    )
  })
  try {
    const offered = offer(wire, greeting, legacy, scope, offering.signal).then((result) => ({ result }))
    // Who refuses to begin a session may be about to answer the first question.
    const refused = offered.catch(async (error) => {
      const probed = await probe.catch(() => undefined)
      if (probed?.kind === 'modern') return probed.facts
      throw error
    })
    const first = await Promise.race([refused, late])
    if (!('result' in first)) return first
    asking.abort(new McpError('CANCELLED', 'The server began a session instead'))
    return await begin(wire, first.result, legacy, scope)
  } finally {
    offering.abort(new McpError('CANCELLED', 'The server answered server/discover after all'))
    offering.release()
  }
}

/**
 * Asks `server/discover`, again where the server says with which version. Rejects when it makes no sense to go on.
 * Both clocks, that of the connection and that of this question, stand still while a person logs in.
 */
async function discover(
  wire: ClientConnection,
  greeting: ClientIdentity,
  preferred: ProtocolVersion,
  [scope, patience]: readonly [CallDeadline, CallDeadline],
  signal: AbortSignal,
): Promise<Probed> {
  let version = preferred
  const pause = (): (() => void) => {
    const resume = [scope.pause(), patience.pause()]
    return () => {
      for (const go of resume) go()
    }
  }
  for (let attempt = 0; ; attempt++) {
    const meta = envelope(version, greeting.info, greeting.capabilities('stateless'), undefined)
    try {
      const out = { method: 'server/discover', params: { _meta: meta }, scope, signal, pause }
      return readDiscoverResult(await answerTo(out, wire, patience), greeting)
    } catch (error) {
      if (!(error instanceof RpcError)) return afterFailure(error, wire)
      const named = supportedIn(error)
      const ours = named && greeting.versions.filter((version) => named.includes(version))
      if (named === undefined && !isModernError(error)) return answeredWith(error)
      if (ours !== undefined) {
        const newest = newestOf(ours)
        if (newest === undefined) throw mismatch(named ?? [], greeting)
        if (!isModern(newest)) return { kind: 'legacy', version: newest, why: error.message }
        version = newest
      }
      if (attempt > 0) throw refused(error)
    }
  }
}

/**
 * The answer of the server itself: what a gateway says in its place tells nothing of what the server speaks. The clock
 * of silence stands still until the question is put again, and then begins anew.
 */
async function answerTo(
  out: OutgoingRequest & { readonly signal: AbortSignal },
  wire: ClientConnection,
  patience: CallDeadline,
): Promise<JsonObject> {
  let resume = (): void => {}
  const attempt = async (): Promise<JsonObject> => {
    resume()
    try {
      return (await wire.exchange(out)).result
    } catch (error) {
      if (isGatewayFailure(error)) resume = patience.pause()
      throw error
    }
  }
  return pastGateway(attempt, { wire, signal: out.signal, leftMs: () => out.scope.leftMs })
}

function refused(error: RpcError): McpError {
  const why = `${error.message} (${error.code})`
  return new McpError('CONNECT_FAILED', `The server refused server/discover twice: ${why}`, { cause: error })
}

function isModernError({ code }: RpcError): boolean {
  return code === ErrorCode.HeaderMismatch || code === ErrorCode.MissingRequiredClientCapability
}

function supportedIn({ code, data }: RpcError): string[] | undefined {
  if (code !== ErrorCode.UnsupportedProtocolVersion || !isObject(data)) return undefined
  const { supported } = data
  return Array.isArray(supported) && supported.every((name) => typeof name === 'string')
    ? supported
    : undefined
}

/** What a failed question says about the server. Rethrows where the server cannot be reached at all. */
function afterFailure(error: unknown, wire: ClientConnection): Probed {
  if (isGatewayFailure(error) || !(error instanceof McpError)) throw error
  switch (error.code) {
    case 'CONNECTION_CLOSED':
      return wire.isOpen ? { kind: 'legacy', why: error.message, lost: error } : { kind: 'gone', error }
    case 'HTTP':
    case 'PROTOCOL':
      return { kind: 'legacy', why: error.message, lost: error }
    default:
      throw error
  }
}

/** An error that says nothing of revisions: one of the server itself may have any cause. */
function answeredWith({ code, message }: RpcError): Probed {
  if (code !== ErrorCode.InternalError) return { kind: 'legacy', why: message }
  const why = `The server failed to answer server/discover: ${message} (${code}). Its log may say why.`
  return { kind: 'legacy', why: message, lost: new McpError('CONNECT_FAILED', why) }
}

function readDiscoverResult(result: JsonObject, greeting: ClientIdentity): Probed {
  const { supportedVersions, capabilities, instructions, resultType = 'complete' } = result
  if (
    resultType !== 'complete' ||
    !Array.isArray(supportedVersions) ||
    !supportedVersions.every((name) => typeof name === 'string') ||
    !isCapabilitySet(capabilities)
  ) {
    return { kind: 'legacy', why: 'its answer to server/discover is not one' }
  }
  const newest = newestOf(greeting.versions.filter((version) => supportedVersions.includes(version)))
  if (newest === undefined) throw mismatch(supportedVersions, greeting)
  if (!isModern(newest)) return { kind: 'legacy', version: newest, why: `it speaks ${newest}` }
  return {
    kind: 'modern',
    facts: {
      info: infoIn(result),
      revision: newest,
      era: 'stateless',
      capabilities,
      instructions: typeof instructions === 'string' ? instructions : undefined,
    },
  }
}

function infoIn(result: JsonObject): Implementation | undefined {
  const meta = isObject(result['_meta']) ? result['_meta'] : {}
  const info = [meta[MetaKey.serverInfo], result['serverInfo']].find(isImplementation)
  tidyGreeting(info, result['capabilities'])
  return info && withSafeIcons(info)
}

function mismatch(supported: readonly string[], greeting: ClientIdentity): McpError {
  return new McpError(
    'VERSION_MISMATCH',
    `The server speaks ${supported.join(', ') || 'no revision it names'}; this client allows ${greeting.versions.join(', ')}`,
    { details: { supported: [...supported] } },
  )
}

/** What a client does differently in each era. */
export interface Era {
  readonly facts: ServerFacts
  /** Whether the server may send requests of its own. */
  readonly takesRequests: boolean
  /** What every request says of its sender. */
  envelope(options: CallOptions): JsonObject
  /** Sends one request. */
  send(out: OutgoingRequest): Promise<ReceivedResult>
  setLogLevel(level: LoggingLevel | undefined): Promise<void>
  ping(options: CallOptions): Promise<void>
  rootsChanged(): Promise<void>
  /** Opens a watch whose listener is `tell`. */
  watch(filter: SubscriptionFilter, tell: (change: ServerChange) => void): Promise<Watch>
  /** Tells the watches of a change that came outside any subscription. */
  changed(change: ServerChange): void
}
