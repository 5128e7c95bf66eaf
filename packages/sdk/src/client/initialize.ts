import { McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import { inWords, isObject } from '../jsonrpc/parse.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import { isImplementation } from '../protocol/client-meta.ts'
import { withSafeIcons } from '../protocol/icons.ts'
import type { ProtocolVersion } from '../protocol/methods.ts'
import type { Greeting } from './hello.ts'
import { orAborted, type Scope } from './scope.ts'
import { tidyGreeting } from './shapes.ts'
import type { ServerFacts } from './types.ts'
import type { Wire } from './wire.ts'

/**
 * Begins a session: `initialize`, then `notifications/initialized`. `versions` are those to offer, newest first.
 * @throws McpError 'VERSION_MISMATCH' when the server answers with a revision that was not offered
 */
export async function initialize(
  wire: Wire,
  greeting: Greeting,
  versions: readonly ProtocolVersion[],
  scope: Scope,
): Promise<ServerFacts> {
  return begin(wire, await offer(wire, greeting, versions, scope), versions, scope)
}

/** Sends `initialize`, again where the server names a version it would rather have. */
export async function offer(
  wire: Wire,
  greeting: Greeting,
  versions: readonly ProtocolVersion[],
  scope: Scope,
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
  wire: Wire,
  result: JsonObject,
  versions: readonly ProtocolVersion[],
  scope: Scope,
): Promise<ServerFacts> {
  const facts = read(result, versions)
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

function read(result: JsonObject, versions: readonly ProtocolVersion[]): ServerFacts {
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
