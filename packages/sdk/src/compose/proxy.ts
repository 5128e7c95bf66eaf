import { connect, type Target } from '../client/connect.ts'
import type { Client, ConnectOptions } from '../client/types.ts'
import type { Changes, Listener } from '../core/changes.ts'
import type { Caller, Exchange, Outcome } from '../core/exchange.ts'
import { requireKnown } from '../core/known-members.ts'
import { ErrorCode, McpError, RpcError } from '../jsonrpc/error.ts'
import type { JsonObject } from '../jsonrpc/message.ts'
import type { ClientCapabilities, ServerCapabilities } from '../protocol/capabilities.ts'
import type { Implementation, LoggingLevel } from '../protocol/definitions.ts'
import { type MethodRow, methodRow, type ProtocolVersion, protocolVersions } from '../protocol/methods.ts'
import { listen } from '../server/listen.ts'
import { logOf } from '../server/notices.ts'
import type { Server } from '../server/server.ts'
import { isOwnFault, relayedError } from './faults.ts'
import { HeldCalls } from './held.ts'
import type { HeldPassage } from './held-passage.ts'
import { withEndToEnd } from './meta.ts'
import { reporter, through } from './parts.ts'
import { type Passing, passSession, passStateless } from './passing.ts'
import { Plans } from './plans.ts'
import { type ProxiedServer, type ProxyLimits, type ProxyOptions, proxyLimits } from './proxy-options.ts'
import { answerable, capabilitiesOf } from './questions.ts'
import { Seat, type SeatEvents } from './seat.ts'
import { Seats } from './seats.ts'

/**
 * Serves everything another server offers, of either era to clients of either era: calls and what is asked on the way,
 * lists, changes, progress, log messages, cancellation. Upstream it declares what the client of each request can
 * answer, and nothing else. A connection that was lost is opened again.
 *
 * A client given instead of something to connect to is used for everybody. If its server has sessions, what that
 * server asks is answered by the client's own handlers; the proxy does not close it.
 * @throws McpError where the server cannot be reached
 */
export async function proxy(upstream: Target | Client, options: ProxyOptions = {}): Promise<ProxiedServer> {
  requireKnown('The options object of proxy', options, optionNames)
  if (options.limits !== undefined)
    requireKnown('"limits" of proxy', options.limits, Object.keys(proxyLimits))
  const served = new ProxyServer(upstream, options)
  try {
    await served.start()
    return served
  } catch (error) {
    await served.close()
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
  oneConnectionForEverybody: true,
  extensions: true,
  limits: true,
  onError: true,
} satisfies Record<keyof ProxyOptions, true>)

/** The params each method has: nothing else a client sends goes upstream. */
const known: Readonly<Record<string, readonly string[]>> = {
  'tools/list': ['cursor'],
  'tools/call': ['name', 'arguments'],
  'resources/list': ['cursor'],
  'resources/templates/list': ['cursor'],
  'resources/read': ['uri'],
  'prompts/list': ['cursor'],
  'prompts/get': ['name', 'arguments'],
  'completion/complete': ['ref', 'argument', 'context'],
}

class ProxyServer implements ProxiedServer {
  readonly changes: Changes
  readonly handle: Server['handle']
  readonly report: Server['report']
  readonly #options: ProxyOptions
  readonly #limits: ProxyLimits
  readonly #given: Client | undefined
  readonly #base: Seat
  readonly #seats: Seats
  readonly #held: HeldCalls<HeldPassage>
  readonly #plans = new Plans()
  readonly #meta: ReadonlySet<string>
  readonly #extensions: readonly string[]
  #last: Client['server'] | undefined

  constructor(upstream: Target | Client, options: ProxyOptions) {
    this.#options = options
    this.#limits = { ...proxyLimits, ...options.limits }
    this.#given = isClient(upstream) ? upstream : undefined
    this.report = reporter(() => this.info.name, options.onError)
    const target = isClient(upstream) ? undefined : upstream
    this.#base = this.#seat((events) => this.#openBase(target, events), true)
    this.#held = new HeldCalls(this.#limits)
    this.#seats = new Seats({
      base: this.#base,
      sessions: () => this.#last?.era === 'session',
      separate: options.targetFor !== undefined,
      one: this.#given !== undefined || options.oneConnectionForEverybody === true,
      open: async (caller, capabilities, events) =>
        // A server is not asked again which era it is of: one that does not answer the question costs seconds.
        this.#open(await this.#targetOf(target, caller), capabilities, events, this.#revisions()),
      seat: (open, shared) => this.#seat(open, shared),
      max: this.#limits.connections,
      maxOfOne: this.#limits.connectionsOfOne,
    })
    this.#extensions = options.extensions?.map(({ id }) => id) ?? []
    this.#meta = new Set(options.extensions?.flatMap(({ meta = [] }) => meta))
    this.changes = {
      publish: (change) => {
        for (const { changes } of [this.#base, ...this.#seats.all]) changes.publish(change)
      },
      watch: (wants, signal, listener) => this.#home(listener).changes.watch(wants, signal, listener),
      isWatched: (change) =>
        [this.#base, ...this.#seats.all].some(({ changes }) => changes.isWatched(change)),
      hold: async (filter, listener) => this.#home(listener).watches.hold(filter),
    }
    this.handle = through(options.use ?? [], (exchange) => this.#serve(exchange))
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
    const shown = title ?? info?.title
    return {
      name: name ?? `${info?.name ?? 'upstream'}-proxy`,
      version: version ?? info?.version ?? '0',
      ...(shown === undefined ? {} : { title: shown }),
    }
  }

  get instructions(): string | undefined {
    return this.#options.instructions ?? this.#last?.instructions
  }

  /** What the upstream server declares, as far as this side passes it on. */
  get capabilities(): ServerCapabilities {
    const {
      tools,
      resources,
      prompts,
      completions,
      logging,
      extensions = {},
    } = this.#last?.capabilities ?? {}
    const relayed = (this.#options.extensions ?? []).filter(({ id }) => Object.hasOwn(extensions, id))
    return {
      ...(tools === undefined ? {} : { tools }),
      ...(resources === undefined ? {} : { resources }),
      ...(prompts === undefined ? {} : { prompts }),
      ...(completions === undefined ? {} : { completions }),
      ...(logging === undefined ? {} : { logging }),
      ...(relayed.length === 0
        ? {}
        : { extensions: Object.fromEntries(relayed.map(({ id }) => [id, extensions[id] ?? {}])) }),
    }
  }

  capabilitiesOn(): ServerCapabilities {
    return this.capabilities
  }

  method(name: string, version: ProtocolVersion): MethodRow | undefined {
    const row = methodRow(name, version)
    if (row !== undefined) return row
    const added = this.#added(name)
    return added === undefined ? undefined : { ...added, from: 'client', since: '2024-11-05' }
  }

  headerPlan(tool: string): ReturnType<Server['headerPlan']> {
    return this.#plans.get(tool)
  }

  /** What a caller may do upstream is not for this side to know; `use` can refuse. */
  get scopes(): readonly string[] {
    return []
  }

  scopesFor(): readonly string[] {
    return []
  }

  taskSupport(): undefined {
    return undefined
  }

  add(): void {
    throw new McpError('INVALID', 'A proxy defines nothing itself: compose it with a server that does')
  }

  remove(): void {
    this.add()
  }

  resourceUpdated(uri: string): void {
    this.changes.publish({ type: 'resource', uri })
  }

  elicitationComplete(id: string): void {
    this.changes.publish({ type: 'elicitation', id })
  }

  isSubscribed(uri: string): boolean {
    return this.changes.isWatched({ type: 'resource', uri })
  }

  log(level: LoggingLevel, data: unknown, logger?: string): void {
    this.changes.publish(logOf(level, data, logger))
  }

  async close(): Promise<void> {
    this.#held.close()
    await this.#seats.close()
    this.#base.watches.close()
    if (this.#given === undefined) await this.#base.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #serve(exchange: Exchange): Promise<Outcome> {
    switch (exchange.method) {
      case 'server/discover':
        return this.#discover()
      case 'subscriptions/listen':
        return listen(this.changes, this.capabilities, exchange)
      default:
        return this.#pass(exchange)
    }
  }

  #discover(): Outcome {
    const { instructions } = this
    const result: JsonObject = {
      supportedVersions: protocolVersions.toReversed(),
      capabilities: this.capabilities,
      ttlMs: 0,
      cacheScope: 'private',
    }
    if (instructions !== undefined) result['instructions'] = instructions
    return { type: 'complete', result }
  }

  async #pass(exchange: Exchange): Promise<Outcome> {
    const { method } = exchange
    const row = this.method(method, exchange.peer.revision.version)
    const params = this.#params(exchange)
    if (row === undefined || params === undefined) throw notFound(method)
    const capabilities = answerable(exchange, this.#extensions)
    const asks = row.asks === true
    const passing: Passing = { exchange, params, capabilities, asks, extended: this.#extensions.length > 0 }
    try {
      await this.#known()
      const declared = capabilitiesOf(exchange.peer, this.#extensions)
      const take = (): ReturnType<Seats['take']> => this.#seats.take(exchange, declared, asks)
      const outcome =
        this.#last?.era === 'session'
          ? await passSession(passing, take, this.#held)
          : await passStateless(passing, take().seat)
      return this.#shown(method, row, outcome)
    } catch (error) {
      if (exchange.signal.aborted) throw error
      if (isOwnFault(error)) this.report(error, { method })
      throw relayedError(error)
    }
  }

  /** Learns what the upstream server is where that is not known yet; it may have been started anew as another. */
  async #known(): Promise<void> {
    if (this.#base.upstream.current === undefined) await this.#base.upstream.get()
  }

  /** What of a request's params goes upstream; undefined for a method that does not. */
  #params({ method, params }: Exchange): JsonObject | undefined {
    const names = new Map(Object.entries(known)).get(method)
    if (names === undefined && this.#added(method) === undefined) return undefined
    const kept = names === undefined ? params : pick(params, names)
    return withEndToEnd({ ...kept, _meta: params['_meta'] }, this.#meta)
  }

  /** A result as this side's clients see it: what is fresh upstream is fresh for nobody but them. */
  #shown(method: string, row: MethodRow, outcome: Outcome): Outcome {
    if (outcome.type === 'input_required') return outcome
    const result = withEndToEnd(outcome.result, this.#meta)
    if (method === 'tools/list') this.#plans.learn(result['tools'])
    if (row.cacheable === true) result['cacheScope'] = 'private'
    return { ...outcome, result }
  }

  #added(method: string): Pick<MethodRow, 'asks' | 'named'> | undefined {
    for (const { methods = {} } of this.#options.extensions ?? []) {
      if (Object.hasOwn(methods, method)) return methods[method]
    }
    return undefined
  }

  /** Where somebody's changes are heard: on the connection their requests travel on. */
  #home(listener: Listener | undefined): Seat {
    if (listener === undefined) return this.#base
    return this.#seats.home(listener, capabilitiesOf(listener.peer, this.#extensions))
  }

  #seat(open: (events: SeatEvents) => Promise<Client>, shared: boolean): Seat {
    return new Seat({
      open,
      shared,
      totalMs: this.#limits.totalMs,
      watchedUris: this.#limits.watchedUris,
      onWarning: (text) => this.#options.connect?.onWarning?.(text),
      onTools: (client) => void this.#learn(client),
    })
  }

  async #targetOf(target: Target | undefined, caller: Caller): Promise<Target> {
    const found = (await this.#options.targetFor?.(caller)) ?? target
    if (found === undefined) throw new McpError('CONNECT_FAILED', 'There is nothing to connect to')
    return found
  }

  async #openBase(target: Target | undefined, events: SeatEvents): Promise<Client> {
    const { revisions } = this.#options.connect ?? {}
    const client = target === undefined ? this.#ofOwner() : await this.#open(target, {}, events, revisions)
    this.#last = client.server
    await this.#learn(client)
    return client
  }

  #revisions(): ConnectOptions['revisions'] {
    return this.#last === undefined ? undefined : [this.#last.revision]
  }

  #ofOwner(): Client {
    if (this.#given !== undefined && this.#last === undefined) return this.#given
    throw new McpError('CONNECTION_CLOSED', 'The client this proxy was given is closed')
  }

  #open(
    target: Target,
    capabilities: ClientCapabilities,
    events: SeatEvents,
    revisions: ConnectOptions['revisions'],
  ): Promise<Client> {
    const { connect: more = {}, extensions = [], name = 'jackfield-proxy', version = '0' } = this.#options
    const { revisions: _all, ...others } = more
    const options: ConnectOptions = {
      info: { name, version },
      ...others,
      ...(revisions === undefined ? {} : { revisions }),
      cache: false,
      relay: { capabilities, answer: events.answer },
      onLog: events.log,
      onElicitationComplete: events.elicitationComplete,
      extensions: extensions.map(({ id, methods = {} }) => ({ id, named: namedOf(methods) })),
    }
    return connect(target, options)
  }

  /** Lists the tools, to know which arguments travel as headers. */
  async #learn(client: Client): Promise<void> {
    if (client.server.capabilities.tools === undefined) return
    try {
      const tools = await client.tools({ cache: 'bypass' })
      this.#plans.clear()
      this.#plans.learn(tools)
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

function namedOf(methods: Readonly<Record<string, { named?: string }>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, { named }]) => (named === undefined ? [] : [[name, named]])),
  )
}

function notFound(method: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `Method not found: this server does not offer "${method}"`)
}
