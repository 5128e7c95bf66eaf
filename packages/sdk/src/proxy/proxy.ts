// For `Symbol.asyncDispose` in the published types, whatever "lib" their users compile with.
/// <reference lib="esnext.disposable" preserve="true" />

import { connect, type Target } from '../client/connect.ts'
import type { Client, ConnectOptions } from '../client/types.ts'
import { invalid, McpError, methodNotFound } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/definitions.ts'
import type { HeaderPlan } from '../protocol/headers.ts'
import { type MethodRow, methodRow, type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import type { Changes, Subscriber } from '../request/changes.ts'
import type { Caller, Exchange, Outcome } from '../request/exchange.ts'
import { defined, requireKnown } from '../request/object-members.ts'
import { applyMiddleware } from '../server/handlers.ts'
import type { Middleware, Server } from '../server/server.ts'
import { listen } from '../server/subscriptions.ts'
import { ForwardingServer } from './forwarding-server.ts'
import { forwardStateless, forwardToSession, type ProxiedRequest } from './proxied-request.ts'
import { answerable, capabilitiesOf, isProxyFault, relayedError, withEndToEnd } from './questions.ts'
import { type SuspendedCallBounds, SuspendedCalls, type SuspendedUpstreamCall } from './suspended-calls.ts'
import { addHeaderPlans } from './upstream.ts'
import { UpstreamConnection, type UpstreamConnectionEvents, UpstreamPool } from './upstream-pool.ts'

/** An extension whose messages the proxy relays between client and upstream server. */
export interface RelayedExtension {
  /** Identifier with a prefix, such as `io.modelcontextprotocol/tasks`. */
  readonly id: string
  /** Its request methods, each with the param mirrored into `Mcp-Name`. Default: none. */
  readonly methods?: Readonly<Record<string, Pick<MethodRow, 'asks' | 'named'>>>
  /** Its `_meta` keys, relayed end to end. Default: none. */
  readonly meta?: readonly string[]
}

/** Limits of a proxy. */
export interface ProxyLimits extends SuspendedCallBounds {
  /** Upstream connections besides the proxy's own. Over stdio each is a process. Default 100. */
  readonly connections: number
  /** Upstream connections per principal. Default 50. */
  readonly connectionsPerPrincipal: number
  /** Resources subscribed to upstream. Default 1024. */
  readonly watchedUris: number
  /** Milliseconds one request may take upstream. Default 1 hour. */
  readonly totalMs: number
}

/** Options of a proxy. */
export interface ProxyOptions {
  /** Server name. Default: the upstream server's with `-proxy` appended. */
  name?: string
  /** Default: the upstream server's. */
  version?: string
  /** Name for people. Default: the upstream server's. */
  title?: string
  /** Default: the upstream server's. */
  instructions?: string
  /** Wraps the handling of every request, outermost first. */
  use?: readonly Middleware[]
  /** Upstream connection options: client info, revisions, timeouts and callbacks. */
  connect?: Pick<
    ConnectOptions,
    'info' | 'revisions' | 'connectTimeoutMs' | 'probeTimeoutMs' | 'onWarning' | 'onMessage'
  >
  /**
   * The upstream server for a principal, with the principal's upstream credentials. Each principal then has its own
   * connections, separate for different scopes or OAuth clients. The credentials a client sent to the proxy are never
   * forwarded or passed to this function. Default: the proxy's own credentials for all.
   */
  targetFor?: (caller: Caller) => Target | Promise<Target>
  /**
   * Serves all clients over one upstream connection, for servers that can run only once. A server with sessions then
   * cannot request input, and mixes the session state of all clients. Default false.
   */
  sharedConnection?: boolean
  /** Extensions to relay. Default: none. */
  extensions?: readonly RelayedExtension[]
  /** Overrides of the default limits. */
  limits?: Partial<ProxyLimits>
  /** Called for every error whose text is hidden from the client. Default: logs to stderr. */
  onError?: (error: unknown, where: { method: string; name?: string }) => void
}

/** A server that forwards to an upstream server. */
export interface ProxiedServer extends Server {
  /** The upstream server's `info`, as last received. */
  readonly upstream: Implementation | undefined
  /** Closes the upstream connections the proxy opened, and cancels suspended calls. */
  close(): Promise<void>
  /** Calls `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

const proxyLimits: ProxyLimits = {
  connections: 100,
  connectionsPerPrincipal: 50,
  watchedUris: 1024,
  totalMs: 3_600_000,
  suspended: 256,
  suspendedPerPrincipal: 32,
  suspendedMs: 600_000,
}

/**
 * Serves another server: any revision upstream to clients of any revision. Forwards calls with their input requests, lists,
 * changes, progress, log messages and cancellation. Declares upstream exactly the capabilities of each request's client.
 * Reconnects after a lost connection.
 *
 * A given `Client` is used for all requests and stays open on close. If its server has sessions, that client's own handlers
 * respond to input requests.
 * @throws McpError if the server cannot be reached
 */
export async function proxy(upstream: Target | Client, options: ProxyOptions = {}): Promise<ProxiedServer> {
  requireKnown('The options object of proxy', options, optionNames)
  if (options.limits !== undefined)
    requireKnown('"limits" of proxy', options.limits, Object.keys(proxyLimits))
  const server = new ProxyServer(upstream, options)
  try {
    await server.start()
    return server
  } catch (error) {
    await server.close()
    throw error
  }
}

const optionNames = Object.keys({
  name: true,
  version: true,
  title: true,
  instructions: true,
  use: true,
  connect: true,
  targetFor: true,
  sharedConnection: true,
  extensions: true,
  limits: true,
  onError: true,
} satisfies Record<keyof ProxyOptions, true>)

/** The params of each method; no others are forwarded. */
const forwardedParams: Readonly<Record<string, readonly string[]>> = {
  'tools/list': ['cursor'],
  'tools/call': ['name', 'arguments'],
  'resources/list': ['cursor'],
  'resources/templates/list': ['cursor'],
  'resources/read': ['uri'],
  'prompts/list': ['cursor'],
  'prompts/get': ['name', 'arguments'],
  'completion/complete': ['ref', 'argument', 'context'],
}

class ProxyServer extends ForwardingServer implements ProxiedServer {
  readonly changes: Changes
  readonly handle: Server['handle']
  readonly #options: ProxyOptions
  readonly #limits: ProxyLimits
  readonly #client: Client | undefined
  readonly #base: UpstreamConnection
  readonly #pool: UpstreamPool
  readonly #suspended: SuspendedCalls<SuspendedUpstreamCall>
  /** The header plans of the upstream server's tools, as far as they were listed. */
  readonly #headerPlans = new Map<string, HeaderPlan | undefined>()
  readonly #meta: ReadonlySet<string>
  readonly #extensions: readonly string[]
  #last: Client['server'] | undefined

  constructor(upstream: Target | Client, options: ProxyOptions) {
    super(options.onError)
    this.#options = options
    this.#limits = { ...proxyLimits, ...options.limits }
    this.#client = isClient(upstream) ? upstream : undefined
    const target = isClient(upstream) ? undefined : upstream
    this.#base = this.#createConnection((events) => this.#openBase(target, events), true)
    this.#suspended = new SuspendedCalls(this.#limits)
    this.#pool = new UpstreamPool({
      base: this.#base,
      hasSessions: () => this.#last?.era === 'session',
      perPrincipal: options.targetFor !== undefined,
      sharedConnection: this.#client !== undefined || options.sharedConnection === true,
      open: async (caller, capabilities, events) =>
        // The revision is known: probing a server that does not respond to the probe takes seconds.
        this.#open(
          await this.#targetFor(target, caller),
          capabilities,
          events,
          this.#last && [this.#last.revision],
        ),
      create: (open, shared) => this.#createConnection(open, shared),
      max: this.#limits.connections,
      maxPerPrincipal: this.#limits.connectionsPerPrincipal,
    })
    this.#extensions = options.extensions?.map(({ id }) => id) ?? []
    this.#meta = new Set(options.extensions?.flatMap(({ meta = [] }) => meta))
    this.changes = {
      publish: (change) => {
        for (const { changes } of [this.#base, ...this.#pool.all]) changes.publish(change)
      },
      watch: (wants, signal, subscriber) =>
        this.#connectionFor(subscriber).changes.watch(wants, signal, subscriber),
      isWatched: (change) => [this.#base, ...this.#pool.all].some(({ changes }) => changes.isWatched(change)),
      subscribe: async (filter, subscriber) =>
        this.#connectionFor(subscriber).subscriptions.subscribe(filter),
    }
    this.handle = applyMiddleware(options.use ?? [], (exchange) => this.#serve(exchange))
  }

  async start(): Promise<void> {
    await this.#base.upstream.get()
  }

  get upstream(): Implementation | undefined {
    return this.#last?.info
  }

  get info(): Implementation {
    const { name, version, title } = this.#options
    const info = this.#last?.info
    return {
      name: name ?? `${info?.name ?? 'upstream'}-proxy`,
      version: version ?? info?.version ?? '0',
      ...defined({ title: title ?? info?.title }),
    }
  }

  get instructions(): string | undefined {
    return this.#options.instructions ?? this.#last?.instructions
  }

  /** The upstream capabilities that the proxy forwards. */
  get capabilities(): ServerCapabilities {
    const { extensions = {}, ...all } = this.#last?.capabilities ?? {}
    const { tools, resources, prompts, completions, logging } = all
    const relayed = this.#extensions.filter((id) => Object.hasOwn(extensions, id))
    return {
      ...defined({ tools, resources, prompts, completions, logging }),
      ...(relayed.length > 0 && {
        extensions: Object.fromEntries(relayed.map((id) => [id, extensions[id] ?? {}])),
      }),
    }
  }

  capabilitiesOn(): ServerCapabilities {
    return this.capabilities
  }

  method(name: string, version: ProtocolVersion): MethodRow | undefined {
    const row = methodRow(name, version)
    if (row !== undefined) return row
    const added = this.#extensionRow(name)
    return added === undefined ? undefined : { ...added, from: 'client', since: protocolVersions[0] }
  }

  headerPlan(tool: string): ReturnType<Server['headerPlan']> {
    return this.#headerPlans.get(tool)
  }

  /** Upstream permissions are unknown to the proxy; `use` can add checks. */
  get scopes(): readonly string[] {
    return []
  }

  scopesFor(): readonly string[] {
    return []
  }

  taskSupport(): undefined {
    return undefined
  }

  /** Never: the upstream server would repeat what it did before its input request. */
  takeover(): 'never' {
    return 'never'
  }

  add(): void {
    throw invalid('A proxy has no definitions: compose it with a server that has them')
  }

  remove(): void {
    this.add()
  }

  async close(): Promise<void> {
    this.#suspended.close()
    await this.#pool.close()
    this.#base.subscriptions.close()
    if (this.#client === undefined) await this.#base.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #serve(exchange: Exchange): Promise<Outcome> {
    switch (exchange.method) {
      case 'server/discover':
        return this.discover(exchange)
      case 'subscriptions/listen':
        return listen(this.changes, this.capabilities, exchange)
      default:
        return this.#forward(exchange)
    }
  }

  async #forward(exchange: Exchange): Promise<Outcome> {
    const { method } = exchange
    const row = this.method(method, exchange.peer.revision.version)
    const params = this.#params(exchange)
    if (row === undefined || params === undefined) throw methodNotFound(method)
    const capabilities = answerable(exchange, this.#extensions)
    const asks = row.asks === true
    const extended = this.#extensions.length > 0
    const request: ProxiedRequest = { exchange, params, capabilities, asks, extended }
    try {
      // The era of the upstream server is known once it is connected.
      if (this.#base.upstream.current === undefined) await this.#base.upstream.get()
      const capabilitiesOfClient = capabilitiesOf(exchange.peer, this.#extensions)
      const acquire = (): ReturnType<UpstreamPool['acquire']> =>
        this.#pool.acquire(exchange, capabilitiesOfClient, asks)
      const outcome =
        this.#last?.era === 'session'
          ? await forwardToSession(request, acquire, this.#suspended)
          : await forwardStateless(request, acquire().connection)
      return this.#present(method, row, outcome)
    } catch (error) {
      if (exchange.signal.aborted) throw error
      if (isProxyFault(error)) this.report(error, { method })
      throw relayedError(error)
    }
  }

  /** The params to forward; undefined for a method that is not forwarded. */
  #params({ method, params }: Exchange): JsonObject | undefined {
    const names = new Map(Object.entries(forwardedParams)).get(method)
    if (names === undefined && this.#extensionRow(method) === undefined) return undefined
    const forwarded = names === undefined ? params : pick(params, names)
    return withEndToEnd({ ...forwarded, _meta: params['_meta'] }, this.#meta)
  }

  /** A result for the proxy's client. Cached upstream results are private: they belong to one principal. */
  #present(method: string, row: MethodRow, outcome: Outcome): Outcome {
    if (outcome.type === 'input_required') return outcome
    const result = withEndToEnd(outcome.result, this.#meta)
    if (method === 'tools/list') addHeaderPlans(this.#headerPlans, result['tools'])
    if (row.cacheable === true) result['cacheScope'] = 'private'
    return { ...outcome, result }
  }

  #extensionRow(method: string): Pick<MethodRow, 'asks' | 'named'> | undefined {
    return this.#options.extensions?.find(({ methods = {} }) => Object.hasOwn(methods, method))?.methods?.[
      method
    ]
  }

  /** The connection whose changes a subscriber gets: the one its requests use. */
  #connectionFor(subscriber: Subscriber | undefined): UpstreamConnection {
    if (subscriber === undefined) return this.#base
    return this.#pool.connectionFor(subscriber, capabilitiesOf(subscriber.peer, this.#extensions))
  }

  #createConnection(
    open: (events: UpstreamConnectionEvents) => Promise<Client>,
    shared: boolean,
  ): UpstreamConnection {
    return new UpstreamConnection({
      open,
      shared,
      totalMs: this.#limits.totalMs,
      watchedUris: this.#limits.watchedUris,
      onWarning: (text) => this.#options.connect?.onWarning?.(text),
      onTools: (client) => void this.#listTools(client),
    })
  }

  async #targetFor(target: Target | undefined, caller: Caller): Promise<Target> {
    const resolved = (await this.#options.targetFor?.(caller)) ?? target
    if (resolved === undefined)
      throw new McpError(
        'CONNECT_FAILED',
        'There is no target to connect to: pass one to proxy() or return one from targetFor',
      )
    return resolved
  }

  async #openBase(target: Target | undefined, events: UpstreamConnectionEvents): Promise<Client> {
    const { revisions } = this.#options.connect ?? {}
    const client =
      target === undefined ? this.#givenClient() : await this.#open(target, {}, events, revisions)
    this.#last = client.server
    await this.#listTools(client)
    return client
  }

  #givenClient(): Client {
    if (this.#client !== undefined && this.#last === undefined) return this.#client
    throw new McpError('CONNECTION_CLOSED', 'The client passed to proxy() is closed')
  }

  #open(
    target: Target,
    capabilities: ClientCapabilities,
    events: UpstreamConnectionEvents,
    revisions: ConnectOptions['revisions'],
  ): Promise<Client> {
    const { connect: more = {}, extensions = [], name = 'jackfield-proxy', version = '0' } = this.#options
    const { revisions: _all, ...others } = more
    const options: ConnectOptions = {
      info: { name, version },
      ...others,
      ...defined({ revisions }),
      cache: false,
      relay: { capabilities, answer: events.answer },
      onLog: events.log,
      onElicitationComplete: events.elicitationComplete,
      extensions: extensions.map(({ id, methods = {} }) => ({ id, named: nameParams(methods) })),
    }
    return connect(target, options)
  }

  /** Lists the tools to learn which arguments are sent as headers. */
  async #listTools(client: Client): Promise<void> {
    if (client.server.capabilities.tools === undefined) return
    try {
      const tools = await client.tools({ cache: 'bypass' })
      this.#headerPlans.clear()
      addHeaderPlans(this.#headerPlans, tools)
    } catch (error) {
      this.#options.connect?.onWarning?.(`The upstream server did not list its tools: ${error}`)
    }
  }
}

function isClient(upstream: Target | Client): upstream is Client {
  return typeof upstream === 'object' && 'server' in upstream && 'ping' in upstream
}

function pick(params: Readonly<JsonObject>, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => params[name] !== undefined).map((name) => [name, params[name]]),
  )
}

function nameParams(methods: Readonly<Record<string, { named?: string }>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, { named }]) => (named === undefined ? [] : [[name, named]])),
  )
}
