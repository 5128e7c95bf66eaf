import { requireKnown } from '../core/known-members.ts'
import { McpError } from '../jsonrpc/error.ts'
import { isObject } from '../jsonrpc/parse.ts'
import { shown } from '../jsonrpc/shown.ts'
import { http } from '../links/http.ts'
import type { Link, LinkFactory } from '../links/link.ts'
import type { ClientCapabilities } from '../protocol/capabilities.ts'
import type { Implementation } from '../protocol/definitions.ts'
import { latest } from '../protocol/eras.ts'
import { type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import type { Server } from '../server/server.ts'
import { AnswerBook } from './answer-book.ts'
import { type ClientParts, defaultTimeoutMs, McpClient } from './client.ts'
import { Door } from './door.ts'
import { guarded } from './guard.ts'
import { type Greeting, hello } from './hello.ts'
import { initialize } from './initialize.ts'
import { Legacy } from './legacy.ts'
import { Modern } from './modern.ts'
import { Scope } from './scope.ts'
import type { Client, ConnectOptions, ServerFacts } from './types.ts'
import type { Wire } from './wire.ts'

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
const unnamed: Implementation = { name: 'jackfield', version: '0' }

/** What `connect` reaches: a URL, a server in this process, or any transport's link. */
export type Target = string | URL | Server | Link | LinkFactory

/**
 * Connects to a server and learns which revision it speaks. A URL is reached over Streamable HTTP, a server value in
 * this process; `stdio` and `http` make links for everything else.
 * @throws McpError 'CONNECT_FAILED', 'VERSION_MISMATCH', 'UNAUTHORIZED' or 'TIMEOUT'; nothing is left running then
 */
export function connect<S extends Server>(target: S, options?: ConnectOptions): Promise<Client<S>>
export function connect<S = unknown>(target: Target, options?: ConnectOptions): Promise<Client<S>>
export async function connect(target: Target, given: ConnectOptions = {}): Promise<Client> {
  requireKnown('The options object of connect', given, optionNames)
  const options = withGuards(given)
  const answers = new AnswerBook(options)
  const greeting: Greeting = {
    info: options.info ?? unnamed,
    versions: versionsIn(options),
    capabilities: (era) => answers.declare(era),
    probeTimeoutMs: options.probeTimeoutMs ?? defaultProbeMs,
  }
  const links = await linkFor(target)
  const scope = connecting(options, options.signal)
  try {
    return await enter(links, options, answers, greeting, scope).catch((error) => {
      const older = 'older' in links && greeting.versions.some((version) => version < latest) && links.older
      if (!older || !findsNoEndpoint(error)) throw error
      return enter(older, options, answers, greeting, scope).catch(() => {
        // The older transport's failure says less than the first one's.
        throw scope.signal.aborted ? scope.signal.reason : error
      })
    })
  } catch (error) {
    throw asConnectError(error)
  } finally {
    scope.close()
  }
}

/** Meets the server over these links and makes a client of what was learned. */
async function enter(
  links: Link | LinkFactory,
  options: ConnectOptions,
  answers: AnswerBook,
  greeting: Greeting,
  scope: Scope,
): Promise<Client> {
  const door = new Door(links, options, answers)
  try {
    scope.signal.throwIfAborted()
    const { wire, facts } = await hello(() => door.open(scope), greeting, scope)
    const client = new McpClient({ wire, answers, options, era: eraFor(wire, facts, greeting, options) })
    door.enter(client)
    const { logLevel } = options
    if (logLevel !== undefined && facts.capabilities.logging !== undefined) await client.setLogLevel(logLevel)
    client.closed.then((reason) => options.onClose?.(reason))
    return client
  } catch (error) {
    await door.close()
    throw error
  }
}

/** Whether a URL answered as one does where Streamable HTTP is not spoken. */
function findsNoEndpoint(error: unknown): boolean {
  if (!(error instanceof McpError) || error.code !== 'HTTP') return false
  const { status } = error.details
  return status === 400 || status === 404 || status === 405
}

function connecting(options: ConnectOptions, signal?: AbortSignal): Scope {
  const { connectTimeoutMs: ms = defaultConnectMs } = options
  return new Scope({ what: 'the attempt to connect', signal, idleMs: ms, totalMs: ms })
}

async function linkFor(target: Target): Promise<Link | LinkFactory> {
  if (typeof target === 'string' || target instanceof URL) return http(target)
  if (typeof target === 'function') return target
  const given: unknown = target
  if (!isObject(given) || !('request' in given || 'handle' in given)) {
    throw new McpError(
      'INVALID',
      'connect needs what to connect to as its first argument: a URL, a server, or a link such as stdio({ command })',
    )
  }
  if ('request' in target) return target
  // Serving in this process is loaded only where it is used, so that a browser's client stays small.
  const { memory } = await import('../links/memory.ts')
  return memory(target)
}

function versionsIn({ revisions = protocolVersions }: ConnectOptions): ProtocolVersion[] {
  const known = protocolVersions.filter((version) => revisions.includes(version)).reverse()
  if (known.length > 0) return known
  throw new McpError('INVALID', `"revisions" must hold at least one of ${protocolVersions.join(', ')}`)
}

function eraFor(
  wire: Wire,
  facts: ServerFacts,
  greeting: Greeting,
  options: ConnectOptions,
): ClientParts['era'] {
  const { logLevel, timeoutMs = defaultTimeoutMs } = options
  if (facts.era === 'stateless') {
    const { info } = greeting
    const capabilities = (): ClientCapabilities => greeting.capabilities('stateless')
    return (publish, forget) =>
      new Modern({ wire, facts, info, capabilities, logLevel, timeoutMs, publish, forget })
  }
  const versions = greeting.versions.filter((version) => version < latest)
  const renew = async (): Promise<ServerFacts> => {
    const scope = connecting(options)
    try {
      return await initialize(wire, greeting, versions, scope)
    } finally {
      scope.close()
    }
  }
  return (publish) => new Legacy({ wire, facts, timeoutMs, initialize: renew, publish })
}

/** Prints warnings, each once for a connection. */
function printedOnce(): (message: string) => void {
  const printed = new Set<string>()
  return (message) => {
    if (printed.has(message) || printed.size >= maxPrinted) return
    printed.add(message)
    console.warn(`[mcp client] ${shown(message, maxPrintedChars)}`)
  }
}

function withGuards(options: ConnectOptions): ConnectOptions {
  const { onWarning, onLog, onChange, onMessage, onElicitationComplete, onClose } = options
  const report = guarded(onWarning ?? printedOnce(), 'onWarning', () => {})
  return {
    ...options,
    onWarning: report,
    ...(onLog && { onLog: guarded(onLog, 'onLog', report) }),
    ...(onChange && { onChange: guarded(onChange, 'onChange', report) }),
    ...(onMessage && { onMessage: guarded(onMessage, 'onMessage', report) }),
    ...(onElicitationComplete && {
      onElicitationComplete: guarded(onElicitationComplete, 'onElicitationComplete', report),
    }),
    ...(onClose && { onClose: guarded(onClose, 'onClose', report) }),
  }
}

function asConnectError(error: unknown): unknown {
  if (!(error instanceof McpError) || error.code !== 'CONNECTION_CLOSED') return error
  // The cause of the loss, not the loss itself: its message and details would be printed twice.
  return new McpError('CONNECT_FAILED', error.message, { cause: error.cause, details: { ...error.details } })
}
