import { McpError, type ProtocolVersion } from '@jackfield/sdk'
import {
  type AnswerOptions,
  type Client,
  type ConnectOptions,
  connect,
  type Fetch,
  http,
  type ServerChange,
  type Target,
} from '@jackfield/sdk/client'
import type { Authorization, Revocation } from '@jackfield/sdk/client/auth'
import { stdio } from '@jackfield/sdk/client/stdio'
import type { ResourceTextTable } from '../../log/store/resource-text-table.ts'
import type { EraTable, ManifestTable } from '../../log/store/server-tables.ts'
import type { Tap } from '../../log/trace/tap.ts'
import { withConfiguredLimit } from '../../shared/text.ts'
import type { ConnectionState, HttpServerConfig, ServerConfig } from '../../types/index.ts'
import type { Login } from '../login/login.ts'
import type { SignInNeeded } from '../login/sign-in-needed.ts'
import { type SandboxedCommand, sandboxed } from '../sandbox/sandbox.ts'
import type { ListKind } from './lists.ts'
import { Traffic } from './liveness.ts'

interface OpenerOptions extends ConnectionOptions {
  /** Aborted when the connection is closed. */
  signal: AbortSignal
  onChange: (change: ServerChange) => void
}

/** A client and its monitoring. */
interface OpenedConnection {
  client: Client
  traffic: Traffic
  /** The process id of a server that is a program. */
  pid: number | undefined
  /** When the connection attempt began, by `performance.now`. */
  sinceMs: number
  /** To be called when the client is closed. */
  ended: () => void
}

/** The share of the start limit for the initial handshake; the rest is for its lists. */
const handshakeShare = 0.875

/** Opens clients of one server. */
export class Opener {
  readonly #options: OpenerOptions
  #login: Login | undefined

  constructor(options: OpenerOptions) {
    this.#options = options
  }

  /** Whether the server supports a login. */
  get signsIn(): boolean {
    return this.#login !== undefined
  }

  /** The configuration to start, after consent. */
  prepare(): Promise<ServerConfig> {
    return this.#options.prepare(this.#options.config, this.#options.signal)
  }

  /** `openly` allows the login; otherwise a server that requires it fails with a SignInNeeded. */
  async open(config: ServerConfig, mode: 'quietly' | 'openly'): Promise<OpenedConnection> {
    const { identity, eras, revisions, agreedRoots, login, connectTimeoutMs } = this.#options
    const { onStderr, onWarning } = this.#options
    const sinceMs = performance.now()
    this.#login = 'url' in config ? await login(config) : undefined
    const stderr = new StderrFilter(onStderr, onWarning)
    const traffic = new Traffic(() => performance.now())
    const tap = this.#options.tap()
    let pid: number | undefined
    const client = await this.#withLoginMode(mode, () =>
      connectServer({
        config,
        identity: identity(),
        eras,
        revisions,
        auth: this.#login?.auth,
        agreedRoots,
        withinMs: Math.ceil(connectTimeoutMs * handshakeShare),
        limitMs: connectTimeoutMs,
        fetch: tap.fetch,
        connect: this.#connectOptions(traffic, tap),
        onStderr: (text) => stderr.push(text),
        onStart: (startedPid) => {
          pid = startedPid
        },
      }),
    )
    return { client, traffic, pid, sinceMs, ended: () => stderr.end() }
  }

  /** Runs work during which the user is not asked for a login. */
  withoutStateChanges<T>(work: () => Promise<T>): Promise<T> {
    return this.#withLoginMode('quietly', work)
  }

  /** Removes the tokens and revokes them. @throws McpError 'INVALID' if this host has none */
  async forget(): Promise<Revocation> {
    const config = await this.prepare()
    const login = 'url' in config ? await this.#options.login(config) : undefined
    if (login === undefined) {
      throw new McpError(
        'INVALID',
        `${this.#options.name} gets its credentials from its configuration. Remove them there`,
      )
    }
    return login.revoke()
  }

  #withLoginMode<T>(mode: 'quietly' | 'openly', work: () => Promise<T>): Promise<T> {
    return this.#login === undefined ? work() : this.#login.during(mode, work)
  }

  #connectOptions(traffic: Traffic, tap: Tap): Parameters<typeof connectServer>[0]['connect'] {
    const { client, answers, signal, onWarning, onResourceUpdated, onChange } = this.#options
    return {
      ...client,
      ...answers(),
      signal,
      telemetry: tap.telemetry,
      onWarning,
      onMessage: (direction, message) => {
        traffic.record(direction, message)
        tap.message(direction, message)
        client.onMessage?.(direction, message)
      },
      onChange: (change) => {
        if (change.type === 'resource') onResourceUpdated(change.uri)
        else onChange(change)
      },
    }
  }
}

interface DialOptions {
  /** The configuration with its variables expanded. */
  config: ServerConfig
  identity: string
  eras: EraTable
  /** Revisions the host allows; undefined for all. */
  revisions: readonly ProtocolVersion[] | undefined
  /** The login; undefined if the server has none. */
  auth: Authorization | undefined
  /** Folders a sandboxed server may read, because they are its allowed roots. */
  agreedRoots: () => Promise<readonly string[]>
  /** Milliseconds for the initial handshake. */
  withinMs: number
  /** The configured limit that `withinMs` is a part of, for messages. */
  limitMs: number
  /** Sends HTTP requests. */
  fetch: Fetch
  connect: ConnectOptions
  onStderr: (text: string) => void
  onStart: (pid: number) => void
}

const statelessRevisions: readonly ProtocolVersion[] = ['2026-07-28']
const sessionRevisions: readonly ProtocolVersion[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const probeTimeoutMs = 5_000
const minRetryMs = 1_000
/** Allows large results, which are stored whole and read in parts, but bounds a message. */
const maxMessageBytes = 16_777_216

type Negotiated = DialOptions & { launch: SandboxedCommand['launch'] | undefined }

/** Connects to a server, in a sandbox if it is configured with one. */
async function connectServer(options: DialOptions): Promise<Client> {
  const { config } = options
  if ('url' in config) return findRevision({ ...options, launch: undefined })
  const { onWarning } = options.connect
  const sandbox = await sandboxed(config, {
    roots: config.sandbox ? await options.agreedRoots() : [],
    ...(onWarning !== undefined && { onWarning }),
  })
  try {
    const client = await findRevision({ ...options, launch: sandbox.launch })
    client.closed.then(() => sandbox.closed())
    return client
  } catch (error) {
    await sandbox.closed()
    throw withAdvice(error, await sandbox.advice())
  }
}

/** The same failure, with a fix. */
function withAdvice(error: unknown, advice: string | undefined): unknown {
  if (advice === undefined || !(error instanceof McpError)) return error
  return new McpError(error.code, `${advice} (${error.message})`, { cause: error, details: error.details })
}

/**
 * Connects to a server in its known era, or detects the era. A server of the session era is not probed again until its version
 * changes or it stops responding in that era.
 */
async function findRevision(options: Negotiated): Promise<Client> {
  const { identity, eras, withinMs } = options
  const since = performance.now()
  const allowed = revisionsFor(options)
  const sessionAllowed = allowed.filter((version) => sessionRevisions.includes(version))
  const knownEra = eras.get(identity)
  if (knownEra?.era === 'session' && sessionAllowed.length > 0 && sessionAllowed.length < allowed.length) {
    try {
      const client = await negotiate(options, sessionAllowed, withinMs)
      if (client.server.info?.version !== knownEra.version) eras.forget(identity)
      return client
    } catch (error) {
      eras.forget(identity)
      const leftMs = withinMs - (performance.now() - since)
      if (leftMs < minRetryMs || !mayBeOtherEra(error)) throw error
      return rememberRevision(options, allowed, Math.ceil(leftMs))
    }
  }
  return rememberRevision(options, allowed, withinMs)
}

async function rememberRevision(
  options: Negotiated,
  allowed: readonly ProtocolVersion[],
  withinMs: number,
): Promise<Client> {
  const client = await negotiate(options, allowed, withinMs)
  const { era, info } = client.server
  // Without a probe, its support is unknown.
  if (statelessRevisions.every((version) => allowed.includes(version))) {
    options.eras.put(options.identity, { era, version: info?.version })
  }
  return client
}

function negotiate(
  { config, launch, auth, fetch, connect: options, onStderr, onStart, limitMs }: Negotiated,
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
      : stdio({ ...(launch ?? config), onStderr, onStart, maxFrameBytes: maxMessageBytes })
  return connect(target, {
    ...options,
    revisions,
    connectTimeoutMs: withinMs,
    // Leaves time to restart a server that does not respond to the first request.
    probeTimeoutMs: Math.min(probeTimeoutMs, Math.ceil(withinMs / 2)),
  }).catch((error: unknown) => {
    throw withConfiguredLimit(error, 'the attempt to connect', limitMs)
  })
}

function revisionsFor({ config, revisions }: DialOptions): readonly ProtocolVersion[] {
  const all = revisions ?? [...sessionRevisions, ...statelessRevisions]
  const { era = 'auto' } = config
  if (era === 'auto') return all
  const wantedRevisions = era === 'modern' ? statelessRevisions : sessionRevisions
  const allowed = all.filter((version) => wantedRevisions.includes(version))
  if (allowed.length > 0) return allowed
  throw new McpError(
    'VERSION_MISMATCH',
    `Its configuration sets "era" to ${era}, and this host speaks ${all.join(', ')}`,
  )
}

/** Whether a failure may come from a changed era; an unreachable server is no evidence of that. */
function mayBeOtherEra(error: unknown): boolean {
  if (!(error instanceof McpError)) return true
  const { code, details } = error
  if (code === 'CONNECT_FAILED') return typeof details['code'] !== 'string'
  return !['UNAUTHORIZED', 'TIMEOUT', 'CANCELLED'].includes(code)
}

/** The server of a connection, and how it is opened and observed. */
export interface ConnectionOptions {
  name: string
  config: ServerConfig
  /** The server's identity, which changes with the values of its variables. */
  identity: () => string
  /** The configuration to start, after consent and with its variables expanded. */
  prepare: (config: ServerConfig, signal: AbortSignal) => Promise<ServerConfig>
  /** Whether consent is still needed. */
  needsApproval: () => Promise<boolean>
  /** Redacts a state. */
  shown: (state: ConnectionState) => ConnectionState
  /** The client's information and handlers. */
  client: ConnectOptions
  /** Allowed revisions; default all. */
  revisions?: readonly ProtocolVersion[] | undefined
  /** The current handlers for input requests, read for every new connection. */
  answers: () => AnswerOptions
  /** The login; undefined if the server has none. */
  login: (config: HttpServerConfig) => Promise<Login | undefined>
  /** Folders it may read in a sandbox, because they are its allowed roots. */
  agreedRoots: () => Promise<readonly string[]>
  /** Creates the recorder of one connection. */
  tap: () => Tap
  eras: EraTable
  manifests: ManifestTable
  texts: Pick<ResourceTextTable, 'forget'>
  connectTimeoutMs: number
  /** Milliseconds of silence after which a remote server is pinged; 0 for never. */
  idlePingMs: number
  /** Lists to fetch; default all. */
  lists?: readonly ListKind[] | undefined
  /** Whether lists are kept up to date; default true. */
  follow?: boolean | undefined
  /** Called after every change of `state`. */
  onState: (state: ConnectionState) => void
  /** The lists were updated. */
  onLists: () => void
  /** The server requires a login, and the page was not opened. */
  onSignIn: (needed: SignInNeeded) => void
  onResourceUpdated: (uri: string) => void
  onStderr: (text: string) => void
  onWarning: (message: string) => void
}

interface StderrFilterBounds {
  maxChars: number
  windowMs: number
}

const stderrLimits: StderrFilterBounds = { maxChars: 262_144, windowMs: 60_000 }

/** Emits text up to a limit per time window; the rest is counted and reported once. */
export class StderrFilter {
  readonly #emitText: (text: string) => void
  readonly #warn: (message: string) => void
  readonly #maxChars: number
  readonly #windowMs: number
  readonly #now: () => number
  #since = Number.NEGATIVE_INFINITY
  #chars = 0
  #suppressed = 0

  constructor(
    pass: (text: string) => void,
    warn: (message: string) => void,
    { maxChars, windowMs }: StderrFilterBounds = stderrLimits,
    now: () => number = () => performance.now(),
  ) {
    this.#emitText = pass
    this.#warn = warn
    this.#maxChars = maxChars
    this.#windowMs = windowMs
    this.#now = now
  }

  push(text: string): void {
    if (this.#now() - this.#since >= this.#windowMs) {
      this.end()
      this.#since = this.#now()
    }
    const start = text.slice(0, Math.max(0, this.#maxChars - this.#chars))
    this.#chars += start.length
    const first = this.#suppressed === 0
    this.#suppressed += text.length - start.length
    if (start !== '') this.#emitText(start)
    if (first && this.#suppressed > 0) {
      this.#warn(`It writes more to stderr than is shown: over ${this.#maxChars} characters in a minute`)
    }
  }

  /** Reports how much was dropped, and starts a new window. */
  end(): void {
    if (this.#suppressed > 0)
      this.#warn(`${this.#suppressed} characters that it wrote to stderr were not shown`)
    this.#suppressed = 0
    this.#chars = 0
  }
}
