import { McpError, type ProtocolVersion } from '@jackfield/sdk'
import {
  type Client,
  type ConnectOptions,
  connect,
  type Fetch,
  http,
  type Target,
} from '@jackfield/sdk/client'
import type { Authorization } from '@jackfield/sdk/client/auth'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { EraTable } from '../../log/store/era-table.ts'
import { withConfiguredLimit } from '../../shared/text.ts'
import type { ServerConfig } from '../../types/index.ts'
import { type Boxed, sandboxed } from '../sandbox/sandbox.ts'

export interface DialOptions {
  /** What is started in truth, or spoken to. */
  config: ServerConfig
  identity: string
  eras: EraTable
  /** Revisions the host allows; undefined for all. */
  revisions: readonly ProtocolVersion[] | undefined
  /** How to sign in; undefined where that is not wanted. */
  auth: Authorization | undefined
  /** Folders that a sandboxed server may read since the person agreed to tell it of them. */
  agreedRoots: () => Promise<readonly string[]>
  /** Milliseconds until the server must have introduced itself. */
  withinMs: number
  /** The configured limit that `withinMs` is a part of, for messages. */
  limitMs: number
  /** Sends what goes over HTTP. */
  fetch: Fetch
  connect: ConnectOptions
  onStderr: (text: string) => void
}

const modern: readonly ProtocolVersion[] = ['2026-07-28']
const legacy: readonly ProtocolVersion[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const probeTimeoutMs = 5_000
const leastMs = 1_000
/** A large result is kept whole and read in parts, so it may come in one message; a flood may not. */
const maxMessageBytes = 16_777_216

type Met = DialOptions & { launch: Boxed['launch'] | undefined }

/** Connects to a server, in a sandbox where its configuration wants one. */
export async function dial(options: DialOptions): Promise<Client> {
  const { config } = options
  if ('url' in config) return find({ ...options, launch: undefined })
  const { onWarning } = options.connect
  const box = await sandboxed(config, {
    roots: config.sandbox ? await options.agreedRoots() : [],
    ...(onWarning !== undefined && { onWarning }),
  })
  try {
    const client = await find({ ...options, launch: box.launch })
    client.closed.then(() => box.over())
    return client
  } catch (error) {
    await box.over()
    throw withAdvice(error, await box.advice())
  }
}

/** The same failure, with what a person can do about it. */
function withAdvice(error: unknown, advice: string | undefined): unknown {
  if (advice === undefined || !(error instanceof McpError)) return error
  return new McpError(error.code, `${advice} (${error.message})`, { cause: error, details: error.details })
}

/**
 * Connects to a server in the era it is known to speak, and learns that where it is not known. A server that was found
 * to be of the session era is not asked again which it is, until its version changes or it no longer answers so.
 */
async function find(options: Met): Promise<Client> {
  const { identity, eras, withinMs } = options
  const since = performance.now()
  const allowed = revisionsFor(options)
  const older = allowed.filter((version) => legacy.includes(version))
  const known = eras.get(identity)
  if (known?.era === 'session' && older.length > 0 && older.length < allowed.length) {
    try {
      const client = await meet(options, older, withinMs)
      if (client.server.info?.version !== known.version) eras.forget(identity)
      return client
    } catch (error) {
      eras.forget(identity)
      const leftMs = withinMs - (performance.now() - since)
      if (leftMs < leastMs || !mayBeOther(error)) throw error
      return learn(options, allowed, Math.ceil(leftMs))
    }
  }
  return learn(options, allowed, withinMs)
}

async function learn(options: Met, allowed: readonly ProtocolVersion[], withinMs: number): Promise<Client> {
  const client = await meet(options, allowed, withinMs)
  const { era, info } = client.server
  // One that was not asked is not known.
  if (modern.every((version) => allowed.includes(version))) {
    options.eras.put(options.identity, { era, version: info?.version })
  }
  return client
}

function meet(
  { config, launch, auth, fetch, connect: options, onStderr, limitMs }: Met,
  revisions: readonly ProtocolVersion[],
  withinMs: number,
): Promise<Client> {
  const target: Target =
    'url' in config
      ? http(config.url, {
          headers: config.headers ?? {},
          maxMessageBytes,
          fetch,
          ...(auth !== undefined && { auth }),
        })
      : stdio({ ...(launch ?? config), onStderr, maxFrameBytes: maxMessageBytes })
  return connect(target, {
    ...options,
    revisions,
    connectTimeoutMs: withinMs,
    // Leaves time to start a server again that says nothing to the first question.
    probeTimeoutMs: Math.min(probeTimeoutMs, Math.ceil(withinMs / 2)),
  }).catch((error: unknown) => {
    throw withConfiguredLimit(error, 'the attempt to connect', limitMs)
  })
}

function revisionsFor({ config, revisions }: DialOptions): readonly ProtocolVersion[] {
  const all = revisions ?? [...legacy, ...modern]
  const { era = 'auto' } = config
  if (era === 'auto') return all
  const wanted = era === 'modern' ? modern : legacy
  const both = all.filter((version) => wanted.includes(version))
  if (both.length > 0) return both
  throw new McpError(
    'VERSION_MISMATCH',
    `Its configuration sets "era" to ${era}, and this host speaks ${all.join(', ')}`,
  )
}

/** Whether a failure may come from a server that changed its era; one that cannot be reached says nothing about that. */
function mayBeOther(error: unknown): boolean {
  if (!(error instanceof McpError)) return true
  const { code, details } = error
  if (code === 'CONNECT_FAILED') return typeof details['code'] !== 'string'
  return !['UNAUTHORIZED', 'TIMEOUT', 'CANCELLED'].includes(code)
}
